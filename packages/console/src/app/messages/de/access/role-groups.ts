// Texte der Seite Rollengruppen, und von Gruppenbäumen anderswo.
import { createPlural } from '../../../../common/language.ts';
import type { Messages } from '../../en/index.ts';

const plural = createPlural('de');

export const roleGroups: Messages['roleGroups'] = {
  title: 'Rollengruppen',
  count: (count) => plural(count, { one: '# Gruppe', other: '# Gruppen' }),
  roles: (count) => plural(count, { one: '# Rolle', other: '# Rollen' }),
  search: 'Gruppen suchen',
  tree: 'Rollengruppen',
  newGroup: 'Neue Gruppe',
  newChild: 'Neue Untergruppe',
  childOf: (name) => `Die Gruppe wird Teil von ${name}.`,
  created: (name) => `${name} wurde angelegt.`,
  saved: (name) => `${name} wurde gespeichert.`,
  taken: 'Eine andere Gruppe hat diesen Namen. Wählen Sie einen anderen.',
  edit: 'Bearbeiten',
  editTitle: (name) => `${name} bearbeiten`,
  clone: 'Kopieren',
  cloneTitle: (name) => `${name} kopieren`,
  cloneHelp:
    'Die Kopie erhält denselben Platz, dieselbe Beschreibung und dieselben Rollen, aber keine Untergruppen.',
  copyOf: (name) => `${name} (Kopie)`,
  move: 'Verschieben',
  moveTo: 'Verschieben…',
  moveTitle: (name) => `${name} verschieben`,
  root: 'Oberste Ebene',
  dropRoot: 'Hier ablegen für die oberste Ebene',
  moved: (name, place) => `${name} wurde verschoben nach: ${place}.`,
  chooseTitle: 'Wählen Sie eine Gruppe',
  chooseText: 'Ihre Rollen und was Sie mit ihr tun können, sehen Sie hier.',
  missingTitle: 'Diese Gruppe gibt es nicht',
  missingText: 'Sie wurde gelöscht, oder die Adresse ist falsch.',
  emptyTitle: 'Noch keine Rollengruppen',
  emptyText: 'Gruppen ordnen Rollen, etwa nach Abteilungen. Sie geben niemandem eine Berechtigung.',
  own: 'Rollen dieser Gruppe',
  nested: 'Rollen ihrer Untergruppen',
  noRoles: 'Diese Gruppe hat keine eigenen Rollen.',
  from: (path) => `aus ${path}`,
  add: 'Rollen hinzufügen',
  addTitle: (name) => `Rollen zu ${name} hinzufügen`,
  addLabel: 'Rollen',
  added: (count, name) =>
    plural(count, {
      one: `# Rolle wurde zu ${name} hinzugefügt.`,
      other: `# Rollen wurden zu ${name} hinzugefügt.`,
    }),
  removeRole: (role, group) => `${role} aus ${group} entfernen`,
  removed: (role, group) => `${role} wurde aus ${group} entfernt.`,
  deleteTitle: (name) => `${name} löschen`,
  deleteText: 'Die Gruppe wird endgültig gelöscht. Sie hat keine Untergruppen und keine Rollen.',
  deleted: (name) => `${name} wurde gelöscht.`,
  blocked: (children, roles) =>
    `Diese Gruppe kann nicht gelöscht werden. Sie enthält ${[
      ...(children > 0 ? [plural(children, { one: '# Untergruppe', other: '# Untergruppen' })] : []),
      ...(roles > 0 ? [plural(roles, { one: '# Rolle', other: '# Rollen' })] : []),
    ].join(' und ')}.`,
  activity: 'Aktivität',
};
