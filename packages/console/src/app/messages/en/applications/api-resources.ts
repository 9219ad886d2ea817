// Texts of the page API resources. They load with the page.
import { createPlural } from '../../../../common/language.ts';

const plural = createPlural('en');

export const apiResources = {
  search: 'Search by name or identifier',
  create: 'New API resource',
  empty: 'No API resources yet',
  emptyText:
    'Register one of your APIs here. Applications then get access tokens for it, with permissions that the person holds.',
  fields: {
    name: 'Name',
    identifier: 'Identifier',
    description: 'Description',
    permission_group_ids: 'Permission groups',
    access_token_seconds: 'Access tokens live (seconds)',
    signing_alg: 'Signature',
  },
  groups: 'Scopes of',
  groupCount: (count: number) => plural(count, { one: '# permission group', other: '# permission groups' }),
  lives: 'Tokens live',
  seconds: (count: number) => plural(count, { one: '# second', other: '# seconds' }),
  created: 'Created',
  identifierHelp:
    'The audience of its tokens: an absolute address without #. Others call it audience or resource.',
  groupsHelp: 'The permissions of these groups are the scopes of its tokens.',
  clearGroups: 'Remove all permission groups',
  secondsHelp: '60 to 3,600. Who verifies tokens alone trusts them that long.',
  algHelp: 'Use ES256 if every verifier knows it.',
  notWhole: 'Write a whole number.',
  saved: (name: string) => `${name} is saved.`,
  deleted: (name: string) => `${name} is deleted.`,
  deleteTitle: (name: string) => `Delete ${name}?`,
  deleteText: 'No application can get tokens for it after that. This cannot be undone.',
};
