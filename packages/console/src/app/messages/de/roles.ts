// Texte der Seite Rollen.
import type { Messages } from '../en/index.ts';

export const roles: Messages['roles'] = {
  title: 'Rollen',
};
