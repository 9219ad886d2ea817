// Texte der Seite Sitzungen.
import type { Messages } from '../en/index.ts';

export const sessions: Messages['sessions'] = {
  title: 'Sitzungen',
};
