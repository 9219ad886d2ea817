// Texte dessen, was Rollen und Berechtigungen von Anmeldungen verlangen, wie ihre Seiten es zeigen.
import type { Messages } from '../../en/index.ts';

export const authentication: Messages['authentication'] = {
  role: {
    title: 'Inhaber müssen sich anmelden mit',
    levels: { none: 'Passwort', aal2: 'Zweiter Faktor', phr: 'Passkey oder Sicherheitsschlüssel' },
    from: 'Ab',
    since: 'Seit',
    change: 'Anforderung ändern',
  },
  permission: {
    title: 'Anforderung an Anmeldungen',
    asksFor: 'Verlangt',
    levels: {
      none: 'Nichts weiter',
      aal1: 'Irgendeinen Nachweis',
      aal2: 'Zweiten Faktor',
      phr: 'Passkey oder Sicherheitsschlüssel',
    },
    age: 'Nicht älter als',
    anyAge: 'Beliebig alt',
    change: 'Anforderung ändern',
  },
  holders: 'Inhaber',
  counts: (holders, without) => `${holders}, ${without} ohne solchen Faktor`,
};
