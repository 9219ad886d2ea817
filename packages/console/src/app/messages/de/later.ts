// Texte von dem, was selten und spät aufgeht. Sie laden damit.
import { createPlural } from '../../../common/language.ts';
import type { LaterMessages } from '../en/later.ts';
import { userImport } from './user-import.ts';

const plural = createPlural('de');

export const later: LaterMessages = {
  userImport,
  /** Ends the sessions of one person on one device. */
  sessionGroup: {
    end: (count) => plural(count, { one: '# Sitzung beenden', other: '# Sitzungen beenden' }),
    ask: (count, name) =>
      plural(count, { one: `# Sitzung beenden: ${name}?`, other: `# Sitzungen beenden: ${name}?` }),
    onlyListed: 'Nur die angezeigten enden. Es kann weitere geben: Laden Sie sie vorher.',
    ended: (count) => plural(count, { one: '# Sitzung ist beendet.', other: '# Sitzungen sind beendet.' }),
  },
  shortcuts: {
    title: 'Tastenkürzel',
    palette: 'Personen, Rollen, Seiten und Aktionen suchen',
    search: 'Zum Suchfeld der Seite',
    help: 'Diese Liste anzeigen',
    goTo: (page) => `Zu ${page}`,
    move: 'Zwischen Zeilen wechseln',
    open: 'Zeile öffnen',
    close: 'Oberste Ebene schließen',
    single: 'Einzelne Tasten verwenden',
    singleHelp: 'Schalten Sie dies aus, wenn einzelne Tasten Sie stören.',
  },
};
