// Texte der Seiten Benutzer und Neuer Benutzer sowie der Rollenauswahl.
import { createPlural } from '../../../shared/language.ts';
import type { Messages } from '../en/index.ts';

const plural = createPlural('de');

export const users: Messages['users'] = {
  title: 'Benutzer',
  rolePicker: {
    placeholder: 'Teil des Namens eingeben',
    none: 'Keine Rolle hat das im Namen.',
    permissions: (count) => plural(count, { one: '# Berechtigung', other: '# Berechtigungen' }),
  },
};
