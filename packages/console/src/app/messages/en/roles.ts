// Texts of the page Roles.

export const roles = {
  title: 'Roles',
};
