// Activity by day: exact, whatever happens to the audit log, with the days on which nothing happened.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import {
  ADMIN,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { statementsOf } from '@castellan/testing/statements';
import { addPerson, roleNamed, signedInWith } from '@castellan/testing/users/people';
import { deleteOldEntries } from '../../src/modules/audit/store.ts';
import { createEmptyDatabase } from '../accounts/empty-database.ts';

type Day = { day: string; sign_ins: number; refusals: number; registrations: number };
const ACTIVITY = '/api/v1/dashboard/activity';

async function days(service: TestService, query = ''): Promise<Day[]> {
  const answer = await (await signIn(service, ADMIN)).get(`${ACTIVITY}?${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}

/** Inserts entries at a time before now, as PostgreSQL parses it. */
const addEntries = (service: TestService, action: string, ago: string, details: object[]) =>
  service.sql(
    `insert into audit_logs (id, action, resource_type, details, "timestamp")
     select gen_random_uuid(), $1, 'security_event', value, now() - $2::interval from jsonb_array_elements($3::jsonb)`,
    [action, ago, JSON.stringify(details)],
  );

const utcDay = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);

test('only administrators read it', async (t) => {
  const service = await startTestService(t);
  const holder = await addPerson(service, { roles: [await roleNamed(service, 'Admin')] });
  assert.equal((await (await signIn(service, holder)).get(ACTIVITY)).status, 200);
  const { client } = await signedInWith(service, 'audit_log.read', 'users.read');
  assertRefused(await client.get(ACTIVITY), 403, 'admin_required');
  assertRefused(await service.client().get(ACTIVITY), 401, 'token_missing');
});

test('sign-ins, refused sign-ins and registrations of today are counted as they happen', async (t) => {
  const service = await startTestService(t);
  const [before] = (await days(service, 'days=1')) as [Day];
  assert.equal(before.day, utcDay(0));
  assert.equal(before.sign_ins, 1, 'the sign-in that asks');
  const email = newEmail('active');
  const client = service.client();
  const names = { first_name: 'Ada', last_name: 'Lovelace' };
  assert.equal(
    (await client.post('/api/v1/auth/register', { email, password: PASSWORD, ...names })).status,
    201,
  );
  await client.login({ email: 'nobody@example.com', password: PASSWORD });
  await client.login({ email, password: 'Wrong#Quartz82Lime' });
  await client.login({ email, password: PASSWORD });
  const [today] = (await days(service, 'days=1')) as [Day];
  assert.deepEqual(today, { day: before.day, sign_ins: 2, refusals: 3, registrations: 1 });
});

test('the days are those of UTC, today last, those without an event included', async (t) => {
  const service = await startTestService(t);
  assert.equal((await days(service)).length, 30);
  const [newest] = (await days(service, 'days=1')) as [Day];
  await addEntries(service, 'login_succeeded', '3 days', [{}, {}]);
  await addEntries(service, 'login_failed', '89 days', [{}]);
  await addEntries(service, 'user_registered', '90 days', [{}]);
  const all = await days(service, 'days=90');
  assert.equal(all.length, 90);
  assert.deepEqual(
    all.map(({ day }) => day),
    Array.from({ length: 90 }, (_, index) => utcDay(89 - index)),
  );
  const nothing = { sign_ins: 0, refusals: 0, registrations: 0 };
  for (const [index, { day, ...numbers }] of all.entries())
    if (index === 0) assert.deepEqual(numbers, { ...nothing, refusals: 1 }, day);
    else if (index === 86) assert.deepEqual(numbers, { ...nothing, sign_ins: 2 }, day);
    else if (index < 89) assert.deepEqual(numbers, nothing, day);
  assert.ok((all.at(-1) as Day).sign_ins > newest.sign_ins);
  await service.sql(
    `insert into audit_logs (id, action, resource_type, "timestamp")
     select gen_random_uuid(), 'user_registered', 'x',
       (((now() at time zone 'UTC')::date - 9)::timestamp - make_interval(secs => n * 1e-6)) at time zone 'UTC'
     from generate_series(0, 1) n`,
  );
  const around = (await days(service, 'days=11')).slice(0, 2);
  assert.deepEqual(
    around.map(({ registrations }) => registrations),
    [1, 1],
    'midnight belongs to the day that begins',
  );
});

test('days out of range are 422', async (t) => {
  const service = await startTestService(t);
  const admin = await signIn(service, ADMIN);
  for (const value of ['0', '91', 'x', '1.5', ''])
    assertRefused(await admin.get(`${ACTIVITY}?days=${value}`), 422, 'validation_failed');
});

test('events that the log only counts are included with their number', async (t) => {
  const service = await startTestService(t);
  await addEntries(service, 'login_failed', '1 day', [
    {},
    { more_left_out: 1 },
    { more_left_out: 4_000_000_000 },
    { more_left_out: 'many' },
  ]);
  await addEntries(service, 'login_succeeded', '1 day', [{ more_left_out: 7 }]);
  const [yesterday] = (await days(service, 'days=2')) as [Day];
  assert.deepEqual(yesterday, { day: utcDay(1), sign_ins: 7, refusals: 4_000_000_003, registrations: 0 });

  const flooded = await startTestService(t);
  await days(flooded, 'days=1');
  const client = flooded.client();
  for (let sent = 0; sent < 70; sent += 1)
    await client.login({ email: 'flood@example.com', password: 'Wrong#Quartz82Lime' });
  const written = await flooded.sql("select from audit_logs where action = 'login_failed'");
  assert.ok(written.length < 70, 'the log leaves some out');
  const twin = await flooded.another();
  await flooded.stop();
  // A stop writes the counts that are not reported yet.
  const [today] = (await days(twin, 'days=1')) as [Day];
  assert.equal(today.refusals, 70);
});

test('the numbers stay when the audit log is shortened or emptied', async (t) => {
  const service = await startTestService(t);
  await addEntries(service, 'login_failed', '20 days', [{}, {}, {}]);
  const of20 = async () => ((await days(service, 'days=21'))[0] as Day).refusals;
  assert.equal(await of20(), 3);
  await deleteOldEntries(service.service.deps.db, 10);
  assert.equal(await of20(), 3);
  await service.sql('truncate audit_logs');
  assert.equal(await of20(), 3);
});

test('parallel writers lose nothing, and an entry that is sent again is counted once', async (t) => {
  const service = await startTestService(t, { DATABASE_POOL_SIZE: '20' });
  const before = ((await days(service, 'days=1'))[0] as Day).refusals;
  const again = randomUUID();
  await Promise.all(
    Array.from({ length: 200 }, (_, index) =>
      service.sql(
        `insert into audit_logs (id, action, resource_type) values ($1, 'login_failed', 'x') on conflict (id) do nothing`,
        [index % 2 === 0 ? randomUUID() : again],
      ),
    ),
  );
  assert.equal(((await days(service, 'days=1'))[0] as Day).refusals, before + 101);
});

test('a request costs one statement, which reads no audit entry', async (t) => {
  const service = await startTestService(t);
  const admin = await signIn(service, ADMIN);
  await admin.get(ACTIVITY);
  const texts = (await statementsOf(() => admin.get(`${ACTIVITY}?days=90`))).filter((text) =>
    /activity_days|audit_logs/.test(text),
  );
  assert.equal(texts.length, 1);
  assert.doesNotMatch(texts.join(), /audit_logs/);
});

test('the migration counts the entries of the last 90 days that were there before', async (t) => {
  const { sql } = await createEmptyDatabase(t);
  const folder = new URL('../../migrations/', import.meta.url);
  const MIGRATION = '0016-activity-days.sql';
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  for (const file of files.filter((name) => name < MIGRATION))
    await sql(await readFile(new URL(file, folder), 'utf8'));
  await sql(`
    insert into audit_logs (id, action, resource_type, details, "timestamp") values
      (gen_random_uuid(), 'login_succeeded', 'x', '{}', now()),
      (gen_random_uuid(), 'login_failed', 'x', '{}', now()),
      (gen_random_uuid(), 'login_failed', 'x', '{"more_left_out": 5}', now()),
      (gen_random_uuid(), 'user_registered', 'x', '{}', now() - interval '89 days'),
      (gen_random_uuid(), 'user_registered', 'x', '{}', now() - interval '92 days'),
      (gen_random_uuid(), 'role_created', 'x', '{}', now())`);
  await sql(await readFile(new URL(MIGRATION, folder), 'utf8'));
  await sql(
    `insert into audit_logs (id, action, resource_type) values (gen_random_uuid(), 'login_failed', 'x')`,
  );
  const rows = await sql(
    `select to_char(day, 'YYYY-MM-DD') as day, sum(sign_ins)::int as sign_ins, sum(refusals)::int as refusals,
       sum(registrations)::int as registrations from activity_days group by 1 order by 1`,
  );
  assert.deepEqual(rows, [
    { day: utcDay(89), sign_ins: 0, refusals: 0, registrations: 1 },
    { day: utcDay(0), sign_ins: 1, refusals: 7, registrations: 0 },
  ]);
});
