// Texte der Seiten Rollen und Rolle.
import { createPlural } from '../../../../common/language.ts';
import type { Messages } from '../../en/index.ts';

const plural = createPlural('de');

export const roles: Messages['roles'] = {
  title: 'Rollen',
  newRole: 'Neue Rolle',
  name: 'Name',
  description: 'Beschreibung',
  group: 'Rollengruppe',
  noGroup: 'Keine Gruppe',
  holders: 'Inhaber',
  permissions: 'Berechtigungen',
  search: 'Rollen nach Namen suchen',
  clone: 'Kopieren',
  emptyTitle: 'Noch keine Rollen',
  emptyText:
    'Eine Rolle ist eine benannte Menge von Berechtigungen. Menschen erhalten Berechtigungen durch ihre Rollen.',
  sameSet: (names) => `Dieselben Berechtigungen wie ${names}`,
  filters: {
    label: 'Filter',
    all: 'Alle Rollen',
    noHolders: 'Niemand hat sie',
    noPermissions: 'Sie erlauben nichts',
  },
  dialog: {
    title: 'Neue Rolle',
    cloneTitle: (name) => `${name} kopieren`,
    cloneHelp: (count) =>
      plural(count, {
        one: 'Die Kopie erhält # Berechtigung.',
        other: 'Die Kopie erhält # Berechtigungen.',
      }),
    copyOf: (name) => `${name} (Kopie)`,
    created: (name) => `${name} wurde angelegt.`,
    taken: 'Eine andere Rolle hat diesen Namen. Wählen Sie einen anderen.',
  },
  compare: {
    action: 'Zwei Rollen vergleichen',
    pick: 'Wählen Sie zwei Rollen aus, um sie zu vergleichen.',
    paneLabel: 'Vergleich zweier Rollen',
    same: 'Beide Rollen haben dieselben Berechtigungen.',
    counts: (different, alike) => `${different} verschieden, ${alike} gleich`,
    onlyDifferent: 'Unterschiede',
    everything: 'Alle Berechtigungen',
    missing: 'Eine dieser Rollen gibt es nicht mehr.',
  },
  page: {
    breadcrumb: 'Alle Rollen',
    tabs: { permissions: 'Berechtigungen', users: 'Inhaber', activity: 'Aktivität' },
    edit: 'Bearbeiten',
    editTitle: (name) => `${name} bearbeiten`,
    saved: (name) => `${name} wurde gespeichert.`,
    systemName: 'Der Name einer Systemrolle kann nicht geändert werden.',
    systemDelete: 'Eine Systemrolle kann nicht gelöscht werden.',
    systemPermissions: 'Die Berechtigungen einer Systemrolle können nicht geändert werden.',
    created: 'Angelegt',
    changed: 'Zuletzt geändert',
    missing: 'Diese Rolle gibt es nicht',
    missingText: 'Sie wurde gelöscht, oder die Adresse ist falsch.',
  },
  checklist: {
    filter: 'Berechtigungen filtern',
    held: (count, all) => `${count} von ${all}`,
    onlyHeld: 'Nur die der Rolle',
    all: 'Alle',
    unsaved: 'nicht gespeichert',
    none: 'Diese Rolle erlaubt noch nichts.',
  },
  holdersTab: {
    label: 'Inhaber dieser Rolle',
    person: 'Benutzer',
    account: 'Dienstkonto',
    kind: 'Art',
    status: 'Status',
    none: 'Niemand hat diese Rolle',
    noneText: 'Weisen Sie sie einem Benutzer zu: Er hat ihre Berechtigungen sofort.',
    assign: 'Einem Benutzer zuweisen',
    assignTitle: (role) => `${role} zuweisen`,
    find: 'Name, E-Mail-Adresse oder ID des Benutzers',
    nobodyFound: 'Niemand passt dazu.',
    has: 'Hat sie bereits',
    give: 'Rolle zuweisen',
    giveTitle: (name, role) => `${role} an ${name} zuweisen`,
    assigned: (name, role) => `${name} hat jetzt ${role}.`,
    remove: 'Rolle entziehen',
    removeTitle: (name, role) => `${name} die Rolle ${role} entziehen`,
    removed: (name, role) => `${name} hat ${role} nicht mehr.`,
    more: 'Mehr anzeigen',
    export: 'CSV exportieren',
    total: (count) => plural(count, { one: '# Inhaber', other: '# Inhaber' }),
  },
  review: {
    nothingNow:
      'Niemand erhält oder verliert jetzt eine Berechtigung. Wer eine dieser Rollen später bekommt, bekommt sie mit diesen Änderungen.',
    title: 'Prüfen und speichern',
    open: 'Prüfen und speichern…',
    save: 'Änderungen speichern',
    saved: (count) =>
      plural(count, { one: '# Änderung wurde gespeichert.', other: '# Änderungen wurden gespeichert.' }),
    label: 'Nicht gespeicherte Änderungen',
    discard: 'Verwerfen',
  },
  conflict: {
    keep: 'Weiter',
    rolesText: (names) =>
      `${names}: geändert, nachdem Sie diese Seite geöffnet haben. Wählen Sie für jede Berechtigung, was gilt, und prüfen Sie dann erneut.`,
    cell: (role, permission) => `${role}: ${permission}`,
    yes: 'hat sie',
    no: 'hat sie nicht',
    stillApply: 'Ihre Änderungen passen noch.',
  },
  remove: {
    title: (name) => `${name} löschen`,
    free: 'Niemand hat diese Rolle, und sie erlaubt nichts. Sie wird endgültig gelöscht.',
    blocked:
      'Bevor die Rolle gelöscht werden kann, muss sie allen entzogen werden und ihre Berechtigungen verlieren:',
    users: (count) =>
      plural(count, { one: '# Inhaber verliert die Rolle', other: '# Inhaber verlieren die Rolle' }),
    permissions: (count) =>
      plural(count, {
        one: '# Berechtigung wird aus ihr entfernt',
        other: '# Berechtigungen werden aus ihr entfernt',
      }),
    together: 'Alles davon geschieht auf einmal oder gar nicht.',
    unassign: 'Entziehen und löschen',
    inBatches: (size) =>
      `Sie wird ihnen in Schritten von ${size} entzogen, jeder auf einmal oder gar nicht. Dann wird die Rolle gelöscht. Sie können nach jedem Schritt anhalten.`,
    taking: (done, all) => `${done} von ${all} Inhabern haben die Rolle verloren.`,
    half: (count) =>
      plural(count, {
        one: 'Die Rolle ist nicht gelöscht. # Inhaber hat sie verloren.',
        other: 'Die Rolle ist nicht gelöscht. # Inhaber haben sie verloren.',
      }),
    giveBack: (count) => plural(count, { one: '# Inhaber zurückgeben', other: '# Inhabern zurückgeben' }),
    givenBack: (count) =>
      plural(count, { one: '# Inhaber hat die Rolle wieder.', other: '# Inhaber haben die Rolle wieder.' }),
    deleted: (name) => `${name} wurde gelöscht.`,
  },
};
