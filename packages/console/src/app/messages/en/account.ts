// Texts of the page My account.

export const account = {
  title: 'My account',
};
