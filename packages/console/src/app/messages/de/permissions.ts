// Texte der Seite Berechtigungen.
import { createPlural } from '../../../shared/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const permissions: Messages['permissions'] = {
  title: 'Berechtigungen',
  count: (count) => plural(count, { one: '# Berechtigung', other: '# Berechtigungen' }),
  newPermission: 'Neue Berechtigung',
  newGroup: 'Neue Gruppe',
  newChild: 'Neue Untergruppe',
  childOf: (name) =>
    `Die Gruppe wird unter ${name} stehen. Ihre Berechtigungen beginnen nur mit ihrem eigenen Namen.`,
  groupHelp: 'Die Namen ihrer Berechtigungen beginnen mit dem Namen der Gruppe.',
  group: 'Berechtigungsgruppe',
  groups: 'Berechtigungsgruppen',
  allGroups: 'Alle Berechtigungen',
  chooseGroup: 'Gruppe wählen',
  action: 'Aktion',
  actionHelp: 'Etwa „publish“. Der Name der Gruppe wird davorgesetzt.',
  fullName: (name) => `Die Berechtigung wird ${name} heißen.`,
  name: 'Name',
  description: 'Beschreibung',
  created: (name) => `${name} wurde angelegt.`,
  saved: (name) => `${name} wurde gespeichert.`,
  taken: 'Die Gruppe hat bereits eine Berechtigung mit diesem Namen.',
  search: 'Berechtigungen suchen',
  filter: 'Filter',
  filters: {
    all: 'Alle Berechtigungen',
    unused: 'In keiner Rolle',
    builtin: 'Eingebaute',
    own: 'Ihres Produkts',
  },
  builtin: 'Eingebaut',
  usedBy: 'Verwendet von',
  roles: (count) => plural(count, { one: '# Rolle', other: '# Rollen' }),
  noRole: 'Keiner Rolle',
  pane: 'Berechtigung',
  inRoles: 'Rollen, die sie haben',
  inNoRole: 'Keine Rolle hat sie: Nur Superuser dürfen dies.',
  holders: 'Wer sie hat',
  holdersTotal: (count) => plural(count, { one: '# Inhaber', other: '# Inhaber' }),
  nobody: 'Niemand hat sie durch eine Rolle.',
  through: (names) => `durch ${names}`,
  more: 'Mehr anzeigen',
  export: 'CSV exportieren',
  explain: 'Zugriff erklären',
  builtinDelete: 'Eine eingebaute Berechtigung kann nicht gelöscht werden.',
  usedDelete: (names) => `Sie kann nicht gelöscht werden, solange Rollen sie haben: ${names}.`,
  deleteTitle: (name) => `${name} löschen`,
  deleteText: 'Keine Rolle hat diese Berechtigung. Sie wird endgültig gelöscht.',
  deleted: (name) => `${name} wurde gelöscht.`,
  editGroup: 'Umbenennen oder beschreiben',
  editGroupHelp:
    'Ein neuer Name benennt auch die Berechtigungen der Gruppe um. Ändern Sie ihn gleichzeitig in Ihrem Produkt.',
  groupBlocked: (children, members) =>
    `Die Gruppe kann nicht gelöscht werden. Sie enthält ${[
      ...(children > 0 ? [plural(children, { one: '# Untergruppe', other: '# Untergruppen' })] : []),
      ...(members > 0 ? [plural(members, { one: '# Berechtigung', other: '# Berechtigungen' })] : []),
    ].join(' und ')}.`,
  deleteGroupText: 'Die Gruppe wird endgültig gelöscht. Sie hat keine Untergruppen und keine Berechtigungen.',
  emptyTitle: 'Hier sind noch keine Berechtigungen',
  emptyText: 'Eine Berechtigung benennt etwas, das Ihr Produkt erlauben kann, etwa orders.refund.',
};
