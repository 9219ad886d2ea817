// Texte der Seite Zugriff erklären.
import type { Messages } from '../en/index.ts';

export const access: Messages['access'] = {
  title: 'Zugriff erklären',
};
