// Texts of the page Permissions.

export const permissions = {
  title: 'Permissions',
  newPermission: 'New permission',
  newGroup: 'New group',
  group: 'Permission group',
  chooseGroup: 'Choose a group',
  action: 'Action',
  actionHelp: 'Such as “publish”. The name of the group is added in front.',
  fullName: (name: string) => `The permission will be called ${name}.`,
  description: 'Description',
  created: (name: string) => `${name} was created.`,
  taken: 'The group already has a permission with this name.',
};
