// Texts of the page Access explorer and of the list of effective permissions.
import { createPlural } from '../../../shared/language.ts';

const plural = createPlural('en');

export const access = {
  title: 'Access explorer',
  clear: (field: string) => `Clear ${field}`,
  nobodyFound: 'Nobody found',
  effective: {
    title: (count: string) => `Effective permissions (${count})`,
    loading: 'Effective permissions',
    filter: 'Filter permissions',
    shown: (count: number) => plural(count, { one: '# permission matches', other: '# permissions match' }),
    superuser: 'Superuser: holds every permission, with or without roles.',
    inactive: 'Inactive: may do nothing now. These permissions apply once the account is active again.',
    locked: 'Locked: cannot sign in with a password for now. The permissions stay.',
    unverified: 'Unverified: cannot sign in until the email is confirmed. The permissions stay.',
    none: 'No permissions',
    noneHelp: 'No role gives any. Assign a role to grant some.',
    noMatch: (text: string) => `None of these permissions contains “${text}”.`,
    noMatchHelp: 'Either no role of this account grants it, or no permission has that name.',
    ask: 'Ask the access explorer',
    forbidden: 'You cannot see these permissions.',
  },
};
