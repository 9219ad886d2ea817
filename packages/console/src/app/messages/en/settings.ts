// Texts of the page Settings.

export const settings = {
  title: 'Settings',
};
