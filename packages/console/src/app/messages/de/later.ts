// Texte von dem, was selten und spät aufgeht. Sie laden damit.
import type { LaterMessages } from '../en/later.ts';
import { userImport } from './user-import.ts';

export const later: LaterMessages = {
  userImport,
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
