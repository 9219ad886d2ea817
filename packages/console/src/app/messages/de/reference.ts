// Texte der Seite API-Referenz.
import type { Messages } from '../en/index.ts';

export const reference: Messages['reference'] = {
  title: 'API-Referenz',
};
