// An administrator loses permissions while their write waits for a lock or hashes a password: the loss counts once it
// is acknowledged. It must not judge how long a request waits.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { eventually, PASSWORD, signIn } from '@castellan/testing/harness';
import {
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
  permissionId,
} from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addPerson, addRole, eventsOf, type Person } from '@castellan/testing/users/people';
import pg from 'pg';
import { openPair, type Pair } from '../../fixture.ts';
import {
  assertInOrder,
  countDeadlocks,
  idOf,
  post,
  put,
  type RequestSpec,
  remove,
  sendAtOnce,
  times,
} from './pair.ts';

const scenario = scenariosOf('races');
// Each request of a batch waits on its own connection; the change that takes the permissions needs one more.
const pair: Pair = await openPair({ after }, { DATABASE_POOL_SIZE: '14' });
const { service, admin } = pair;
const NEW_PASSWORD = 'Brisk!Walnut73Harbour';

/**
 * Adds a user whose id sorts first or last. Rows are locked in the order of ids, so `last` stays unlocked during a wait
 * for another row.
 */
async function addUserAt(place: 'first' | 'last', state: Parameters<typeof addPerson>[1] = {}) {
  const { roles = [], ...rest } = state;
  const person = await addPerson(service, rest);
  const id = `${place === 'first' ? '00000000' : 'ffffffff'}${person.id.slice(8)}`;
  await service.sql('update users set id = $2 where id = $1', [person.id, id]);
  for (const role of roles)
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [id, role]);
  return { ...person, id };
}

type Holder = Person & { client: TestClient; roleId: string };

/**
 * Signs in a new user who holds these permissions through one role; `null` makes a superuser. The client has its CSRF
 * token.
 */
async function addHolder(place: 'first' | 'last', permissions: readonly string[] | null): Promise<Holder> {
  const roleId = permissions ? await addRole(service, ...permissions) : '';
  const person = await addUserAt(place, permissions ? { roles: [roleId] } : { superuser: true });
  const client = await signIn(service, person);
  await client.prepare('POST');
  return { ...person, client, roleId };
}

type Loss = {
  isSuperuser?: boolean;
  apply(holder: Holder, permissions: readonly string[]): Promise<RequestSpec> | RequestSpec;
  refusal: [number, string];
};
const gone: Loss['refusal'] = [401, 'token_revoked'];
const denied: Loss['refusal'] = [403, 'permission_denied'];

const losses: Record<string, Loss> = {
  'is no longer a superuser': {
    isSuperuser: true,
    apply: ({ id }) => put(`users/${id}`, { is_superuser: false }),
    refusal: denied,
  },
  'has lost all roles': { apply: ({ id }) => post(`users/${id}/roles`, []), refusal: denied },
  'has lost the permissions of their role': {
    apply: async ({ roleId }, permissions) =>
      remove(
        `roles/${roleId}/permissions`,
        await Promise.all(permissions.map((one) => permissionId(service, one))),
      ),
    refusal: denied,
  },
  'is deactivated': { apply: ({ id }) => put(`users/${id}`, { is_active: false }), refusal: gone },
  'is deactivated and without roles': {
    apply: ({ id }) => put(`users/${id}`, { is_active: false, role_id: [] }),
    refusal: gone,
  },
  'is deleted': { isSuperuser: true, apply: ({ id }) => remove(`users/${id}`), refusal: gone },
};

/** A request, and the statement with which another transaction makes it wait. */
type HeldRequest = { request: RequestSpec; hold: string };
const heldByRow = (table: string, id: string, request: RequestSpec): HeldRequest => ({
  request,
  hold: `select from ${table} where id = '${id}' for update`,
});

async function onUsers(): Promise<HeldRequest[]> {
  const role = await addRole(service);
  const on = async (
    state: Parameters<typeof addPerson>[1],
    make: (user: Person) => RequestSpec,
  ): Promise<HeldRequest> => {
    const user = await addUserAt('first', state);
    return heldByRow('users', user.id, make(user));
  };
  const signedIn = await addUserAt('first');
  await signIn(service, signedIn);
  const [session] = await service.sql<{ id: string }>('select id from sessions where user_id = $1', [
    signedIn.id,
  ]);
  const locked = await addUserAt('first');
  await service.sql(
    "insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '1 hour')",
    [locked.email],
  );
  return [
    await on({}, ({ id }) => put(`users/${id}`, { first_name: 'Grace' })),
    await on({}, ({ id }) => put(`users/${id}`, { verified: false, password: NEW_PASSWORD })),
    await on({}, ({ id }) => put('users/bulk-update', { user_ids: [id], updates: { is_active: false } })),
    await on({}, ({ id }) => remove(`users/${id}`)),
    await on({}, ({ id }) => post(`users/${id}/roles`, [role])),
    await on({ roles: [role] }, ({ id }) => remove(`users/${id}/roles`, [role])),
    heldByRow('users', signedIn.id, remove(`users/${signedIn.id}/sessions/${session?.id}`)),
    await on({}, ({ id }) => remove(`users/${id}/sessions`)),
    heldByRow('users', locked.id, post(`users/${locked.id}/unlock`)),
    await on({ verified: false }, ({ id }) => post(`users/${id}/resend-verification`)),
  ];
}

async function onRoles(): Promise<HeldRequest[]> {
  const { id: permission } = await makePermission(admin);
  const on = async (fields: object, make: (id: string) => RequestSpec): Promise<HeldRequest> => {
    const { id } = await makeRole(admin, fields);
    return heldByRow('roles', id, make(id));
  };
  const person = { email: `${newName('made')}@example.com`, password: NEW_PASSWORD, first_name: 'Ada' };
  return [
    // The creation of a user with roles waits for the rows of the roles, after it has hashed the password.
    await on({}, (id) => post('users', { ...person, last_name: 'Lovelace', role_id: [id] })),
    heldByRow('permissions', permission, post('roles', { name: newName(), permission_ids: [permission] })),
    await on({}, (id) => put(`roles/${id}`, { description: 'changed' })),
    await on({ permission_ids: [permission] }, (id) => put(`roles/${id}`, { permission_ids: [] })),
    await on({}, (id) => post(`roles/${id}/permissions`, [])),
    await on({ permission_ids: [permission] }, (id) => remove(`roles/${id}/permissions`, [permission])),
    await on({}, (id) => remove(`roles/${id}`)),
  ];
}

async function onRoleGroups(): Promise<HeldRequest[]> {
  const role = await makeRole(admin);
  const on = async (make: (id: string) => RequestSpec): Promise<HeldRequest> => {
    const { id } = await makeRoleGroup(admin);
    return heldByRow('role_groups', id, make(id));
  };
  return [
    await on((id) => post('role-groups', { name: newName(), parent_id: id })),
    await on((id) => put(`role-groups/${id}`, { description: 'changed' })),
    await on((id) => remove(`role-groups/${id}`)),
    await on((id) => post('role-groups/bulk', [{ name: newName(), parent_id: id }])),
    await on((id) => remove('role-groups/bulk', [id])),
    await on((id) => post(`role-groups/${id}/roles`, [role.id])),
    await on((id) => remove(`role-groups/${id}/roles`, [role.id])),
    await on((id) => post(`role-groups/${id}/clone`, { name: newName() })),
    {
      request: post('role-groups/sync-roles'),
      hold: "select pg_advisory_xact_lock(hashtextextended('role_groups', 0))",
    },
  ];
}

async function onPermissions(): Promise<HeldRequest[]> {
  const { id: permission } = await makePermission(admin);
  const on = async (make: (id: string) => RequestSpec): Promise<HeldRequest> => {
    const { id } = await makePermissionGroup(admin);
    return heldByRow('permission_groups', id, make(id));
  };
  return [
    await on((id) => post('permissions', { name: newName(), group_id: id })),
    heldByRow('permissions', permission, remove(`permissions/${permission}`)),
    await on((id) => post('permission-groups', { name: newName(), parent_id: id })),
    await on((id) => put(`permission-groups/${id}`, { name: newName() })),
    await on((id) => remove(`permission-groups/${id}`)),
  ];
}

const crud = (...names: string[]): string[] =>
  names.flatMap((name) => ['create', 'update', 'delete'].map((action) => `${name}.${action}`));
const batches: Record<string, [() => Promise<HeldRequest[]>, string[]]> = {
  'of users': [onUsers, ['user.update', ...crud('users')]],
  'of roles, or that makes a user': [onRoles, ['users.create', ...crud('role')]],
  'of role groups': [onRoleGroups, crud('role_group')],
  'of permissions and their groups': [
    onPermissions,
    ['permission.create', 'permission.delete', ...crud('permission_group')],
  ],
};

// An instance runs four changes of one user at once, so two instances run eight. More would wait in the process, where
// no lock shows them.
const AT_ONCE = 8;
const shares = Object.entries(batches).flatMap(([what, [prepare, permissions]]) =>
  [0, AT_ONCE].map((from) => [what, prepare, permissions, from] as const),
);

async function begin(...statements: string[]): Promise<{ client: pg.Client; release(): Promise<void> }> {
  const client = new pg.Client(service.databaseUrl);
  await client.connect();
  await client.query('begin');
  for (const one of statements) await client.query(one);
  return { client, release: () => client.end() };
}

const waiting = (count: number) =>
  eventually(async () => {
    const rows = await service.sql(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length === count || undefined;
  }, `${count} sessions to wait for a lock`);

/** A job that runs each minute marks and removes the rows of sessions that ended. */
const liveSessions = `
  select s.id from sessions s join users u on u.id = s.user_id
  where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) order by s.id`;

/** Returns every row that an administrator can change, and the live sessions. */
async function readAll(): Promise<unknown> {
  const tables = ['users', 'user_roles', 'roles', 'role_permissions', 'role_groups', 'role_group_roles'];
  const more = ['permissions', 'permission_groups', 'login_attempts', 'password_history'];
  const rows = [...tables, ...more].map((table) =>
    service.sql(`select '${table}' as table, t::text from ${table} t order by t::text`),
  );
  return Promise.all([...rows, service.sql(liveSessions)]);
}

async function assertRefused(answers: readonly Answer[], [status, code]: Loss['refusal'], email: string) {
  for (const answer of answers) {
    assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text);
    const events = (await eventsOf(service, answer)).map(({ action, details }) => [action, details.email]);
    assert.deepEqual(events, status === 403 ? [['permission_denied', email]] : [], idOf(answer));
  }
  return answers.length * 2;
}

for (const [loss, { isSuperuser, apply, refusal }] of Object.entries(losses))
  scenario(`no write that waited is done for an administrator who by then ${loss}`, async (tally) => {
    for (const [what, prepare, permissions, from] of shares)
      for (let round = 0; round < rounds(1, 4); round += 1) {
        const holder = await addHolder('last', isSuperuser ? null : permissions);
        const held = (await prepare()).slice(from, from + AT_ONCE);
        if (held.length === 0) continue;
        const lock = await begin(...held.map(({ hold }) => hold));
        const requests = held.map(({ request }) => ({ ...request, as: holder.client }));
        const answers = sendAtOnce(pair, tally, round, requests);
        let expected: unknown;
        try {
          await waiting(requests.length);
          const [applied] = await sendAtOnce(pair, tally, round, [await apply(holder, permissions)]);
          assert.equal(applied?.status, 200, applied?.text);
          expected = await readAll();
        } finally {
          await lock.release();
        }
        tally.held(await assertRefused(await answers, refusal, holder.email));
        assert.deepEqual(await readAll(), expected, what);
        tally.held();
      }
    await assertInOrder(pair, tally);
  });

scenario(
  'a superuser who is demoted while a password is hashed can neither appoint a superuser nor set that password',
  async (tally) => {
    for (let round = 0; round < rounds(1, 20); round += 1) {
      // Without `is_superuser`, the role still permits the change of a user.
      const holder = await addHolder('last', ['users.update']);
      await service.sql('update users set is_superuser = true where id = $1', [holder.id]);
      const user = await addUserAt('first');
      const row = `select from users where id = '${user.id}' for update`;
      const first = await begin(row);
      const request = put(`users/${user.id}`, { is_superuser: true, password: NEW_PASSWORD });
      const answer = sendAtOnce(pair, tally, round, [{ ...request, as: holder.client }]);
      await waiting(1);
      // The request gets the row lock first: it reads the row before it hashes. Then the second transaction gets it.
      const second = await begin();
      const granted = second.client.query(row);
      await waiting(2);
      await first.release();
      await granted;
      // The password is hashed, and the request waits for the row again. Demoted earlier, the caller would be refused there.
      await waiting(1);
      const [demoted] = await sendAtOnce(pair, tally, round, [
        put(`users/${holder.id}`, { is_superuser: false }),
      ]);
      assert.equal(demoted?.status, 200, demoted?.text);
      await second.release();
      const [refused] = await answer;
      assert.deepEqual([refused?.status, refused?.body.code], [403, 'superuser_required'], refused?.text);
      assert.deepEqual(await service.sql('select is_superuser from users where id = $1', [user.id]), [
        { is_superuser: false },
      ]);
      await signIn(service, { email: user.email, password: PASSWORD });
      tally.held(3);
    }
    await assertInOrder(pair, tally);
  },
);

scenario(
  'a caller keeps their permissions until a running change of a user is done, and loses them afterwards',
  async (tally) => {
    for (const loss of ['is no longer a superuser', 'is deactivated', 'has lost all roles'] as const)
      for (let round = 0; round < rounds(1, 10); round += 1) {
        const { isSuperuser, apply } = losses[loss] as Loss;
        const holder = await addHolder('first', isSuperuser ? null : ['users.update']);
        const user = await addUserAt('last');
        const lock = await begin(`select from users where id = '${user.id}' for update`);
        const request = { ...put(`users/${user.id}`, { first_name: 'Grace' }), as: holder.client };
        const done = sendAtOnce(pair, tally, round, [request]);
        await waiting(1);
        const applied = sendAtOnce(pair, tally, round, [await apply(holder, [])]);
        await waiting(2);
        await lock.release();
        const answers = [...(await done), ...(await applied)];
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200],
        );
        const [late] = await sendAtOnce(pair, tally, round, [request]);
        assert.ok(late?.status === 401 || late?.status === 403, late?.text);
        tally.held(2);
      }
    await assertInOrder(pair, tally);
  },
);

scenario(
  'of two superusers who demote, deactivate or delete each other at once, one is left',
  async (tally) => {
    const changes: ((id: string) => RequestSpec)[] = [
      (id) => put(`users/${id}`, { is_superuser: false }),
      (id) => put(`users/${id}`, { is_active: false }),
      (id) => put('users/bulk-update', { user_ids: [id], updates: { is_superuser: false } }),
      (id) => remove(`users/${id}`),
    ];
    for (let round = 0; round < rounds(1, 60); round += 1) {
      const [one, other] = await Promise.all([addHolder('last', null), addHolder('first', null)]);
      const changeOf = (index: number) => changes[index % changes.length] as (id: string) => RequestSpec;
      const answers = await sendAtOnce(pair, tally, round, [
        ...times(2, (index) => ({ ...changeOf(round + index)(other.id), as: one.client })),
        ...times(2, (index) => ({ ...changeOf(round + 2 + index)(one.id), as: other.client })),
      ]);
      const has = (from: number) => answers.slice(from, from + 2).some(({ status }) => status === 200);
      assert.ok(has(0) !== has(2), answers.map(({ status, text }) => `${status} ${text}`).join('\n'));
      tally.held();
    }
    await assertInOrder(pair, tally);
  },
);

scenario('none of these races causes a deadlock', async (tally) => {
  tally.tried();
  assert.equal(await countDeadlocks(pair), 0);
  tally.held();
});
