// Texts of the page Permissions.

export const permissions = {
  title: 'Permissions',
};
