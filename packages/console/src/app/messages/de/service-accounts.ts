// Texte der Seite Dienstkonten.
import type { Messages } from '../en/index.ts';

export const serviceAccounts: Messages['serviceAccounts'] = {
  title: 'Dienstkonten',
};
