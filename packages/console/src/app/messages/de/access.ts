// Texte der Seite „Zugriff erklären“ und der Liste der wirksamen Berechtigungen.
import { createPlural } from '../../../shared/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const access: Messages['access'] = {
  title: 'Zugriff erklären',
  clear: (field) => `${field} leeren`,
  nobodyFound: 'Niemand gefunden',
  effective: {
    title: (count) => `Wirksame Berechtigungen (${count})`,
    loading: 'Wirksame Berechtigungen',
    filter: 'Berechtigungen filtern',
    shown: (count) => plural(count, { one: '# Berechtigung passt', other: '# Berechtigungen passen' }),
    superuser: 'Superuser: hat jede Berechtigung, mit oder ohne Rollen.',
    inactive: 'Inaktiv: darf derzeit nichts. Diese Berechtigungen gelten, sobald das Konto wieder aktiv ist.',
    locked: 'Gesperrt: kann sich vorerst nicht mit Passwort anmelden. Die Berechtigungen bleiben.',
    unverified:
      'Unbestätigt: kann sich erst anmelden, wenn die E-Mail-Adresse bestätigt ist. Die Berechtigungen bleiben.',
    none: 'Keine Berechtigungen',
    noneHelp: 'Keine Rolle gewährt welche. Weisen Sie eine Rolle zu.',
    noMatch: (text) => `Keine dieser Berechtigungen enthält „${text}“.`,
    noMatchHelp:
      'Entweder gewährt sie keine Rolle dieses Kontos, oder es gibt keine Berechtigung dieses Namens.',
    ask: 'Zugriff erklären lassen',
    forbidden: 'Sie können diese Berechtigungen nicht sehen.',
  },
};
