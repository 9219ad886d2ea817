// `castellan demo`: a made-up company in an empty database, which the running service shows, and nothing in any other.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import {
  ADMIN,
  eventually,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '@castellan/testing/harness';
import { assertCap, assertListed, assertSound } from '@castellan/testing/invariants';
import { addPerson } from '@castellan/testing/users/people';
import { castellan, launch, type Outcome } from './castellan.ts';

const environmentOf = ({ databaseUrl }: TestService): Record<string, string> => ({
  DATABASE_URL: databaseUrl,
  SECRET_KEY: TEST_SECRET_KEY,
});

const demo = (service: TestService, ...args: string[]): Promise<Outcome> =>
  castellan(['demo', ...args], environmentOf(service));

async function filled(t: TestContext, ...args: string[]): Promise<TestService> {
  const service = await startTestService(t);
  const { code, err } = await demo(service, '--yes', ...args);
  assert.deepEqual([code, err], [0, '']);
  return service;
}

async function countOf(service: TestService, from: string): Promise<number> {
  const [row] = await service.sql<{ count: number }>(`select count(*)::integer as count from ${from}`);
  return row?.count ?? -1;
}

/** Asserts that what triggers count is what the tables hold. */
async function assertCounted(service: TestService, people: number): Promise<void> {
  await assertSound(service);
  await assertCap(service, 5);
  assert.deepEqual(
    await service.sql('select sum(total)::integer as total, sum(active)::integer as active from user_counts'),
    [{ total: people + 1, active: await countOf(service, 'users where is_active') }],
  );
  const days = (table: string, day: string, sums: string) =>
    service.sql(
      `select ${day} as day, ${sums} from ${table} group by 1 having ${sums.split(' as ')[0]} > 0 order by 1`,
    );
  assert.deepEqual(
    await days('activity_days', 'day::text', 'sum(sign_ins)::integer as sign_ins'),
    await days(
      'audit_logs',
      `("timestamp" at time zone 'UTC')::date::text`,
      `(count(*) filter (where action = 'login_succeeded'))::integer as sign_ins`,
    ),
  );
  assert.equal(
    await countOf(service, `audit_logs where "timestamp" > now() + interval '1 second'`),
    0,
    'an entry of the future',
  );
  assert.equal(await countOf(service, 'sessions where created_at > last_used_at or last_used_at > now()'), 0);
}

test('the running service shows a whole company, and nobody of it can sign in', async (t) => {
  const service = await startTestService(t);
  const { code, out, err } = await demo(service, '--yes');
  assert.deepEqual([code, err], [0, '']);
  assert.match(
    out,
    /^Created 120 people, 15 roles in 12 role groups, 51 permissions in 21 permission groups,\n/,
  );
  assert.match(out, /\nNone of these people can sign in\. Sign in as the superuser\.\n/);
  assert.match(out, /To remove the company, delete the database, or start with a new DATA_DIR\.\n$/);
  await assertCounted(service, 120);
  assert.equal(await countOf(service, 'users where password_hash is not null and not is_superuser'), 0);
  assert.equal(
    await countOf(
      service,
      `user_roles ur join roles r on r.id = ur.role_id join users u on u.id = ur.user_id
       where r.is_system and not u.is_superuser`,
    ),
    0,
  );
  assert.equal(await countOf(service, 'session_tokens'), 0);
  assert.equal(await countOf(service, 'api_keys'), 0);
  assert.equal(await countOf(service, 'outbox'), 0);
  assert.equal(await countOf(service, `users where email !~ '^[a-z.]+[0-9]*@example\\.(com|org)$'`), 0);
  assert.equal(
    await countOf(
      service,
      `sessions where not origin_address::inet <<= any
        (array['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32']::inet[])`,
    ),
    0,
  );

  // The service ran while the company was created: it notices the new graph by its stamp.
  const admin = await signIn(service, ADMIN);
  await assertListed(service, admin);
  for (const status of ['active', 'inactive', 'locked', 'unverified']) {
    const { body } = await admin.get(`/api/v1/users?status=${status}`);
    assert.ok(body.data.total > 0, status);
  }
  const { body: berliners } = await admin.get('/api/v1/users?attribute.location=Berlin&include=attributes');
  assert.ok(berliners.data.total > 5, 'people with a value of a searchable attribute');
  const [{ attributes: values }] = berliners.data.items;
  const { body: numbered } = await admin.get(
    `/api/v1/users?attribute.employee_number=${values.employee_number}&include=attributes`,
  );
  assert.deepEqual(
    numbered.data.items.map((one: { attributes: unknown }) => one.attributes),
    [values],
  );
  const [agent] = await service.sql<{ id: string }>(
    `select user_id as id from user_roles ur join roles r on r.id = ur.role_id where r.name = 'Support agent' limit 1`,
  );
  for (const filter of ['on', 'off', 'missing']) {
    const { body } = await admin.get(`/api/v1/users?second_factor=${filter}&is_active=true`);
    assert.ok(body.data.total > 0, filter);
  }
  const apps = await service.sql<{ user_id: string; secret_sealed: Buffer }>('select * from totp_factors');
  const { totpVault } = service.service.deps;
  for (const { user_id, secret_sealed } of apps)
    assert.notEqual(totpVault.open(user_id, secret_sealed), null);
  const keys = await service.sql<{ id: string }>('select user_id as id from passkeys limit 1');
  const { body: shown } = await admin.get(`/api/v1/users/${keys[0]?.id}/factors`);
  assert.ok(shown.data.passkeys.length > 0 && shown.data.recovery_codes.left > 0);
  const effective = await admin.get(`/api/v1/users/${agent?.id}/effective-permissions`);
  const names: string[] = effective.body.data.permissions.map((one: { name: string }) => one.name);
  assert.ok(names.includes('tickets.reply'), effective.text);
  const { body: sessions } = await admin.get('/api/v1/sessions?size=100');
  assert.ok(new Set(sessions.data.map((one: { user_agent: string }) => one.user_agent)).size >= 5);
  const { body: activity } = await admin.get('/api/v1/dashboard/activity');
  const busy = activity.data.filter((day: { sign_ins: number }) => day.sign_ins > 0);
  assert.ok(busy.length >= 25, `${busy.length} days with sign-ins`);
  assert.ok(
    activity.data.some((day: { refusals: number }) => day.refusals >= 60),
    'the attack',
  );
  const { body: log } = await admin.get('/api/v1/audit-logs?result=failure&size=100');
  assert.equal(log.data.length, 100);
  for (const { details } of log.data) assert.ok(details.address && details.request_id);
  // Their names are such as the service accepts.
  const [person] = await service.sql<{ id: string; first_name: string; last_name: string }>(
    `select id, first_name, last_name from users where first_name ~ '[^ -~]' order by id limit 1`,
  );
  const { id, ...given } = person ?? assert.fail('no name beyond ASCII');
  assert.equal((await admin.put(`/api/v1/users/${id}`, given)).status, 200);
});

test('6,000 people, in two batches, are sound and counted', async (t) => {
  const service = await filled(t, '--users', '6000');
  await assertCounted(service, 6_000);
  assert.ok((await countOf(service, 'audit_logs')) > 15_000);
  assert.ok((await countOf(service, 'sessions')) > 1_500);
  const admin = await signIn(service, ADMIN);
  assert.equal((await admin.get('/api/v1/users?search=m%C3%BCller&size=10')).body.data.items.length, 10);
});

test('a seed makes the same people again, even if a superuser has the address of one of them', async (t) => {
  const people = (service: TestService) =>
    service.sql<{ email: string }>(
      `select u.id, email, first_name, last_name, is_active, verified, r.name as role,
         (select count(*)::integer from totp_factors t where t.user_id = u.id) as apps,
         (select count(*)::integer from recovery_codes c where c.user_id = u.id and c.used_at is null) as codes,
         array(select k.id || k.name || k.kind from passkeys k where k.user_id = u.id order by k.id) as keys
       from users u left join user_roles ur on ur.user_id = u.id left join roles r on r.id = ur.role_id
       where not u.is_superuser order by u.id, r.name`,
    );
  const first = await people(await filled(t, '--users', '60', '--seed', 'harvest'));
  assert.deepEqual(await people(await filled(t, '--users', '60', '--seed', 'harvest')), first);
  assert.notDeepEqual(await people(await filled(t, '--users', '60')), first);
  const service = await startTestService(t);
  const email = first[0]?.email ?? '';
  await addPerson(service, { email, superuser: true });
  assert.equal((await demo(service, '--yes', '--users', '60', '--seed', 'harvest')).code, 0);
  assert.equal(await countOf(service, 'users where not is_superuser'), 60);
  await assertSound(service);
});

for (const [what, statement, named] of [
  [
    'a user',
    `insert into users (id, email, first_name, last_name) values (gen_random_uuid(), 'a@b.example', 'Ada', 'B')`,
    '1 user',
  ],
  ['a role', `insert into roles (id, name) values (gen_random_uuid(), 'Clerk')`, '1 role'],
  ['a role group', `insert into role_groups (id, name) values (gen_random_uuid(), 'Shops')`, '1 role group'],
  [
    'a permission',
    `insert into permissions (id, name, group_id) select gen_random_uuid(), 'self.sing', id
     from permission_groups where name = 'self'`,
    '1 permission',
  ],
  [
    'a service account',
    `insert into service_accounts (id, name) values (gen_random_uuid(), 'robot')`,
    '1 service account',
  ],
  [
    'a declared attribute',
    `insert into user_attributes (id, name, label, description, type, "unique", searchable, self, required, claims, sensitive)
     values (gen_random_uuid(), 'team', 'Team', '', 'date', false, false, 'none', false, false, false)`,
    '1 user attribute',
  ],
] as const)
  test(`a database with ${what} is refused and not changed`, async (t) => {
    const service = await startTestService(t);
    await service.sql(statement);
    const before = await service.sql('select count(*) from users');
    const { code, out, err } = await demo(service, '--yes');
    assert.deepEqual([code, out], [1, '']);
    assert.equal(
      err,
      `castellan: The database is not empty: it has ${named} besides what the service creates itself. Nothing was changed. Use a new database, or a new DATA_DIR.\n`,
    );
    assert.deepEqual(await service.sql('select count(*) from users'), before);
  });

test('a second run is refused', async (t) => {
  const service = await filled(t, '--users', '5');
  const { code, err } = await demo(service, '--yes', '--users', '5');
  assert.equal(code, 1);
  assert.match(
    err,
    /it has 5 users, 15 roles, 12 role groups, 51 permissions, 21 permission groups, 5 service accounts, 6 user attributes/,
  );
});

test('without a terminal and without --yes, nothing is created', async (t) => {
  const service = await startTestService(t);
  const { code, out, err } = await demo(service);
  assert.deepEqual([code, out], [1, '']);
  assert.match(
    err,
    /^castellan: Fills PostgreSQL at .+ with a made-up company of 120 people\. .+ Confirm with --yes/,
  );
  assert.equal(await countOf(service, 'users'), 1);
});

test('with --password-file, those who are active and verified can sign in with it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-demo-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'password');
  const service = await startTestService(t);
  for (const [content, expected] of [
    ['weak', /^castellan: The password .+\n {2}- Use at least 12 characters\./],
    ['', /--password-file must have exactly one line with the password\./],
    ['Walnut*Beacon74Surf\nsecond', /--password-file must have exactly one line/],
    [null, /--password-file cannot be used: ENOENT.+\. Name a file with one password in it\./],
  ] as const) {
    await rm(path, { force: true });
    if (content !== null) await writeFile(path, content);
    const { code, err } = await demo(service, '--yes', '--password-file', path);
    assert.equal(code, 1);
    assert.match(err, expected);
  }
  assert.equal(await countOf(service, 'users'), 1);
  const password = 'Walnut*Beacon74Surf';
  await writeFile(path, `${password}\n`);
  const { code, out } = await demo(service, '--yes', '--password-file', path);
  assert.equal(code, 0);
  assert.match(
    out,
    /Everyone else who is active and verified can sign in with the password of --password-file\./,
  );
  assert.ok(!out.includes(password));
  const emailWhere = async (condition: string): Promise<string> =>
    (
      await service.sql<{ email: string }>(
        `select email from users where not is_superuser and ${condition}
         and email not in (select email from login_attempts) order by id limit 1`,
      )
    )[0]?.email ?? '';
  const login = async (email: string) => (await service.client().login({ email, password })).status;
  assert.equal(await login(await emailWhere('is_active and verified and not has_factor')), 200);
  assert.equal(await login(await emailWhere('is_active and verified and has_factor')), 422);
  assert.equal(await login(await emailWhere('not is_active')), 422);
  assert.equal(await login(await emailWhere('is_active and not verified')), 422);
});

test('a run that is killed leaves nothing, and a second one at the same time is refused', async (t) => {
  const service = await startTestService(t);
  const running = launch(['demo', '--yes', '--users', '1000000'], environmentOf(service));
  const ended = running.ended;
  try {
    await eventually(async () => {
      const [row] = await service.sql<{ bytes: string }>(`select pg_relation_size('users') as bytes`);
      return Number(row?.bytes) > 500_000 || undefined;
    }, 'rows of people');
    const second = await demo(service, '--yes');
    assert.equal(second.code, 1);
    assert.match(
      second.err,
      /^castellan: Another run of this command is filling the database\. Nothing was changed/,
    );
  } finally {
    running.child.kill('SIGKILL');
    await ended;
  }
  // The server notices the end of the connection after its current statement.
  await eventually(async () => {
    const open = await service.sql(`select from pg_locks where mode = 'ShareRowExclusiveLock'
      and database = (select oid from pg_database where datname = current_database())`);
    return open.length === 0 || undefined;
  }, 'the end of the transaction');
  assert.equal(await countOf(service, 'users'), 1);
  assert.equal(await countOf(service, 'permissions where not is_builtin'), 0);
  await assertSound(service);
  assert.equal((await demo(service, '--yes', '--users', '30')).code, 0);
  await assertCounted(service, 30);
});

for (const users of ['0', '1000001', '1.5', '-3', 'many', ''])
  test(`--users ${JSON.stringify(users)} is refused`, async () => {
    const { code, err } = await castellan(['demo', `--users=${users}`]);
    assert.equal(code, 2);
    assert.match(err, /^castellan: --users is ".*"; write a whole number from 1 to 1000000\.\n$/);
  });
