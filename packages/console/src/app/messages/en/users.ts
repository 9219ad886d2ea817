// Texts of the pages Users and New user, and of the role picker.
import { createPlural } from '../../../shared/language.ts';

const plural = createPlural('en');

export const users = {
  title: 'Users',
  rolePicker: {
    placeholder: 'Type part of a name',
    none: 'No role has this in its name.',
    permissions: (count: number) => plural(count, { one: '# permission', other: '# permissions' }),
  },
};
