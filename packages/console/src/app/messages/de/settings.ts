// Texte der Seite Einstellungen.
import type { Messages } from '../en/index.ts';

export const settings: Messages['settings'] = {
  title: 'Einstellungen',
};
