// What deserves attention: each count is exact, except of very many users, and its list shows exactly the counted records.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { type AttentionCode, type AttentionItem, attentionCodes } from '@castellan/contract/dashboard';
import { ADMIN, eventually, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { assertSound } from '@castellan/testing/invariants';
import { plansOf } from '@castellan/testing/plans';
import { makePermission, makePermissionGroup } from '@castellan/testing/records/fixture';
import { addAppUser } from '@castellan/testing/second-factors/app';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, addRole, roleNamed, signedInWith } from '@castellan/testing/users/people';
import { renewRoleHolders } from '../../src/modules/users/role-holders-store.ts';
import { removeUnverifiedAccounts } from '../../src/modules/users/service.ts';

const ATTENTION = '/api/v1/dashboard/attention';
const HOURS = 72;
const service = await startTestService({ after }, { UNVERIFIED_ACCOUNT_CLEANUP_HOURS: String(HOURS) });
const admin = await signIn(service, ADMIN);

async function attention(client = admin): Promise<AttentionItem[]> {
  const answer = await client.get(ATTENTION);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data.items;
}

/** Returns the ids of the list of an item, after checking that the list is as long as the item says. */
async function listed(code: AttentionCode, client = admin): Promise<string[]> {
  const item = (await attention(client)).find((one) => one.code === code);
  assert.ok(item);
  const { path, resource, query } = item.filter;
  assert.equal(path, `${resource}?${new URLSearchParams(query)}`);
  const { status, text, body } = await client.get(`${path}&size=100`);
  assert.equal(status, 200, text);
  const { total } = body.pagination ?? body.data;
  assert.equal(item.count, total, code);
  return (body.data.items ?? body.data).map(({ id }: { id: string }) => id);
}

async function assertListed(code: AttentionCode, expected: string[], among: string[]): Promise<void> {
  const ids = await listed(code);
  assert.deepEqual(ids.filter((id) => among.includes(id)).sort(), expected.toSorted(), code);
}

const lock = (email: string, until: string) =>
  service.sql(
    `insert into login_attempts (email, failures, locked_until) values ($1, 5, now() + $2::interval)`,
    [email, until],
  );

const register = async (of: TestService, hoursAgo: number, state = {}): Promise<string> => {
  const { id } = await addPerson(of, { verified: false, ...state });
  await of.sql(
    'update users set pending_registration = true, created_at = now() - make_interval(secs => $2) where id = $1',
    [id, hoursAgo * 3_600],
  );
  return id;
};

const WITHOUT_FACTOR = 'users_without_required_factor';

test('only administrators read it, and it has every item in a fixed order, those without a record included', async () => {
  const holder = await addPerson(service, { roles: [await roleNamed(service, 'Admin')] });
  const items = await attention(await signIn(service, holder));
  assert.deepEqual(
    items.map(({ code }) => code),
    attentionCodes.filter((code) => code !== WITHOUT_FACTOR),
  );
  for (const { count } of items) assert.ok(Number.isInteger(count) && count >= 0);
  const { client } = await signedInWith(service, 'users.read', 'user.read', 'role.read');
  assertRefused(await client.get(ATTENTION), 403, 'admin_required');
  assertRefused(await service.client().get(ATTENTION), 401, 'token_missing');
});

test('locked users: not those whose lock has passed, inactive ones, or emails without an account', async () => {
  const [locked, passed, inactive] = [
    await addPerson(service),
    await addPerson(service),
    await addPerson(service, { active: false }),
  ];
  await lock(locked.email, '10 minutes');
  await lock(passed.email, '-1 minute');
  await lock(inactive.email, '10 minutes');
  await lock('no-account@example.com', '10 minutes');
  await assertListed('locked_users', [locked.id], [locked.id, passed.id, inactive.id]);
});

test('unverified users near their removal: registered ones within 24 hours of the clean-up, and those it is about to remove', async () => {
  const near = await register(service, HOURS - 23);
  const late = await register(service, HOURS + 1);
  const rest = [
    await register(service, HOURS - 25),
    await register(service, HOURS - 1, { active: false }),
    await register(service, HOURS - 1, { superuser: true }),
    (await addPerson(service, { verified: false })).id,
    await register(service, HOURS - 1, { verified: true }),
  ];
  await assertListed('unverified_users_near_removal', [near, late], [near, late, ...rest]);
  const all = [near, late, rest[0] as string];
  const within = async (hours: number) =>
    (await admin.get(`/api/v1/users?removal_within_hours=${hours}&size=100`)).body.data.items
      .map(({ id }: { id: string }) => id)
      .filter((id: string) => all.includes(id));
  assert.deepEqual((await within(1)).length, 1);
  assert.deepEqual((await within(8_760)).length, 3);
  await removeUnverifiedAccounts(service.service.deps, HOURS);
  await assertListed('unverified_users_near_removal', [near], [near, late, ...rest]);
  for (const hours of ['0', '8761', '1.5', 'x'])
    assertRefused(await admin.get(`/api/v1/users?removal_within_hours=${hours}`), 422, 'validation_failed');
});

test('if accounts are removed within a day, every one that waits is near its removal', async (t) => {
  const quick = await startTestService(t, { UNVERIFIED_ACCOUNT_CLEANUP_HOURS: '2' });
  const id = await register(quick, 0);
  assert.deepEqual(await listed('unverified_users_near_removal', await signIn(quick, ADMIN)), [id]);
});

test('users without roles are counted exactly through creation, assignment and deletion', async () => {
  const role = await addRole(service);
  const [without, withRole, gone] = [
    await addPerson(service),
    await addPerson(service, { roles: [role, await addRole(service)] }),
    await addPerson(service),
  ];
  const among = [without.id, withRole.id, gone.id];
  await assertListed('users_without_roles', [without.id, gone.id], among);
  await admin.post(`/api/v1/users/${without.id}/roles`, [role]);
  await admin.post(`/api/v1/users/${withRole.id}/roles`, []);
  await admin.delete(`/api/v1/users/${gone.id}`);
  await assertListed('users_without_roles', [withRole.id], among);
});

test('the kept number of users with roles stays exact, whatever writes', async () => {
  const { db } = service.service.deps;
  const [one, other] = [await addRole(service), await addRole(service)];
  const people = [
    await addPerson(service, { roles: [one, other] }),
    await addPerson(service, { roles: [one] }),
    await addPerson(service),
  ];
  const ids = people.map(({ id }) => id);
  /** Returns the number of users with roles, after checking that all kept numbers are right. */
  const count = async (): Promise<number> => {
    await assertSound(service);
    const [row] = await service.sql<{ kept: number; is_wrong: boolean }>(
      `select sum(change) filter (where role_id is null)::integer as kept, bool_or(change is null) as is_wrong
       from role_holder_changes`,
    );
    assert.equal(row?.is_wrong, false);
    return row?.kept ?? 0;
  };
  const holdersOf = async (role: string): Promise<number> => {
    const { body } = await admin.get(`/api/v1/roles/${role}/holders`);
    assert.equal(body.total, body.data.length);
    return body.total;
  };
  await renewRoleHolders(db);
  const before = await count();

  const assign =
    'insert into user_roles (user_id, role_id) select unnest($1::uuid[]), $2 on conflict do nothing';
  await service.sql(assign, [ids, one]);
  assert.equal(await count(), before + 1);
  await service.sql(assign, [ids, other]);
  assert.equal(await count(), before + 1);
  // Each transaction removes one of the two roles and commits when the other one has begun or is waiting.
  const remove = (role: string) =>
    service.sql('delete from user_roles where role_id = $1 and user_id = any($2)', [role, ids]);
  const { pool } = service.service.deps;
  const holding = await pool.connect();
  try {
    await holding.query('begin');
    await holding.query('delete from user_roles where role_id = $1 and user_id = any($2)', [one, ids]);
    const second = remove(other);
    await eventually(
      async () =>
        (
          await service.sql(
            `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
          )
        ).length > 0 || undefined,
      'the second transaction waits',
    );
    await holding.query('commit');
    await second;
  } finally {
    holding.release();
  }
  assert.equal(await count(), before - 2);

  await service.sql(
    'insert into role_holder_changes (role_id, change) select $1, 0 from generate_series(1, 2100)',
    [other],
  );
  await renewRoleHolders(db);
  assert.ok((await service.sql('select from role_holder_changes')).length < 100);
  assert.equal(await count(), before - 2);
  // An update is not followed, so the number is asked for again. Until then, the dashboard counts.
  await service.sql(assign, [[ids[0]], one]);
  await service.sql('update user_roles set user_id = $1 where user_id = $2', [ids[2], ids[0]]);
  assert.equal((await service.sql('select from role_holder_changes where change is null')).length, 1);
  await assertListed('users_without_roles', ids.slice(0, 2), ids);
  await renewRoleHolders(db);
  assert.equal(await count(), before - 1);
  await assertListed('users_without_roles', ids.slice(0, 2), ids);
  assert.deepEqual([await holdersOf(one), await holdersOf(other)], [1, 0]);
});

test('permissions in no role: those of the product, whatever system roles have', async () => {
  const group = await makePermissionGroup(admin, { name: 'gazette' });
  const [granted, loose] = [
    await makePermission(admin, { group_id: group.id, name: 'print' }),
    await makePermission(admin, { group_id: group.id, name: 'burn' }),
  ];
  await addRole(service, 'gazette.print');
  await assertListed('permissions_without_roles', [loose.id], [granted.id, loose.id]);
  const names = async (query: string): Promise<string[]> =>
    (await admin.get(`/api/v1/permissions?size=100&${query}`)).body.data.map(
      ({ name }: { name: string }) => name,
    );
  assert.ok((await names('roles=none')).includes('audit_log.read'));
  assert.ok(!(await names('roles=none')).includes('role.read'), 'Manager has it');
  assert.ok((await names('is_builtin=true')).includes('audit_log.read'));
  assert.ok(!(await names('is_builtin=true')).includes('gazette.burn'));
  assert.deepEqual(await names(`group_id=${group.id}&is_builtin=false`), ['gazette.burn', 'gazette.print']);
  assertRefused(await admin.get('/api/v1/permissions?roles=some'), 422, 'validation_failed');
});

test('roles without holders and roles without permissions; a service account is a holder too', async () => {
  const [empty, held, ofService] = [
    await addRole(service),
    await addRole(service, 'role.read'),
    await addRole(service, 'role.read'),
  ];
  const among = [empty, held, ofService];
  await assertListed('roles_without_holders', among, among);
  await assertListed('roles_without_permissions', [empty], among);
  await addPerson(service, { roles: [held] });
  const account = randomUUID();
  await service.sql('insert into service_accounts (id, name) values ($1, $2)', [account, `Robot ${account}`]);
  await service.sql('insert into service_account_roles (service_account_id, role_id) values ($1, $2)', [
    account,
    ofService,
  ]);
  await assertListed('roles_without_holders', [empty], among);
  const both = await admin.get('/api/v1/roles?holders=none&permissions=none&size=100&name_pattern=role*');
  assert.deepEqual(
    both.body.data.map(({ id }: { id: string }) => id).filter((id: string) => among.includes(id)),
    [empty],
  );
  for (const query of ['holders=some', 'permissions=all'])
    assertRefused(await admin.get(`/api/v1/roles?${query}`), 422, 'validation_failed');
});

test('active users without a required factor are counted while something is required, also before its date', async (t) => {
  const required = async (acr: 'aal2' | 'phr', date: string): Promise<string> => {
    const role = await addRole(service);
    await service.sql(
      'update roles set required_acr = $2, enforced_from = now() + $3::interval where id = $1',
      [role, acr, date],
    );
    return role;
  };
  assert.ok(!(await attention()).some(({ code }) => code === WITHOUT_FACTOR), 'nothing is required');
  const [announced, phishingResistant] = [await required('aal2', '14 days'), await required('phr', '-1 day')];
  t.after(() => service.sql('update roles set required_acr = null, enforced_from = null'));
  const withApp = await addAppUser(service);
  for (const role of [announced, phishingResistant])
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [withApp.id, role]);
  const [lacking, ofBoth, inactive, free] = [
    await addPerson(service, { roles: [announced] }),
    await addPerson(service, { roles: [announced, phishingResistant] }),
    await addPerson(service, { roles: [announced], active: false }),
    await addPerson(service),
  ];
  const among = [withApp, lacking, ofBoth, inactive, free].map(({ id }) => id);
  await assertListed(WITHOUT_FACTOR, [withApp.id, lacking.id, ofBoth.id], among);
  await service.sql('delete from user_roles where role_id = $1', [phishingResistant]);
  await assertListed(WITHOUT_FACTOR, [lacking.id, ofBoth.id], among);
});

for (const requiredFor of ['superusers', 'administrators', 'everyone'])
  test(`users without the factor that the settings require of ${requiredFor} are counted`, async (t) => {
    const strict = await startTestService(t, {
      SECOND_FACTOR_REQUIRED_FOR: requiredFor,
      SECOND_FACTOR_ENFORCED_FROM: '2100-01-01T00:00:00Z',
    });
    const person = await addPerson(strict);
    const manager = await addPerson(strict, { roles: [await addRole(strict, 'role.read')] });
    const superuser = await addPerson(strict, { superuser: true });
    const ids = await listed(WITHOUT_FACTOR, await signIn(strict, ADMIN));
    const found = [person, manager, superuser].map(({ id }) => ids.includes(id));
    const isFor = (...concerned: string[]): boolean => concerned.includes(requiredFor);
    assert.deepEqual(found, [isFor('everyone'), isFor('administrators', 'everyone'), true]);
  });

test('every count is that of its list', async () => {
  for (const { code } of await attention()) await listed(code);
});

test('what only roles and permissions determine is counted again after a change at any instance, and not before', async () => {
  const other = await service.another();
  const visitor = await signIn(other, ADMIN);
  const unused = async (client = admin) =>
    (await attention(client)).filter(({ code }) =>
      /^(permissions|roles)_without_(roles|permissions)$/.test(code),
    );
  const tables = async (): Promise<(string | undefined)[]> =>
    (await plansOf(service, () => admin.get(ATTENTION))).flatMap(({ steps }) =>
      steps.map(({ table }) => table),
    );
  await unused();
  assert.ok(!(await tables()).includes('role_permissions'));
  const before = await unused();
  assert.deepEqual(await unused(visitor), before);
  const permission = await makePermission(visitor);
  await addRole(service);
  const after = await unused();
  assert.deepEqual(
    after.map(({ count }, index) => count - (before[index]?.count ?? 0)),
    [1, 1],
  );
  assert.equal((await visitor.delete(`/api/v1/permissions/${permission.id}`)).status, 200);
  assert.deepEqual(
    (await unused()).map(({ count }, index) => count - (before[index]?.count ?? 0)),
    [0, 1],
  );
});

test('requests at the same time after a change count once what roles and permissions alone decide', async () => {
  await makePermission(admin);
  const statements = await statementsOf(() => Promise.all(Array.from({ length: 5 }, () => attention())));
  assert.equal(statements.filter((text) => text.includes('roles_without_permissions')).length, 1);
});

test('more than 1,000 locked users are shown as at least so many', async () => {
  const lockedUsers = async () => (await attention()).find(({ code }) => code === 'locked_users');
  const before = (await lockedUsers())?.count ?? 0;
  const lockMany = (count: number) =>
    service.sql(
      `with made as (
         insert into users (id, email, first_name, last_name)
         select id, id || '@locked.example', 'Ada', 'Lovelace'
         from (select gen_random_uuid() as id from generate_series(1, $1::integer)) made returning email)
       insert into login_attempts (email, failures, locked_until)
       select email, 5, now() + interval '1 hour' from made`,
      [count],
    );
  await lockMany(1_000 - before);
  const most = await lockedUsers();
  assert.deepEqual([most?.count, most?.count_is_estimate], [1_000, undefined]);
  await lockMany(2);
  const more = await lockedUsers();
  assert.deepEqual([more?.count, more?.count_is_estimate], [1_000, true]);
});

test('more than 1,000 users without a required factor are shown as at least so many', async (t) => {
  const strict = await startTestService(t, {
    SECOND_FACTOR_REQUIRED_FOR: 'everyone',
    SECOND_FACTOR_ENFORCED_FROM: '2100-01-01T00:00:00Z',
  });
  await strict.sql(
    `insert into users (id, email, first_name, last_name)
     select id, id || '@many.example', 'Ada', 'Lovelace' from (select gen_random_uuid() as id from generate_series(1, 1001)) made`,
  );
  const items = await attention(await signIn(strict, ADMIN));
  const { count, count_is_estimate: isEstimate } = items.find(({ code }) => code === WITHOUT_FACTOR) ?? {};
  assert.deepEqual([count, isEstimate], [1_000, true]);
});
