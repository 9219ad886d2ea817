// The dashboard: who sees what, that its figures stay correct after every change, and the shape of its lists.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addPerson, addRole, isSignedIn, roleNamed, signedInWith } from '@castellan/testing/users/people';
import { removeEndedRows } from '../../src/modules/sessions/ended-rows.ts';
import { endSessionsOfKeys } from '../../src/modules/sessions/keys/store.ts';
import { countLiveSessions } from '../../src/modules/sessions/live-count-store.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const adminRole = await roleNamed(service, 'Admin');

const DASHBOARD = '/api/v1/dashboard';
const STATS = '/api/v1/dashboard/stats';

async function dashboard(client: TestClient = admin) {
  const answer = await client.get(DASHBOARD);
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}

/** Computes the same figures by counting. */
async function counted() {
  const [row] = await service.sql(`
    select (select count(*)::integer from users) as total_users,
           (select count(*)::integer from users where is_active) as active_users,
           (select count(*)::integer from roles) as total_roles,
           (select count(*)::integer from permissions) as total_permissions,
           (select count(*)::integer from sessions s join users u on u.id = s.user_id
            where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)) as active_sessions`);
  return row;
}

async function assertExact(): Promise<void> {
  assert.deepEqual((await dashboard()).stats, await counted());
}

const liveSessions = async () => (await dashboard()).stats.active_sessions;
const addSessions = (person: { id: string }, count: number) =>
  service.sql(
    `insert into sessions (id, user_id, expires_at, epoch)
     select gen_random_uuid(), id, now() + interval '1 day', session_epoch
     from users cross join generate_series(1, $2::integer) where id = $1`,
    [person.id, count],
  );

test('a superuser without roles, and a holder of Admin who is no superuser, see everything at both paths', async () => {
  const superuser = await signIn(service, await addPerson(service, { superuser: true }));
  const holder = await signIn(service, await addPerson(service, { roles: [adminRole] }));
  for (const client of [superuser, holder, holder.at(twin.url)]) {
    const [plain, stats] = [await client.get(DASHBOARD), await client.get(STATS)];
    assert.equal(plain.status, 200, plain.text);
    assert.equal(stats.status, 200, stats.text);
    assert.deepEqual(plain.body, stats.body);
    assert.equal(typeof plain.body.message, 'string');
    const { data } = plain.body;
    assert.deepEqual(Object.keys(data).sort(), ['recent_logins', 'stats', 'system_users_summary']);
    assert.deepEqual(Object.keys(data.stats).sort(), [
      'active_sessions',
      'active_users',
      'total_permissions',
      'total_roles',
      'total_users',
    ]);
    for (const figure of Object.values(data.stats)) assert.ok(Number.isInteger(figure));
    for (const row of data.recent_logins)
      assert.deepEqual(Object.keys(row).sort(), ['email', 'id', 'last_active', 'name']);
    for (const row of data.system_users_summary)
      assert.deepEqual(Object.keys(row).sort(), ['email', 'id', 'last_active', 'name', 'role', 'status']);
  }
});

test('everybody else sees only the number of users, and 403 at /stats, whatever permissions they hold', async () => {
  const everything = await service.sql<{ name: string }>('select name from permissions');
  const all = await signedInWith(service, ...everything.map(({ name }) => name));
  const none = await signIn(service, await addPerson(service));
  for (const client of [all.client, none]) {
    const { stats, ...lists } = await dashboard(client);
    assert.deepEqual(stats, { total_users: (await counted())?.total_users });
    assert.deepEqual(lists, { recent_logins: null, system_users_summary: null });
    assertRefused(await client.get(STATS), 403, 'admin_required');
  }
});

test('a role named Admin in another spelling, which is not the system role, makes no administrator', async () => {
  const [id, person] = [await addRole(service), await addPerson(service)];
  await service.sql('update roles set name = $2 where id = $1', [id, ' Admin']);
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [person.id, id]);
  assertRefused(await (await signIn(service, person)).get(STATS), 403, 'admin_required');
});

test('losing the role Admin counts at the next request, at every instance', async () => {
  const person = await addPerson(service, { roles: [adminRole] });
  const client = await signIn(service, person);
  assert.equal((await client.get(STATS)).status, 200);
  assert.equal((await admin.post(`/api/v1/users/${person.id}/roles`, { role_ids: [] })).status, 200);
  for (const at of [client.at(twin.url), client]) {
    assertRefused(await at.get(STATS), 403, 'admin_required');
    assert.equal((await dashboard(at)).recent_logins, null);
  }
});

test('active_sessions follows sign-in, sign-out, revocation, the end of all, expiry, deactivation and deletion', async () => {
  const person = await addPerson(service);
  const start = await liveSessions();
  const clients: TestClient[] = [];
  for (let made = 0; made < 4; made += 1) clients.push(await signIn(service, person));
  assert.equal(await liveSessions(), start + 4);
  await clients[0]?.post('/api/v1/auth/logout');
  assert.equal(await liveSessions(), start + 3);
  const { body } = await (clients[1] as TestClient).get('/api/v1/auth/sessions');
  const other = body.data.find((one: { current: boolean }) => !one.current);
  assert.equal((await clients[1]?.delete(`/api/v1/auth/sessions/${other.id}`))?.status, 200);
  assert.equal(await liveSessions(), start + 2);
  await service.sql(
    `update sessions set expires_at = now() - interval '1 second'
     where id = (select id from sessions where user_id = $1 and revoked_at is null limit 1)`,
    [person.id],
  );
  assert.equal(await liveSessions(), start + 1);
  await service.sql('update sessions set revoked_at = now() where user_id = $1', [person.id]);
  assert.equal(await liveSessions(), start);

  const again = await signIn(service, person);
  await signIn(service, person);
  await again.post('/api/v1/auth/logout/all');
  assert.equal(await liveSessions(), start);

  await signIn(service, person);
  assert.equal((await admin.put(`/api/v1/users/${person.id}`, { is_active: false })).status, 200);
  assert.equal(await liveSessions(), start);
  await assertExact();
  assert.equal((await admin.put(`/api/v1/users/${person.id}`, { is_active: true })).status, 200);
  const last = await signIn(service, person);
  assert.equal(await liveSessions(), start + 1);
  assert.equal((await admin.delete(`/api/v1/users/${person.id}`)).status, 200);
  assert.equal(await liveSessions(), start);
  assert.equal(await isSignedIn(last), false);
  await assertExact();
});

test('the figures stay exact after every insert, update and delete of users, roles and permissions', async () => {
  const steps: [string, string][] = [
    [
      'bulk insert',
      `insert into users (id, email, first_name, last_name, is_active)
        select gen_random_uuid(), 'bulk-' || n || '@example.com', 'Bulk', 'User', n % 3 > 0 from generate_series(1, 500) n`,
    ],
    [
      'upsert',
      `insert into users (id, email, first_name, last_name)
        select gen_random_uuid(), 'bulk-' || n || '@example.com', 'Bulk', 'User' from generate_series(400, 600) n
        on conflict (email) do update set is_active = not users.is_active`,
    ],
    ['bulk update', `update users set is_active = not is_active where email like 'bulk-%'`],
    ['update of nothing', `update users set is_active = true where email like 'bulk-%' and is_active`],
    ['partial delete', `delete from users where email like 'bulk-1%'`],
    [
      'within one transaction',
      `with gone as (delete from users where email like 'bulk-2%' returning 1)
        insert into users (id, email, first_name, last_name, is_active)
        select gen_random_uuid(), 'moved-' || n || '@example.com', 'A', 'B', false from generate_series(1, 9) n`,
    ],
    ['the rest', `delete from users where email like 'bulk-%' or email like 'moved-%'`],
    ['a role', `insert into roles (id, name) values (gen_random_uuid(), 'Counted')`],
    ['its end', `delete from roles where name = 'Counted'`],
  ];
  for (const [what, statement] of steps) {
    await service.sql(statement);
    assert.deepEqual((await dashboard()).stats, await counted(), what);
  }
  const { stats } = await dashboard();
  await assert.rejects(
    service.sql(`do $$ begin delete from users where email <> '${ADMIN.email}'; raise 'undone'; end $$`),
  );
  assert.deepEqual((await dashboard()).stats, stats, 'a rolled-back change was counted');
});

test('a truncated table counts as empty, and counting continues from there', async (t) => {
  const other = await startTestService(t);
  const sum = 'select sum(total)::integer as total, sum(active)::integer as active from user_counts';
  await other.sql('truncate users cascade');
  assert.deepEqual(await other.sql(sum), [{ total: 0, active: 0 }]);
  await addPerson(other);
  await addPerson(other, { active: false });
  assert.deepEqual(await other.sql(sum), [{ total: 2, active: 1 }]);
});

test('16 parallel registrations at two instances, with deactivations and deletions, are counted exactly', async () => {
  const people = await Promise.all(Array.from({ length: 8 }, () => addPerson(service)));
  const before = (await counted())?.total_users as number;
  const answers = await Promise.all([
    ...Array.from({ length: 16 }, (_, index) =>
      (index % 2 ? service : twin).client().post('/api/v1/auth/register', {
        email: newEmail('racer'),
        password: PASSWORD,
        first_name: 'Ida',
        last_name: 'Wells',
      }),
    ),
    ...people.map(({ id }, index) =>
      index % 2
        ? admin.delete(`/api/v1/users/${id}`)
        : admin.put(`/api/v1/users/${id}`, { is_active: false }),
    ),
  ]);
  for (const { status, text } of answers) assert.ok(status === 200 || status === 201, text);
  await assertExact();
  assert.equal((await counted())?.total_users, before + 16 - 4);
});

test('recent_logins: each user once, the latest first, at most 10, with the time of the sign-in in UTC', async () => {
  await service.sql('delete from last_logins');
  assert.deepEqual((await dashboard()).recent_logins, []);
  const people = [];
  for (let made = 0; made < 12; made += 1)
    people.push(await addPerson(service, { firstName: `First${made}`, lastName: made === 1 ? '' : 'Élan' }));
  for (const person of people) await signIn(service, person);
  const [first, second] = people as [(typeof people)[0], (typeof people)[0]];
  await signIn(service, second);
  await signIn(service, first);
  const failed = await service
    .client()
    .login({ email: (people[2] as typeof first).email, password: 'Wrong#1' });
  assert.equal(failed.status, 422);

  const { recent_logins: rows } = await dashboard();
  const expected = [first, second, ...people.slice(4).reverse()].map(({ id }) => id);
  assert.deepEqual(
    rows.map(({ id }: { id: string }) => id),
    expected,
  );
  assert.deepEqual([rows[0].name, rows[1].name], ['First0 Élan', 'First1']);
  assert.equal(rows[0].email, first.email);
  await service.sql(`update last_logins set logged_in_at = '2031-02-03 04:05:06.789+02' where user_id = $1`, [
    first.id,
  ]);
  assert.equal((await dashboard()).recent_logins[0].last_active, '2031-02-03 02:05:06');
  // New connections have the other time zone.
  const [database] = await service.sql<{ name: string }>('select current_database() as name');
  await service.sql(`alter database ${database?.name} set timezone = 'Asia/Kolkata'`);
  try {
    const third = await service.another();
    assert.equal((await dashboard(admin.at(third.url))).recent_logins[0].last_active, '2031-02-03 02:05:06');
  } finally {
    await service.sql(`alter database ${database?.name} reset timezone`);
  }
  assert.equal((await admin.delete(`/api/v1/users/${first.id}`)).status, 200);
  assert.deepEqual(
    (await dashboard()).recent_logins.map(({ id }: { id: string }) => id),
    [...expected.slice(1), people[3]?.id],
  );
});

test('system_users_summary: the 10 newest users, with roles, status and last login', async () => {
  for (let made = 0; made < 8; made += 1) await addPerson(service);
  const roles = [];
  for (const name of ['beta', 'Alpha', 'gamma']) {
    const id = await addRole(service);
    await service.sql('update roles set name = $2 where id = $1', [id, name]);
    roles.push(id);
  }
  const lock = (email: string, minutes: number) =>
    service.sql(
      `insert into login_attempts (email, failures, locked_until)
       values ($1, 5, now() + make_interval(mins => $2))`,
      [email, minutes],
    );
  const many = await addPerson(service, { roles });
  const inactive = await addPerson(service, { active: false, verified: false });
  const locked = await addPerson(service, { verified: false });
  const unlocked = await addPerson(service);
  const unverified = await addPerson(service, { verified: false, roles: roles.slice(0, 1) });
  await lock(inactive.email, 10);
  await lock(locked.email, 10);
  await lock(unlocked.email, -1);
  await signIn(service, many);

  const { system_users_summary: rows } = await dashboard();
  assert.equal(rows.length, 10);
  const newest = await service.sql<{ id: string }>(
    'select id from users order by created_at desc, id desc limit 10',
  );
  assert.deepEqual(
    rows.map(({ id }: { id: string }) => id),
    newest.map(({ id }) => id),
  );
  const seen = new Map<string, Record<string, string>>(rows.map((row: { id: string }) => [row.id, row]));
  const look = ({ id }: { id: string }) => {
    const { role, status, last_active } = seen.get(id) ?? {};
    return { role, status, last_active };
  };
  const { last_active, ...rest } = look(many);
  assert.deepEqual(rest, { role: 'Alpha, beta, gamma', status: 'active' });
  assert.match(last_active ?? '', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
  const never = { role: 'N/A', last_active: 'N/A' };
  assert.deepEqual(look(inactive), { ...never, status: 'inactive' });
  assert.deepEqual(look(locked), { ...never, status: 'locked' });
  assert.deepEqual(look(unlocked), { ...never, status: 'active' });
  assert.deepEqual(look(unverified), { role: 'beta', last_active: 'N/A', status: 'unverified' });
  assert.deepEqual(
    { name: seen.get(many.id)?.name, email: seen.get(many.id)?.email },
    { name: 'Ada Lovelace', email: many.email },
  );
});

test('the number of live sessions is exact when very many of one user end, and while their rows go', async () => {
  const { db } = service.service.deps;
  const many: readonly [what: string, end: (id: string) => Promise<unknown>][] = [
    ['an administrator', (id) => admin.delete(`/api/v1/users/${id}/sessions`)],
    ['deactivation', (id) => admin.put(`/api/v1/users/${id}`, { is_active: false })],
    ['deletion', (id) => service.sql('delete from users where id = $1', [id])],
  ];
  const before = await liveSessions();
  for (const [what, end] of many) {
    const person = await addPerson(service);
    await service.sql('delete from user_roles where user_id = $1', [person.id]);
    await addSessions(person, 2_500);
    assert.equal(await liveSessions(), before + 2_500, what);
    await end(person.id);
    assert.equal(await liveSessions(), before, what);
    await removeEndedRows(db, 10_000);
    assert.equal(await liveSessions(), before, what);
  }
});

test('the sweep of a revoked key leaves out sessions that ended before it', async () => {
  const { db } = service.service.deps;
  const person = await addPerson(service);
  const before = await liveSessions();
  await service.sql(
    `with opened as (
       insert into sessions (id, user_id, expires_at, epoch)
       select gen_random_uuid(), id, now() + interval '1 day', session_epoch
       from users cross join generate_series(1, 1500) where id = $1 returning id, user_id, expires_at)
     insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     select user_id, sha256(id::text::bytea), id, 'refresh', gen_random_uuid(), 'leaked', now(), expires_at from opened`,
    [person.id],
  );
  const sweep = async (): Promise<number> => {
    let ended = 0;
    for (let last: string | null = null; ; ) {
      const page = await endSessionsOfKeys(db, ['leaked'], last);
      ended += page.ended;
      if (page.last === null) return ended;
      last = page.last;
    }
  };
  await service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [person.id]);
  assert.equal(await liveSessions(), before);
  assert.equal(await sweep(), 0);
  assert.equal(await liveSessions(), before);
  await service.sql('update users set session_epoch = session_epoch - 1 where id = $1', [person.id]);
  assert.equal(await sweep(), 1_500);
  assert.equal(await liveSessions(), before);
});

test('more than 10,000 live sessions are what the job counted within a minute, and the list says that it is no exact total', async () => {
  const { db } = service.service.deps;
  const list = async (): Promise<{ total: number; total_is_estimate?: boolean }> =>
    (await admin.get('/api/v1/sessions?size=1')).body;
  const person = await addPerson(service);
  await countLiveSessions(db);
  const before = await liveSessions();
  await addSessions(person, 10_000 - before);
  assert.deepEqual([await liveSessions(), (await list()).total_is_estimate], [10_000, undefined]);
  await addSessions(person, 500);
  // Nobody has counted them.
  assert.deepEqual([await liveSessions(), (await list()).total_is_estimate], [10_500, undefined]);
  await countLiveSessions(db);
  await addSessions(person, 500);
  const { total, total_is_estimate } = await list();
  assert.deepEqual([await liveSessions(), total, total_is_estimate], [10_500, 10_500, true]);
  const age = (seconds: number) =>
    service.sql('update live_session_counts set counted_at = now() - make_interval(secs => $1)', [seconds]);
  await age(50);
  assert.equal(await liveSessions(), 10_500);
  for (const wrong of [61, -30]) {
    await age(wrong);
    assert.deepEqual(
      [await liveSessions(), (await list()).total_is_estimate],
      [11_000, undefined],
      `${wrong} s`,
    );
  }
  await service.sql('delete from sessions where user_id = $1', [person.id]);
  await countLiveSessions(db);
  assert.equal(await liveSessions(), before);
});

test('an instance of the last release counts all sessions itself, as its numbers are not kept', async () => {
  await service.sql('delete from live_session_recounts');
  assert.equal((await service.sql('select from live_session_recounts')).length > 0, true);
});
