// German texts of the dialog that erases a user.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const erasure: LaterMessages['erasure'] = {
  ask: (name) => `${name} mit allen Daten löschen?`,
  act: 'Endgültig löschen',
  goes: 'Das lässt sich nicht rückgängig machen. Gelöscht wird:',
  account: (roles) =>
    roles === 0
      ? 'das Konto mit seinen Sitzungen und Tokens'
      : plural(roles, {
          one: 'das Konto mit seiner Rolle, seinen Sitzungen und Tokens',
          other: 'das Konto mit seinen # Rollen, seinen Sitzungen und Tokens',
        }),
  log: 'im Protokoll: E-Mail-Adressen, Namen, Netze und Geräte dieser Person',
  stays: 'Die Einträge des Protokolls bleiben, mit Zeit, Aktion und IDs.',
  beyond:
    'Sicherungen, exportierte Einträge, gesendete E-Mails und Logs sind nicht betroffen. Wenn Sie eine frühere Sicherung zurückspielen, löschen Sie die Person noch einmal.',
  type: (email) => `Zur Bestätigung ${email} eingeben`,
  done: (entries) =>
    `Das Konto ist gelöscht${plural(entries, { one: ', mit den persönlichen Daten von # Protokolleintrag.', other: ', mit den persönlichen Daten von # Protokolleinträgen.' })}`,
  unfinished: (entries) =>
    `Das Konto ist gelöscht. ${plural(entries, { one: '# Protokolleintrag ist bereinigt', other: '# Protokolleinträge sind bereinigt' })}; der Rest folgt mit dem nächsten Aufräumen.`,
};
