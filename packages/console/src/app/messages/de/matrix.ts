// Texte der Seite Berechtigungsmatrix.
import type { Messages } from '../en/index.ts';

export const matrix: Messages['matrix'] = {
  title: 'Berechtigungsmatrix',
};
