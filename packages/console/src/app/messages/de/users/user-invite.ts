// Die Texte der Einladung von Benutzern.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const userInvite: LaterMessages['userInvite'] = {
  title: 'Benutzer einladen',
  text: 'Jede Person bekommt eine E-Mail mit einem Link, legt ein Passwort fest und kann sich dann anmelden. Bis dahin kann sich niemand mit dem Konto anmelden.',
  addresses: 'E-Mail-Adressen',
  addressesHelp:
    'Eine je Zeile, allein oder als Name <Adresse>. Wer hier keinen Namen hat, gibt ihn später selbst ein.',
  lifetime: 'Der Link gilt',
  lifetimeOfService: 'So lange, wie dieser Dienst es vorgibt',
  days: (count) => plural(count, { one: '# Tag', other: '# Tage' }),
  tooMany: (count) =>
    `Auf einmal können höchstens 500 Personen eingeladen werden; dies sind ${plural(count, { one: '#', other: '#' })}.`,
  submit: (count) =>
    count === 0 ? 'Einladen' : plural(count, { one: '# Person einladen', other: '# Personen einladen' }),
  result: (invited, refused) =>
    [
      plural(invited, { one: '# Person ist eingeladen.', other: '# Personen sind eingeladen.' }),
      ...(refused > 0
        ? [plural(refused, { one: '# Zeile wurde abgelehnt.', other: '# Zeilen wurden abgelehnt.' })]
        : []),
    ].join(' '),
  verdicts: 'Ergebnis je Zeile',
  invited: 'Eingeladen',
  refused: 'Abgelehnt',
  retry: 'Abgelehnte Zeilen korrigieren',
};
