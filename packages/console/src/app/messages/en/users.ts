// Texts of the page Users.

export const users = {
  title: 'Users',
};
