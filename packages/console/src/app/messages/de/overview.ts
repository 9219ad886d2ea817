// Texte der Seite Übersicht.
import type { Messages } from '../en/index.ts';

export const overview: Messages['overview'] = {
  title: 'Übersicht',
};
