// Decisions, searches, explanations, effective permissions, lists of holders and the guard agree, over random roles,
// subjects and changes.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type Acr, acrValues, reaches } from '@castellan/contract/authentication';
import type { Holder } from '@castellan/contract/holders';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { makePermission } from '@castellan/testing/records/fixture';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import fc from 'fast-check';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);

// Operations that a caller may read with this permission alone.
const guarded = {
  'role.read': '/api/v1/roles/list',
  'permission.read': '/api/v1/permissions',
  'audit_log.read': '/api/v1/audit-logs',
};
const own = await Promise.all(Array.from({ length: 3 }, () => makePermission(admin)));
const permissions = [...Object.keys(guarded), ...own.map(({ name }) => name)];
const idOf = new Map(
  (await service.sql<{ id: string; name: string }>('select id, name from permissions')).map(
    ({ id, name }) => [name, id],
  ),
);
const ROLES = 6;
const USERS = 6;
const ACCOUNTS = 3;
const roles = await Promise.all(Array.from({ length: ROLES }, () => addRole(service)));
const people = await Promise.all(
  Array.from({ length: USERS }, async () => {
    const person = await addPerson(service);
    return { person, client: await signIn(service, person) };
  }),
);
const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => addServiceAccount(service)));

/** Seconds. */
const DAY = 86_400;
const levels = fc.constantFrom(...acrValues);

const subset = (count: number) =>
  fc.uniqueArray(fc.nat(count - 1), { maxLength: count }).map((list) => list.toSorted());
const states = fc.record({
  ofRole: fc.array(subset(permissions.length), { minLength: ROLES, maxLength: ROLES }),
  ofUser: fc.array(subset(ROLES), { minLength: USERS, maxLength: USERS }),
  ofAccount: fc.array(subset(ROLES), { minLength: ACCOUNTS, maxLength: ACCOUNTS }),
  superusers: subset(USERS),
  inactive: subset(USERS + ACCOUNTS),
  /** What each permission, and each role, asks for; and what the questions say of the people whom they are about. */
  needs: fc.array(fc.option(fc.record({ acr: levels, age: fc.option(fc.constant(DAY)) }), { freq: 2 }), {
    minLength: permissions.length,
    maxLength: permissions.length,
  }),
  roleNeeds: fc.array(fc.option(fc.constantFrom('aal2' as const, 'phr' as const), { freq: 1 }), {
    minLength: ROLES,
    maxLength: ROLES,
  }),
  context: fc.record({ acr: levels, ago: fc.constantFrom(10, DAY + 100) }, { requiredKeys: [] }),
});
type State = typeof states extends fc.Arbitrary<infer T> ? T : never;

/** Writes the state to the database: nothing of the earlier one is left. */
async function write(state: State): Promise<void> {
  const links = (lists: readonly number[][]) =>
    lists.flatMap((list, at) => list.map((other) => [at, other] as const));
  const insert = async (table: string, pairs: (readonly [string | undefined, string | undefined])[]) => {
    await service.sql(`insert into ${table} select * from unnest($1::uuid[], $2::uuid[])`, [
      pairs.map(([one]) => one),
      pairs.map(([, other]) => other),
    ]);
  };
  await service.sql('delete from role_permissions where role_id = any($1)', [roles]);
  await service.sql('delete from user_roles where user_id = any($1)', [
    people.map(({ person }) => person.id),
  ]);
  await service.sql('delete from service_account_roles');
  await insert(
    'role_permissions (role_id, permission_id)',
    links(state.ofRole).map(([role, one]) => [roles[role], idOf.get(permissions[one] ?? '')]),
  );
  await insert(
    'user_roles (user_id, role_id)',
    links(state.ofUser).map(([user, role]) => [people[user]?.person.id, roles[role]]),
  );
  await insert(
    'service_account_roles (service_account_id, role_id)',
    links(state.ofAccount).map(([account, role]) => [accounts[account]?.id, roles[role]]),
  );
  for (const [at, name] of permissions.entries())
    await service.sql('update permissions set required_acr = $2, max_auth_age = $3 where name = $1', [
      name,
      state.needs[at]?.acr ?? null,
      state.needs[at]?.age ?? null,
    ]);
  for (const [at, id] of roles.entries())
    await service.sql('update roles set required_acr = $2, enforced_from = now() where id = $1', [
      id,
      state.roleNeeds[at] ?? null,
    ]);
  for (const [at, { person }] of people.entries())
    await service.sql('update users set is_superuser = $2, is_active = $3 where id = $1', [
      person.id,
      state.superusers.includes(at),
      !state.inactive.includes(at),
    ]);
  for (const [at, { id }] of accounts.entries())
    await service.sql('update service_accounts set is_active = $2 where id = $1', [
      id,
      !state.inactive.includes(USERS + at),
    ]);
}

async function read(client: TestClient, path: string) {
  const answer = await client.get(`/api/v1${path}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
}

const sortedIds = (list: readonly { id: string }[]): string[] => list.map(({ id }) => id).sort();

/** Returns whether the guard lets this client read. The session of an inactive user is refused with 401. */
async function passes(client: TestClient, path: string): Promise<boolean> {
  const { status, text } = await client.get(path);
  assert.ok([200, 401, 403].includes(status), text);
  return status === 200;
}

type Asked = { type: 'user' | 'service_account'; id: string; path: string; client: TestClient };

function robotWith(key: string): TestClient {
  const client = service.client();
  client.accessToken = key;
  return client;
}

/** Signs in again, because a deactivation ended the session. */
async function clientOf(person: Person, earlier: TestClient): Promise<TestClient> {
  if ((await earlier.get('/api/v1/users/me')).status === 200) return earlier;
  const client = service.client();
  await client.post('/api/v1/auth/login', { email: person.email, password: person.password });
  return client;
}

async function subjects(): Promise<Asked[]> {
  const users = people.map(async ({ person, client }) => ({
    type: 'user' as const,
    id: person.id,
    path: `/users/${person.id}`,
    client: await clientOf(person, client),
  }));
  const machines = accounts.map(({ id, key }) => ({
    type: 'service_account' as const,
    id,
    path: `/service-accounts/${id}`,
    client: robotWith(key),
  }));
  return [...(await Promise.all(users)), ...machines];
}

/** Returns the permission as AuthZEN names it. */
function asked(permission: string) {
  const dot = permission.lastIndexOf('.');
  return {
    action: { name: permission.slice(dot + 1) },
    resource: { type: permission.slice(0, dot), id: 'any' },
  };
}

type Told = { acr?: Acr; ago?: number };

const contextOf = ({ acr, ago }: Told) => ({
  ...(acr === undefined ? {} : { acr }),
  ...(ago === undefined ? {} : { auth_time: Math.floor(Date.now() / 1_000) - ago }),
});

/** Returns whether a proof is enough for the permission. */
function isMet(state: State, permission: string, { acr = 'aal1', ago }: Told): boolean {
  const need = state.needs[permissions.indexOf(permission)];
  if (!need) return true;
  return reaches(acr, need.acr) && (need.age === null || (ago !== undefined && ago <= need.age));
}

/** Returns whether the level is enough for the account of the user. */
function isAccountMet(state: State, id: string, acr: Acr): boolean {
  const held = state.ofUser[people.findIndex(({ person }) => person.id === id)] ?? [];
  return held.every((role) => reaches(acr, state.roleNeeds[role] ?? 'aal1'));
}

/** Returns the ids of the users and service accounts that the search finds. */
async function found(at: TestClient, permission: string, told: Told): Promise<string[]> {
  const ids: string[] = [];
  for (const type of ['user', 'service_account']) {
    const { body } = await at.post('/api/v1/access/v1/search/subject', {
      subject: { type },
      ...asked(permission),
      context: contextOf(told),
      page: { limit: 100 },
    });
    ids.push(...body.results.map(({ id }: { id: string }) => id));
  }
  return ids.sort();
}

/** Whether a call with a password, or with a key, has proved enough. */
const mayCall = (state: State, type: string, id: string, permission: string): boolean =>
  type !== 'user' || (isMet(state, permission, { acr: 'aal1', ago: 60 }) && isAccountMet(state, id, 'aal1'));

type Listed = { name: string; superuser?: boolean; sources: { role: { id: string } }[] };

async function assertAgreement(at: TestClient, state: State): Promise<void> {
  const told = state.context;
  const others = await service.sql<{ id: string }>('select id from users where not (id = any($1))', [
    people.map(({ person }) => person.id),
  ]);
  const strangers = new Set(others.map(({ id }) => id));
  /** Whether what is known of the subject is enough for the permission. Service accounts have nothing to prove. */
  const isProved = (type: string, id: string, permission: string): boolean =>
    type !== 'user' ||
    (isMet(state, permission, told) && (told.acr === undefined || isAccountMet(state, id, told.acr)));
  const holders = new Map<string, Map<string, Holder>>();
  for (const permission of permissions) {
    const path = `/permissions/${idOf.get(permission)}/holders?include=superusers&size=100`;
    const { data } = await read(at, path);
    holders.set(permission, new Map(data.map((one: Holder) => [one.id, one])));
    const active = data.filter((one: Holder) => one.is_active);
    const permitted = active.filter((one: Holder) => isProved(one.type, one.id, permission));
    const isOther = ({ id }: { id: string }) => !strangers.has(id);
    const ids = (await found(at, permission, told)).filter((id) => isOther({ id }));
    assert.deepEqual(ids, sortedIds(permitted.filter(isOther)), permission);
  }
  for (const { type, id, path, client } of await subjects()) {
    const effective = (await read(at, `${path}/effective-permissions`)).data;
    const listed = new Map<string, Listed>(effective.permissions.map((one: Listed) => [one.name, one]));
    for (const permission of permissions) {
      const what = `${type} ${id} ${permission}`;
      const explaining = await at.post('/api/v1/access/explain', {
        subject: { type, id },
        permission,
        context: contextOf(told),
      });
      const explained = explaining.body.data;
      const evaluation = { subject: { type, id }, ...asked(permission), context: contextOf(told) };
      const decided = (await at.post('/api/v1/access/v1/evaluation', evaluation)).body;
      assert.deepEqual(
        [decided.decision, decided.context.reason],
        [explained.decision, explained.reason],
        what,
      );
      const entry = listed.get(permission);
      const holder = holders.get(permission)?.get(id);
      const isGranted = entry !== undefined && effective.blocked === null;
      assert.equal(explained.decision, isGranted && isProved(type, id, permission), what);
      if (isGranted && !explained.decision) assert.equal(explained.reason, 'step_up_required', what);
      assert.equal(holder !== undefined, entry !== undefined, what);
      assert.deepEqual(explained.sources, entry?.sources ?? [], what);
      const through = (entry?.sources ?? []).map(({ role }) => role);
      assert.deepEqual(sortedIds(holder?.roles ?? []), sortedIds(through), what);
      if (holder) {
        assert.equal(holder.superuser, effective.is_superuser, what);
        assert.equal(holder.is_active, effective.blocked === null, what);
      }
      const operation = Object.entries(guarded).find(([name]) => name === permission)?.[1];
      // Keys of inactive service accounts are left out: they count as wrong keys, which have a limit.
      if (operation && (type === 'user' || effective.blocked === null))
        assert.equal(
          await passes(client, operation),
          isGranted && mayCall(state, type, id, permission),
          what,
        );
    }
  }
}

test('over random states, every answer about a permission follows from the same rule', async () => {
  let step = 0;
  await fc.assert(
    fc.asyncProperty(states, async (state) => {
      await write(state);
      // The instance that answers alternates, so that each has seen an earlier state.
      await assertAgreement(step % 2 === 0 ? admin : admin.at(twin.url), state);
      step += 1;
    }),
    { numRuns: 6 },
  );
});
