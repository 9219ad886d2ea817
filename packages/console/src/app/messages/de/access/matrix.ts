// Texte der Seite Berechtigungsmatrix.
import { createPlural } from '../../../../common/language.ts';
import type { Messages } from '../../en/index.ts';

const plural = createPlural('de');

export const matrix: Messages['matrix'] = {
  title: 'Berechtigungsmatrix',
  size: (roles, permissions) =>
    `${plural(roles, { one: '# Rolle', other: '# Rollen' })} × ${plural(permissions, { one: '# Berechtigung', other: '# Berechtigungen' })}`,
  region: 'Matrix, in beide Richtungen verschiebbar',
  grid: 'Rollen und Berechtigungen',
  help: 'Die Pfeiltasten wechseln die Zelle, die Leertaste ändert sie.',
  permission: 'Berechtigung',
  filter: 'Berechtigungen filtern, etwa „delete“',
  shown: 'Angezeigte Rollen',
  all: 'Alle Rollen',
  custom: 'Nur eigene',
  group: 'Berechtigungsgruppe',
  allGroups: 'Alle Gruppen',
  expandAll: 'Alle aufklappen',
  collapseAll: 'Alle zuklappen',
  cell: (role, permission) => `${role}: ${permission}`,
  unsavedCell: (role, permission) => `${role}: ${permission}, nicht gespeichert`,
  locked: 'Systemrolle: Ihre Berechtigungen können nicht geändert werden.',
  holders: (count) => plural(count, { one: '# Inhaber', other: '# Inhaber' }),
  of: (count, all) => `${count}/${all}`,
  newRole: 'Neue Rolle',
  newPermission: 'Neue Berechtigung',
  pending: (changes, roles) =>
    `${plural(changes, { one: '# Änderung', other: '# Änderungen' })} in ${plural(roles, { one: '# Rolle', other: '# Rollen' })}`,
  removed: (count) => plural(count, { one: '# entfernt', other: '# entfernt' }),
  emptyTitle: 'Noch keine Berechtigungen',
  emptyText: 'Legen Sie die Berechtigungen Ihres Produkts an und geben Sie sie hier den Rollen.',
  file: 'berechtigungsmatrix.csv',
};
