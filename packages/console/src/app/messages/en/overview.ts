// Texts of the page Overview.

export const overview = {
  title: 'Overview',
};
