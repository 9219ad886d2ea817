// The four kinds of records as one table, for the tests that apply to all of them.
// The tests of one kind alone are in the folder of that kind.
import { makePermissionGroup, type ServiceWithAdmin } from '@castellan/testing/records/fixture';

export type Noun = {
  path: string;
  table: string;
  /** Returns a body that creates a record of this name. */
  body(started: ServiceWithAdmin, name: string): Promise<object>;
  /** Length of the longest name that is accepted, in characters. */
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
    body: async (started, name) => ({ name, group_id: await ownGroup(started) }),
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
const groups = new WeakMap<ServiceWithAdmin, Promise<string>>();

/** Returns the group in which these tests create permissions. */
function ownGroup(started: ServiceWithAdmin): Promise<string> {
  const known =
    groups.get(started) ?? makePermissionGroup(started.admin, { name: GROUP }).then(({ id }) => id);
  groups.set(started, known);
  return known;
}

/** Returns the name of a record that was created with this name. */
export const storedName = (noun: Noun, name: string): string =>
  noun.table === 'permissions' ? `${GROUP}.${name}` : name;
