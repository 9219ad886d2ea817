// The four kinds of records as one table, for what holds of each of them.
// What holds of one alone stands in the tests of that noun.
import { makePermissionGroup, type Office } from './fixture.ts';

export type Noun = {
  path: string;
  table: string;
  /** A body that creates one of this name. */
  body(office: Office, name: string): Promise<object>;
  /** Longest name that it may be created with, characters. */
  maxName: number;
  /** Whether it has an ETag and can be updated. */
  versioned: boolean;
  notFound: string;
};

export const nouns: Readonly<Record<string, Noun>> = {
  role: {
    path: '/api/v1/roles',
    table: 'roles',
    body: async (_office, name) => ({ name }),
    maxName: 250,
    versioned: true,
    notFound: 'role_not_found',
  },
  'role group': {
    path: '/api/v1/role-groups',
    table: 'role_groups',
    body: async (_office, name) => ({ name }),
    maxName: 250,
    versioned: true,
    notFound: 'role_group_not_found',
  },
  permission: {
    path: '/api/v1/permissions',
    table: 'permissions',
    body: async (office, name) => ({ name, group_id: await ownGroup(office) }),
    // 100 with `group-of-names.` before it.
    maxName: 85,
    versioned: false,
    notFound: 'permission_not_found',
  },
  'permission group': {
    path: '/api/v1/permission-groups',
    table: 'permission_groups',
    body: async (_office, name) => ({ name }),
    maxName: 250,
    versioned: true,
    notFound: 'permission_group_not_found',
  },
};

const GROUP = 'group-of-names';
const groups = new WeakMap<Office, Promise<string>>();

/** The one group that permissions of these tests are made in. */
function ownGroup(office: Office): Promise<string> {
  const known = groups.get(office) ?? makePermissionGroup(office.admin, { name: GROUP }).then(({ id }) => id);
  groups.set(office, known);
  return known;
}

/** The name that a record gets from a body with this one. */
export const storedName = (noun: Noun, name: string): string =>
  noun.table === 'permissions' ? `${GROUP}.${name}` : name;
