// Texte der Seite Benutzer.
import type { Messages } from '../en/index.ts';

export const users: Messages['users'] = {
  title: 'Benutzer',
};
