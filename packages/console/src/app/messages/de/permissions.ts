// Texte der Seite Berechtigungen.
import type { Messages } from '../en/index.ts';

export const permissions: Messages['permissions'] = {
  title: 'Berechtigungen',
};
