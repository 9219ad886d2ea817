// Texte des Imports von Benutzern.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const userImport: LaterMessages['userImport'] = {
  title: 'Benutzer importieren',
  text: 'Spalten: email, first_name, last_name, roles (Namen, mit Semikolon getrennt), external_id. Vorhandene Benutzer erhalten die fehlenden Rollen und behalten alles andere. Neue Benutzer erhalten ein Passwort, das niemand kennt: Sie wählen ein eigenes über „Passwort vergessen“. Nichts wird geändert, bevor Sie gesehen haben, was jede Zeile bewirkt.',
  attributes:
    'Neue Benutzer erhalten auch Attribute: eine Spalte für jedes, etwa attributes.cost_center, oder alle als JSON in der Spalte attributes.',
  requiredColumns: (columns) => `Jeder neue Benutzer braucht einen Wert in: ${columns}.`,
  file: 'CSV-Datei',
  choose: 'CSV-Datei auswählen',
  template: 'Vorlage herunterladen',
  problems: {
    empty: 'Die Datei hat keine Zeilen. Die erste Zeile enthält die Namen der Spalten.',
    columns: 'Die Datei braucht in der ersten Zeile die Spalten email und first_name, jede Spalte einmal.',
    rows: 'Die Datei hat mehr als 1.000 Zeilen. Teilen Sie sie auf.',
    size: 'Die Datei ist größer als 5 MiB. Teilen Sie sie auf.',
  },
  faults: {
    unclosed: (line) => `Zeile ${line}: Hier beginnt ein Anführungszeichen, das nicht geschlossen wird.`,
    afterQuote: (line) =>
      `Zeile ${line}: Nach einem schließenden Anführungszeichen folgt Text. Innerhalb einer Zelle wird es doppelt geschrieben.`,
    binary: (line) => `Zeile ${line}: Das ist kein Text. Speichern Sie die Datei als CSV in UTF-8.`,
  },
  rowProblems: {
    email: (text) => `„${text}“ ist keine E-Mail-Adresse.`,
    name: () => 'Ein neuer Benutzer braucht einen Vornamen.',
    duplicate: (line) => `Die E-Mail-Adresse steht schon in Zeile ${line}.`,
    cells: () =>
      'Die Zeile hat mehr Zellen als die erste: Ein Trennzeichen oder Anführungszeichen ist falsch.',
    role: (text) => `Unbekannte Rolle: ${text}.`,
    attributeUnknown: (text) => `Unbekanntes Attribut: ${text}.`,
    attributeMissing: (text) => `Ohne Wert für: ${text}.`,
    attributeJson: (text) => `Die Spalte ${text} enthält kein JSON.`,
  },
  kinds: { create: 'Neu', assign: 'Rollen', same: 'Nichts zu tun', error: 'Fehler' },
  summary: (created, assigned, same, wrong) =>
    [
      plural(created, { one: '# neuer Benutzer', other: '# neue Benutzer' }),
      plural(assigned, { one: '# erhält Rollen', other: '# erhalten Rollen' }),
      plural(same, { one: '# bleibt unverändert', other: '# bleiben unverändert' }),
      plural(wrong, { one: '# fehlerhafte wird ausgelassen', other: '# fehlerhafte werden ausgelassen' }),
    ].join(' · '),
  line: 'Zeile',
  verdict: 'Was geschieht',
  assigned: (count) =>
    plural(count, {
      one: '# bestehender Benutzer hat neue Rollen.',
      other: '# bestehende Benutzer haben neue Rollen.',
    }),
  takenBack: (count) =>
    plural(count, {
      one: 'Die Rollen von # Benutzer sind wie zuvor.',
      other: 'Die Rollen von # Benutzern sind wie zuvor.',
    }),
  run: (count) => plural(count, { one: '# Zeile importieren', other: '# Zeilen importieren' }),
  result: (done, failed) =>
    `${plural(done, { one: '# Zeile importiert.', other: '# Zeilen importiert.' })} ${plural(failed, { one: '# fehlgeschlagen.', other: '# fehlgeschlagen.' })}`,
  failedRow: (line, email) => `Zeile ${line}, ${email}:`,
  left: (done, undone) =>
    `${plural(done, { one: '# Zeile importiert.', other: '# Zeilen importiert.' })} ${plural(undone, { one: '# nicht.', other: '# nicht.' })}`,
  unreached: (count) => plural(count, { one: 'Vor # Zeile angehalten.', other: 'Vor # Zeilen angehalten.' }),
  download: 'Übrige Zeilen herunterladen',
};
