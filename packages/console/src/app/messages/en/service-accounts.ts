// Texts of the page Service accounts.

export const serviceAccounts = {
  title: 'Service accounts',
};
