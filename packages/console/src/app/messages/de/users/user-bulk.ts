// Texte von Änderungen vieler Benutzer.
import { createPlural } from '../../../../common/language.ts';
import type { LaterMessages } from '../../en/later.ts';

const plural = createPlural('de');

export const userBulk: LaterMessages['userBulk'] = {
  ask: {
    addRoles: (count) =>
      plural(count, { one: '# Benutzer Rollen hinzufügen', other: '# Benutzern Rollen hinzufügen' }),
    removeRoles: (count) =>
      plural(count, { one: 'Rollen von # Benutzer entfernen', other: 'Rollen von # Benutzern entfernen' }),
    activate: (count) => plural(count, { one: '# Benutzer aktivieren', other: '# Benutzer aktivieren' }),
    deactivate: (count) =>
      plural(count, { one: '# Benutzer deaktivieren', other: '# Benutzer deaktivieren' }),
    endSessions: (count) =>
      plural(count, {
        one: 'Die Sitzungen von # Benutzer beenden',
        other: 'Die Sitzungen von # Benutzern beenden',
      }),
  },
  done: {
    addRoles: (count) =>
      plural(count, { one: '# Benutzer hat neue Rollen.', other: '# Benutzer haben neue Rollen.' }),
    removeRoles: (count) =>
      plural(count, {
        one: 'Rollen von # Benutzer entfernt.',
        other: 'Rollen von # Benutzern entfernt.',
      }),
    activate: (count) => plural(count, { one: '# Benutzer ist aktiv.', other: '# Benutzer sind aktiv.' }),
    deactivate: (count) =>
      plural(count, { one: '# Benutzer ist deaktiviert.', other: '# Benutzer sind deaktiviert.' }),
    endSessions: (count) =>
      plural(count, {
        one: 'Die Sitzungen von # Benutzer sind beendet.',
        other: 'Die Sitzungen von # Benutzern sind beendet.',
      }),
  },
  endSessions: 'Alle werden überall sofort abgemeldet. Jeder Benutzer ist eine eigene Anfrage.',
  freezing: 'Alle jetzigen Treffer werden ermittelt. Wer später angelegt wird, ist nicht gemeint.',
  stopped: 'Sie haben angehalten.',
  unknown: (count) =>
    plural(count, {
      one: 'Die letzte Anfrage, für # Benutzer, blieb ohne Antwort: Sie wurde vielleicht ausgeführt. Der Benutzer bleibt ausgewählt; eine Wiederholung schadet nicht.',
      other:
        'Die letzte Anfrage, für # Benutzer, blieb ohne Antwort: Sie wurde vielleicht ausgeführt. Sie bleiben ausgewählt; eine Wiederholung schadet nicht.',
    }),
  undo: (count) =>
    plural(count, {
      one: 'Für # Benutzer rückgängig machen',
      other: 'Für # Benutzer rückgängig machen',
    }),
  undoing: 'Wird rückgängig gemacht',
  takenBack: (done, left) =>
    [
      plural(done, {
        one: 'Für # Benutzer rückgängig gemacht.',
        other: 'Für # Benutzer rückgängig gemacht.',
      }),
      ...(left > 0
        ? [plural(left, { one: '# behält die Änderung.', other: '# behalten die Änderung.' })]
        : []),
    ].join(' '),
  goOn: (count) => plural(count, { one: 'Den übrigen erneut prüfen', other: 'Die übrigen # erneut prüfen' }),
  skipped: 'Ausgelassen:',
  skipReasons: {
    self: () => 'Sie selbst',
    superuser: (count) =>
      plural(count, {
        one: '# Superuser, den nur Superuser ändern:',
        other: '# Superuser, die nur Superuser ändern:',
      }),
    already: (count) =>
      plural(count, {
        one: '#, bei dem sich nichts ändern würde:',
        other: '#, bei denen sich nichts ändern würde:',
      }),
  },
  refused: (done, left) =>
    `${plural(done, { one: '# Benutzer wurde geändert.', other: '# Benutzer wurden geändert.' })} ${plural(left, { one: '# nicht; er bleibt ausgewählt.', other: '# nicht; sie bleiben ausgewählt.' })}`,
  leaveOut: (count) =>
    plural(count, {
      one: '# Benutzer auslassen und erneut prüfen',
      other: '# Benutzer auslassen und erneut prüfen',
    }),
};
