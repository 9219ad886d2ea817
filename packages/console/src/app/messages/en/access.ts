// Texts of the page Access explorer.

export const access = {
  title: 'Access explorer',
};
