// Texte der Seite Protokoll.
import type { Messages } from '../en/index.ts';

export const audit: Messages['audit'] = {
  title: 'Protokoll',
};
