// Searches among the sessions of all users: right for a text that nearly every user contains, and for a rare one, and
// each by the index that suits it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';

const USERS = 6_000;
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

before(async () => {
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name, created_at)
       select gen_random_uuid(), 'many-' || n || '@example.com', case when n % 1000 = 0 then 'Qzara' when n % 40 = 1 then 'Annabel' else 'Many' end, 'User',
         now() - make_interval(secs => n) from generate_series(1, $1::integer) n
       returning id, created_at)
     insert into sessions (id, user_id, created_at, expires_at)
     select gen_random_uuid(), id, created_at, now() + interval '1 day' from made`,
    [USERS],
  );
  await service.sql('vacuum analyze users');
  await service.sql('analyze sessions');
});

const path = (search: string, more = ''): string => `/api/v1/sessions?size=10&search=${search}${more}`;

async function expected(search: string): Promise<string[]> {
  const rows = await service.sql<{ id: string }>(
    `select s.id from sessions s join users u on u.id = s.user_id where u.search_text like $1
     order by s.created_at desc, s.id desc`,
    [`%${search}%`],
  );
  return rows.map(({ id }) => id);
}

for (const search of ['a', 'ma', 'many', 'qz', 'qzara', 'annabel', 'nobody'])
  test(`"${search}" finds every session once, newest first, and counts them`, async () => {
    const ids = await expected(search);
    const found: string[] = [];
    for (let cursor: string | null = ''; cursor !== null && found.length < 40; ) {
      const { body } = await admin.get(path(search, cursor === '' ? '' : `&cursor=${cursor}`));
      assert.equal(body.total, ids.length);
      found.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    assert.deepEqual(found, ids.slice(0, found.length));
    assert.equal(found.length, Math.min(40, ids.length));
  });

test('an index finds the users of a rare text; those of a frequent one are found from the sessions', async () => {
  const indexes = async (search: string): Promise<Set<string | undefined>> => {
    const explained = await plansOf(service, () => admin.get(path(search)));
    return new Set(explained.flatMap(({ steps }) => steps.map(({ index }) => index)));
  };
  assert.ok((await indexes('qz')).has('users_short_parts_idx'));
  for (const search of ['a', 'ma']) assert.ok(!(await indexes(search)).has('users_short_parts_idx'), search);
});

test('a search reads the sessions of the users who match, not those of all', async () => {
  // A step reads the session of each user, or those of the page.
  for (const [search, users] of [
    ['qzara', USERS / 1_000],
    ['annabel', USERS / 40],
  ] as const)
    for (const { text, steps } of await plansOf(service, () => admin.get(path(search))))
      for (const { node, table, rows } of steps)
        if (table === 'sessions') assert.ok(rows <= users + 20, `${search}: ${node} reads ${rows}\n${text}`);
});

test('of a search that nearly every user matches, the newest 20,000 sessions are counted, up to 10,000', async () => {
  await service.sql(
    `set session_replication_role = replica;
     insert into sessions (id, user_id, created_at, expires_at)
     select gen_random_uuid(), u.id, now() - make_interval(secs => n * 10), now() + interval '1 day'
     from (select id from users where first_name = 'Many' limit 1) u, generate_series(1, 24000) n;
     insert into sessions (id, user_id, created_at, expires_at)
     select gen_random_uuid(), u.id, now(), now() + interval '1 day'
     from (select id from users where first_name = 'Annabel' limit 1) u, generate_series(1, 12000) n;
     set session_replication_role = origin`,
  );
  await service.sql('analyze sessions');
  for (const [search, most] of [
    ['many', 10_000],
    ['annabel', 10_000],
  ] as const) {
    const { body } = await admin.get(path(search));
    assert.deepEqual([body.total, body.total_is_estimate, body.data.length], [most, true, 10], search);
    for (const { text, steps } of await plansOf(service, () => admin.get(path(search))))
      for (const { node, table, rows } of steps)
        if (table === 'sessions') assert.ok(rows <= 20_200, `${search}: ${node} reads ${rows}\n${text}`);
  }
});

test('matches beyond the newest 20,000 sessions are found on a later page, and the number says that more may match', async () => {
  await service.sql(
    `with made as (
       insert into users (id, email, first_name, last_name)
       select gen_random_uuid(), 'older-' || n || '@example.com', 'Olderson', 'User' from generate_series(1, 150) n
       returning id)
     insert into sessions (id, user_id, created_at, expires_at)
     select gen_random_uuid(), id, now() - interval '30 days', now() + interval '1 day' from made`,
  );
  const ids = await expected('olderson');
  const found: string[] = [];
  let pages = 0;
  for (let cursor: string | null = ''; cursor !== null; pages += 1) {
    const { body } = await admin.get(path('olderson', cursor === '' ? '' : `&cursor=${cursor}`));
    assert.equal(body.total_is_estimate, true);
    assert.ok(body.total <= ids.length, String(body.total));
    found.push(...body.data.map(({ id }: { id: string }) => id));
    cursor = body.next_cursor;
  }
  assert.deepEqual(found, ids);
  // Each reads 20,000 sessions, or is full.
  const [all] = await service.sql<{ count: number }>('select count(*)::integer from sessions');
  assert.ok(pages <= Math.ceil((all?.count ?? 0) / 20_000) + Math.ceil(ids.length / 10), String(pages));
});

test('a search that many users match reads no more where few sessions match', async () => {
  // Nobody of them has a session: their text is frequent among the newest users, or common among all.
  await service.sql(
    `insert into users (id, email, first_name, last_name, created_at)
     select gen_random_uuid(), 'guest-' || n || '@example.com', 'Guest', case when n <= 10500 then 'Common' else 'Rare' end,
       now() - interval '1 year' - make_interval(secs => n) from generate_series(1, 11000) n;
     insert into users (id, email, first_name, last_name)
     select gen_random_uuid(), 'newest-' || n || '@example.com', 'Newest', 'User' from generate_series(1, 200) n`,
  );
  await service.sql('vacuum analyze users, sessions');
  for (const search of ['newest', 'common']) {
    const { body } = await admin.get(path(search));
    assert.deepEqual([body.data, body.total, body.total_is_estimate], [[], 0, true], search);
    assert.notEqual(body.next_cursor, null);
    for (const { text, steps } of await plansOf(service, () => admin.get(path(search))))
      for (const { node, table, rows } of steps)
        if (table === 'sessions') assert.ok(rows <= 20_200, `${search}: ${node} reads ${rows}\n${text}`);
  }
});
