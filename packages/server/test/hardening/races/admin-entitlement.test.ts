// Administrators who lose their standing while a write of theirs waits or hashes: what was acknowledged decides.
// It must not judge how long anybody waits.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import pg from 'pg';
import type { Answer, TestClient } from '../../client.ts';
import { eventually, PASSWORD, signIn } from '../../harness.ts';
import {
  makePermission,
  makePermissionGroup,
  makeRole,
  makeRoleGroup,
  newName,
  permissionId,
} from '../../records/fixture.ts';
import { addPerson, addRole, eventsOf, type Person } from '../../users/people.ts';
import { openPair } from '../fixture.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  assertInOrder,
  countDeadlocks,
  type Deed,
  fire,
  idOf,
  type Office,
  post,
  put,
  remove,
  times,
} from './admin-office.ts';

const scenario = scenariosOf('races');
// Every deed of a batch waits on a connection of its own, and whoever acts meanwhile needs one as well.
const office: Office = await openPair({ after }, { DATABASE_POOL_SIZE: '14' });
const { service, admin } = office;
const PASSED_ON = 'Brisk!Walnut73Harbour';

/** Rows of users are locked in the order of ids: whoever comes last is not locked while another's row is waited for. */
async function addPlaced(place: 'first' | 'last', state: Parameters<typeof addPerson>[1] = {}) {
  const { roles = [], ...rest } = state;
  const person = await addPerson(service, rest);
  const id = `${place === 'first' ? '00000000' : 'ffffffff'}${person.id.slice(8)}`;
  await service.sql('update users set id = $2 where id = $1', [person.id, id]);
  for (const role of roles)
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [id, role]);
  return { ...person, id };
}

type Holder = Person & { client: TestClient; roleId: string };

/** A superuser without roles, or a holder of all these permissions by one role; with his CSRF token. */
async function appoint(place: 'first' | 'last', permissions: readonly string[] | null): Promise<Holder> {
  const roleId = permissions ? await addRole(service, ...permissions) : '';
  const person = await addPlaced(place, permissions ? { roles: [roleId] } : { superuser: true });
  const client = await signIn(service, person);
  await client.prepare('POST');
  return { ...person, client, roleId };
}

type Fate = {
  isSuperuser?: boolean;
  befall(holder: Holder, permissions: readonly string[]): Promise<Deed> | Deed;
  refusal: [number, string];
};
const gone: Fate['refusal'] = [401, 'token_revoked'];
const denied: Fate['refusal'] = [403, 'permission_denied'];

const fates: Record<string, Fate> = {
  'is no superuser any more': {
    isSuperuser: true,
    befall: ({ id }) => put(`users/${id}`, { is_superuser: false }),
    refusal: denied,
  },
  'has lost all roles': { befall: ({ id }) => post(`users/${id}/roles`, []), refusal: denied },
  'has lost the permissions of his role': {
    befall: async ({ roleId }, permissions) =>
      remove(
        `roles/${roleId}/permissions`,
        await Promise.all(permissions.map((one) => permissionId(service, one))),
      ),
    refusal: denied,
  },
  'is deactivated': { befall: ({ id }) => put(`users/${id}`, { is_active: false }), refusal: gone },
  'is deactivated and without roles': {
    befall: ({ id }) => put(`users/${id}`, { is_active: false, role_id: [] }),
    refusal: gone,
  },
  'is deleted': { isSuperuser: true, befall: ({ id }) => remove(`users/${id}`), refusal: gone },
};

/** A request, and the statement that makes it wait where another transaction has sent it first. */
type Held = { deed: Deed; hold: string };
const holding = (table: string, id: string, deed: Deed): Held => ({
  deed,
  hold: `select from ${table} where id = '${id}' for update`,
});

async function onUsers(): Promise<Held[]> {
  const role = await addRole(service);
  const on = async (state: Parameters<typeof addPerson>[1], make: (user: Person) => Deed): Promise<Held> => {
    const user = await addPlaced('first', state);
    return holding('users', user.id, make(user));
  };
  const seated = await addPlaced('first');
  await signIn(service, seated);
  const [session] = await service.sql<{ id: string }>('select id from sessions where user_id = $1', [
    seated.id,
  ]);
  const locked = await addPlaced('first');
  await service.sql(
    "insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + interval '1 hour')",
    [locked.email],
  );
  return [
    await on({}, ({ id }) => put(`users/${id}`, { first_name: 'Grace' })),
    await on({}, ({ id }) => put(`users/${id}`, { verified: false, password: PASSED_ON })),
    await on({}, ({ id }) => put('users/bulk-update', { user_ids: [id], updates: { is_active: false } })),
    await on({}, ({ id }) => remove(`users/${id}`)),
    await on({}, ({ id }) => post(`users/${id}/roles`, [role])),
    await on({ roles: [role] }, ({ id }) => remove(`users/${id}/roles`, [role])),
    holding('users', seated.id, remove(`users/${seated.id}/sessions/${session?.id}`)),
    await on({}, ({ id }) => remove(`users/${id}/sessions`)),
    holding('users', locked.id, post(`users/${locked.id}/unlock`)),
    await on({ verified: false }, ({ id }) => post(`users/${id}/resend-verification`)),
  ];
}

async function onRoles(): Promise<Held[]> {
  const { id: permission } = await makePermission(admin);
  const on = async (fields: object, make: (id: string) => Deed): Promise<Held> => {
    const { id } = await makeRole(admin, fields);
    return holding('roles', id, make(id));
  };
  const person = { email: `${newName('made')}@example.com`, password: PASSED_ON, first_name: 'Ada' };
  return [
    // Whoever makes a user with roles waits for the roles, once the password is hashed.
    await on({}, (id) => post('users', { ...person, last_name: 'Lovelace', role_id: [id] })),
    holding('permissions', permission, post('roles', { name: newName(), permission_ids: [permission] })),
    await on({}, (id) => put(`roles/${id}`, { description: 'changed' })),
    await on({ permission_ids: [permission] }, (id) => put(`roles/${id}`, { permission_ids: [] })),
    await on({}, (id) => post(`roles/${id}/permissions`, [])),
    await on({ permission_ids: [permission] }, (id) => remove(`roles/${id}/permissions`, [permission])),
    await on({}, (id) => remove(`roles/${id}`)),
  ];
}

async function onRoleGroups(): Promise<Held[]> {
  const role = await makeRole(admin);
  const on = async (make: (id: string) => Deed): Promise<Held> => {
    const { id } = await makeRoleGroup(admin);
    return holding('role_groups', id, make(id));
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
      deed: post('role-groups/sync-roles'),
      hold: "select pg_advisory_xact_lock(hashtextextended('role_groups', 0))",
    },
  ];
}

async function onPermissions(): Promise<Held[]> {
  const { id: permission } = await makePermission(admin);
  const on = async (make: (id: string) => Deed): Promise<Held> => {
    const { id } = await makePermissionGroup(admin);
    return holding('permission_groups', id, make(id));
  };
  return [
    await on((id) => post('permissions', { name: newName(), group_id: id })),
    holding('permissions', permission, remove(`permissions/${permission}`)),
    await on((id) => post('permission-groups', { name: newName(), parent_id: id })),
    await on((id) => put(`permission-groups/${id}`, { name: newName() })),
    await on((id) => remove(`permission-groups/${id}`)),
  ];
}

const crud = (...names: string[]): string[] =>
  names.flatMap((name) => ['create', 'update', 'delete'].map((action) => `${name}.${action}`));
const batches: Record<string, [() => Promise<Held[]>, string[]]> = {
  'of users': [onUsers, ['user.update', ...crud('users')]],
  'of roles, or that makes a user': [onRoles, ['users.create', ...crud('role')]],
  'of role groups': [onRoleGroups, crud('role_group')],
  'of permissions and their groups': [
    onPermissions,
    ['permission.create', 'permission.delete', ...crud('permission_group')],
  ],
};

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
  }, `${count} that wait`);

/** All that administration changes. */
async function readAll(): Promise<unknown> {
  const tables = ['users', 'user_roles', 'roles', 'role_permissions', 'role_groups', 'role_group_roles'];
  const more = ['permissions', 'permission_groups', 'login_attempts', 'password_history'];
  const rows = [...tables, ...more].map((table) =>
    service.sql(`select '${table}' as table, t::text from ${table} t order by t::text`),
  );
  return Promise.all([...rows, service.sql('select id, revoked_at from sessions order by id')]);
}

async function assertRefused(answers: readonly Answer[], [status, code]: Fate['refusal'], email: string) {
  for (const answer of answers) {
    assert.deepEqual([answer.status, answer.body.code], [status, code], answer.text);
    const events = (await eventsOf(service, answer)).map(({ action, details }) => [action, details.email]);
    assert.deepEqual(events, status === 403 ? [['permission_denied', email]] : [], idOf(answer));
  }
  return answers.length * 2;
}

for (const [fate, { isSuperuser, befall, refusal }] of Object.entries(fates))
  scenario(`no write that waited is done for an administrator who meanwhile ${fate}`, async (tally) => {
    for (const [what, [prepare, permissions]] of Object.entries(batches))
      for (let round = 0; round < rounds(1, 4); round += 1) {
        const holder = await appoint('last', isSuperuser ? null : permissions);
        const held = await prepare();
        const lock = await begin(...held.map(({ hold }) => hold));
        const deeds = held.map(({ deed }) => ({ ...deed, as: holder.client }));
        const answers = fire(office, tally, round, deeds);
        let present: unknown;
        try {
          await waiting(deeds.length);
          const [befallen] = await fire(office, tally, round, [await befall(holder, permissions)]);
          assert.equal(befallen?.status, 200, befallen?.text);
          present = await readAll();
        } finally {
          await lock.release();
        }
        tally.held(await assertRefused(await answers, refusal, holder.email));
        assert.deepEqual(await readAll(), present, what);
        tally.held();
      }
    await assertInOrder(office, tally);
  });

scenario(
  'nobody becomes a superuser, or gets a password, by one who was demoted while the password was hashed',
  async (tally) => {
    for (let round = 0; round < rounds(4, 20); round += 1) {
      // His role lets him change users all the same.
      const holder = await appoint('last', ['users.update']);
      await service.sql('update users set is_superuser = true where id = $1', [holder.id]);
      const user = await addPlaced('first');
      const row = `select from users where id = '${user.id}' for update`;
      const first = await begin(row);
      const deed = put(`users/${user.id}`, { is_superuser: true, password: PASSED_ON });
      const answer = fire(office, tally, round, [{ ...deed, as: holder.client }]);
      await waiting(1);
      // The row goes to the request, which looks at it before it hashes, then to the second one.
      const second = await begin();
      const granted = second.client.query(row);
      await waiting(2);
      await first.release();
      await granted;
      const [demoted] = await fire(office, tally, round, [
        put(`users/${holder.id}`, { is_superuser: false }),
      ]);
      assert.equal(demoted?.status, 200, demoted?.text);
      await waiting(1);
      await second.release();
      const [refused] = await answer;
      assert.deepEqual([refused?.status, refused?.body.code], [403, 'superuser_required'], refused?.text);
      assert.deepEqual(await service.sql('select is_superuser from users where id = $1', [user.id]), [
        { is_superuser: false },
      ]);
      await signIn(service, { email: user.email, password: PASSWORD });
      tally.held(3);
    }
    await assertInOrder(office, tally);
  },
);

scenario(
  'who is under way to change a user keeps his standing until it is done, and loses it after',
  async (tally) => {
    for (const fate of ['is no superuser any more', 'is deactivated', 'has lost all roles'] as const)
      for (let round = 0; round < rounds(2, 10); round += 1) {
        const { isSuperuser, befall } = fates[fate] as Fate;
        const holder = await appoint('first', isSuperuser ? null : ['users.update']);
        const user = await addPlaced('last');
        const lock = await begin(`select from users where id = '${user.id}' for update`);
        const deed = { ...put(`users/${user.id}`, { first_name: 'Grace' }), as: holder.client };
        const done = fire(office, tally, round, [deed]);
        await waiting(1);
        const befallen = fire(office, tally, round, [await befall(holder, [])]);
        await waiting(2);
        await lock.release();
        const answers = [...(await done), ...(await befallen)];
        assert.deepEqual(
          answers.map(({ status }) => status),
          [200, 200],
        );
        const [late] = await fire(office, tally, round, [deed]);
        assert.ok(late?.status === 401 || late?.status === 403, late?.text);
        tally.held(2);
      }
    await assertInOrder(office, tally);
  },
);

scenario(
  'of two superusers who demote, deactivate or delete each other at once one is left',
  async (tally) => {
    const ways: ((id: string) => Deed)[] = [
      (id) => put(`users/${id}`, { is_superuser: false }),
      (id) => put(`users/${id}`, { is_active: false }),
      (id) => put('users/bulk-update', { user_ids: [id], updates: { is_superuser: false } }),
      (id) => remove(`users/${id}`),
    ];
    for (let round = 0; round < rounds(8, 60); round += 1) {
      const [one, other] = await Promise.all([appoint('last', null), appoint('first', null)]);
      const way = (index: number) => ways[index % ways.length] as (id: string) => Deed;
      const answers = await fire(office, tally, round, [
        ...times(2, (index) => ({ ...way(round + index)(other.id), as: one.client })),
        ...times(2, (index) => ({ ...way(round + 2 + index)(one.id), as: other.client })),
      ]);
      const has = (from: number) => answers.slice(from, from + 2).some(({ status }) => status === 200);
      assert.ok(has(0) !== has(2), answers.map(({ status, text }) => `${status} ${text}`).join('\n'));
      tally.held();
    }
    await assertInOrder(office, tally);
  },
);

scenario('none of this costs a transaction that PostgreSQL has to sacrifice', async (tally) => {
  tally.tried();
  assert.equal(await countDeadlocks(office), 0);
  tally.held();
});
