// Texts of the page Permission matrix.

export const matrix = {
  title: 'Permission matrix',
};
