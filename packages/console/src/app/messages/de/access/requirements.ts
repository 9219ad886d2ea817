// Texte der Dialoge, die ändern, was Rollen und Berechtigungen von Anmeldungen verlangen.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const requirements: LaterMessages['requirements'] = {
  roleTitle: (name) => `Wie sich Inhaber von ${name} anmelden müssen`,
  permissionTitle: (name) => `Was ${name} von einer Anmeldung verlangt`,
  roleHelp: {
    none: 'Wer einen zweiten Faktor hat, wird trotzdem danach gefragt.',
    aal2: 'Der Code einer App, ein Passkey oder ein Sicherheitsschlüssel, zusätzlich zum Passwort. Auch ein Passkey allein genügt.',
    phr: 'Lässt sich nicht abfischen. Der Code einer App genügt nicht.',
  },
  permissionHelp: {
    none: 'Wer angemeldet ist und die Berechtigung hat, darf sie nutzen.',
    aal1: 'Jede Art der Anmeldung genügt. Mit einem Alter wird sie neu bestätigt, sobald sie älter ist.',
    aal2: 'Der Code einer App, ein Passkey oder ein Sicherheitsschlüssel.',
    phr: 'Lässt sich nicht abfischen. Der Code einer App genügt nicht.',
  },
  from: 'Gilt ab',
  fromHelp:
    'Bis dahin werden die Inhaber darauf hingewiesen, und nichts wird abgelehnt. Ein Zeitpunkt in der Vergangenheit heißt: sofort.',
  saved: (name) => `Was ${name} verlangt, ist gespeichert.`,
  settings: {
    superusers: 'Was Sie hier auch wählen: Die Einstellungen verlangen von Superusern einen zweiten Faktor.',
    administrators:
      'Was Sie hier auch wählen: Die Einstellungen verlangen von der Administration einen zweiten Faktor.',
    everyone: 'Was Sie hier auch wählen: Die Einstellungen verlangen von allen einen zweiten Faktor.',
  },
  impact: {
    nobody: 'Das betrifft zurzeit niemanden, der aktiv ist.',
    allMeet: (count) =>
      plural(count, {
        one: 'Es betrifft # Person, und sie kann es erfüllen.',
        other: 'Es betrifft # Personen, und alle können es erfüllen.',
      }),
    unmet: (without, holders) =>
      plural(holders, {
        one: 'Es betrifft # Person, und sie hat keinen solchen Faktor.',
        other: `Es betrifft # Personen, davon ${without} ohne einen solchen Faktor.`,
      }),
    lifted: (count) =>
      plural(count, {
        one: 'Von # Person wird hier nichts mehr verlangt.',
        other: 'Von # Personen wird hier nichts mehr verlangt.',
      }),
    roleNow: 'Ab jetzt steht ihnen nichts anderes offen, bis sie einen eingerichtet haben.',
    roleFrom: (moment) => `Ab ${moment} steht ihnen nichts anderes offen, bis sie einen eingerichtet haben.`,
    permission: 'Sie können die Berechtigung nicht nutzen, bis sie einen eingerichtet haben.',
  },
  accounts: 'Dienstkonten und API-Schlüssel haben nichts nachzuweisen: Sie werden nicht gefragt.',
};
