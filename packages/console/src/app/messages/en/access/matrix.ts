// Texts of the page Permission matrix.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const matrix = {
  title: 'Permission matrix',
  size: (roles: number, permissions: number) =>
    `${plural(roles, { one: '# role', other: '# roles' })} × ${plural(permissions, { one: '# permission', other: '# permissions' })}`,
  region: 'Matrix, scrolls in both directions',
  grid: 'Roles and permissions',
  help: 'Arrow keys move between cells, Space changes a cell.',
  permission: 'Permission',
  filter: 'Filter permissions, such as “delete”',
  shown: 'Roles shown',
  all: 'All roles',
  custom: 'Custom only',
  group: 'Permission group',
  allGroups: 'All groups',
  expandAll: 'Expand all',
  collapseAll: 'Collapse all',
  cell: (role: string, permission: string) => `${role}: ${permission}`,
  unsavedCell: (role: string, permission: string) => `${role}: ${permission}, not saved`,
  locked: 'System role: its permissions cannot be changed.',
  holders: (count: number) => plural(count, { one: '# holder', other: '# holders' }),
  of: (count: string, all: string) => `${count}/${all}`,
  newRole: 'New role',
  newPermission: 'New permission',
  pending: (changes: number, roles: number) =>
    `${plural(changes, { one: '# change', other: '# changes' })} in ${plural(roles, { one: '# role', other: '# roles' })}`,
  removed: (count: number) => plural(count, { one: '# removed', other: '# removed' }),
  emptyTitle: 'No permissions yet',
  emptyText: 'Create the permissions of your product, then give them to roles here.',
  file: 'permission-matrix.csv',
};
