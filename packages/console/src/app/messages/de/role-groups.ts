// Texte der Seite Rollengruppen.
import type { Messages } from '../en/index.ts';

export const roleGroups: Messages['roleGroups'] = {
  title: 'Rollengruppen',
};
