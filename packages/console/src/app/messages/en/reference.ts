// Texts of the page API reference.

export const reference = {
  title: 'API reference',
};
