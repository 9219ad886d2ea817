// Texts of the page Role groups.

export const roleGroups = {
  title: 'Role groups',
};
