// Texte der Seite API-Ressourcen. Sie laden mit der Seite.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const apiResources: LaterMessages['apiResources'] = {
  search: 'Nach Name oder Kennung suchen',
  create: 'Neue API-Ressource',
  empty: 'Noch keine API-Ressourcen',
  emptyText:
    'Tragen Sie hier eine Ihrer APIs ein. Anwendungen bekommen dann Access-Tokens dafür, mit Berechtigungen, die der Mensch hat.',
  fields: {
    name: 'Name',
    identifier: 'Kennung',
    description: 'Beschreibung',
    permission_group_ids: 'Berechtigungsgruppen',
    access_token_seconds: 'Access-Tokens leben (Sekunden)',
    signing_alg: 'Signatur',
  },
  groups: 'Scopes aus',
  groupCount: (count) => plural(count, { one: '# Berechtigungsgruppe', other: '# Berechtigungsgruppen' }),
  lives: 'Tokens leben',
  seconds: (count) => plural(count, { one: '# Sekunde', other: '# Sekunden' }),
  created: 'Angelegt',
  identifierHelp:
    'Die Audience ihrer Tokens: eine ganze Adresse ohne #. Anderswo heißt sie Audience oder Resource.',
  groupsHelp: 'Die Berechtigungen dieser Gruppen sind die Scopes ihrer Tokens.',
  clearGroups: 'Alle Berechtigungsgruppen entfernen',
  secondsHelp: '60 bis 3.600. Wer Tokens allein prüft, vertraut ihnen so lange.',
  algHelp: 'Nehmen Sie ES256, wenn alle es kennen, die prüfen.',
  notWhole: 'Schreiben Sie eine ganze Zahl.',
  saved: (name) => `${name} ist gespeichert.`,
  deleted: (name) => `${name} ist gelöscht.`,
  deleteTitle: (name) => `${name} löschen?`,
  deleteText: 'Danach bekommt keine Anwendung mehr Tokens dafür. Das lässt sich nicht rückgängig machen.',
};
