// German texts of one's own data, and of leaving.
import { createPlural } from '../../../common/language.ts';
import type { LaterMessages } from '../en/later.ts';

const plural = createPlural('de');

export const leaving: LaterMessages['leaving'] = {
  title: 'Ihre Daten',
  text: 'Eine Datei mit allem, was über Sie gespeichert ist: Konto, Zugriff, wie und wo Sie sich anmelden und die neuesten Einträge des Protokolls. Einmal in der Stunde.',
  download: 'Meine Daten herunterladen',
  remove: 'Mein Konto löschen',
  ask: 'Ihr Konto löschen?',
  atOnce:
    'Alle Ihre Sitzungen enden sofort, auch bei Anwendungen, und niemand kann sich mehr mit dem Konto anmelden.',
  keep: (days) =>
    days === 0
      ? 'Wir senden Ihnen einen Link, der das Konto behält, bis es in Kürze entfernt wird.'
      : plural(days, {
          one: 'Wir senden Ihnen einen Link, der das Konto behält. Er gilt # Tag; dann wird das Konto endgültig entfernt.',
          other:
            'Wir senden Ihnen einen Link, der das Konto behält. Er gilt # Tage; dann wird das Konto endgültig entfernt.',
        }),
  password: 'Aktuelles Passwort',
  gone: 'Ihr Konto ist deaktiviert',
  goneText: (day) =>
    `Am ${day} oder kurz danach wird es entfernt. Bis dahin behalten Sie es mit dem Link in unserer E-Mail.`,
  onward: 'Zur Anmeldung',
};
