// Texte der Seite Mein Konto.
import type { Messages } from '../en/index.ts';

export const account: Messages['account'] = {
  title: 'Mein Konto',
};
