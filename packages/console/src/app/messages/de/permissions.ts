// Texte der Seite Berechtigungen.
import type { Messages } from '../en/index.ts';

export const permissions: Messages['permissions'] = {
  title: 'Berechtigungen',
  newPermission: 'Neue Berechtigung',
  newGroup: 'Neue Gruppe',
  group: 'Berechtigungsgruppe',
  chooseGroup: 'Gruppe wählen',
  action: 'Aktion',
  actionHelp: 'Etwa „publish“. Der Name der Gruppe wird davorgesetzt.',
  fullName: (name) => `Die Berechtigung wird ${name} heißen.`,
  description: 'Beschreibung',
  created: (name) => `${name} wurde angelegt.`,
  taken: 'Die Gruppe hat bereits eine Berechtigung mit diesem Namen.',
};
