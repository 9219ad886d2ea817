// The list of users with 24,000 of them: what a page reads does not depend on where it is, and nothing is lost on the way.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { type Explained, plansOf } from '@castellan/testing/plans';
import { cleanUp } from '../../../src/cleanup.ts';
import { renewUserMarks } from '../../../src/modules/users/lists/page-marks.ts';
import { addChanges, splitWidestGap } from '../../../src/modules/users/lists/page-marks-store.ts';
import { renewRoleHolders } from '../../../src/modules/users/role-holders-store.ts';
import { inSnapshot } from '../../../src/platform/db/transaction.ts';

const USERS = 24_000;
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
// The tests renew what the jobs would renew at any moment.
await service.service.scheduler.stop();

/** Names are short, because every two and three characters of them are indexed. */
const insertUsers = (prefix: string, count: number): Promise<unknown> =>
  service.sql(
    `insert into users (id, email, first_name, last_name, is_active, verified, created_at)
     select gen_random_uuid(), $1 || left(md5(n::text), 10) || '@example.com', 'Many' || n % 7, left(md5(n::text || 'x'), 6), n % 20 > 0,
       n % 30 > 0, now() - make_interval(secs => n / 3) from generate_series(1, $2::integer) n`,
    [prefix, count],
  );

before(async () => {
  await insertUsers('m', USERS);
  await service.sql(`
    insert into login_attempts (email, failures, locked_until)
    select email, 5, now() + case when email like '%0@%' then interval '-1 hour' else interval '1 hour' end
    from users where email like 'm%7a%@%' limit 900`);
  await renewUserMarks(service.service.deps.db);
  await service.sql('vacuum analyze users');
  await service.sql('analyze user_marks, user_changes');
});

const pathOf = (query: Record<string, string | number | boolean>): string =>
  `/api/v1/users/list?${new URLSearchParams(Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]))}`;

type Page = { items: { id: string }[]; total: number; pages: number; total_is_estimate?: boolean };
async function pageOf(query: Record<string, string | number | boolean>): Promise<Page> {
  const answer = await admin.get(pathOf(query));
  assert.equal(answer.status, 200, answer.text);
  return answer.body.data;
}

const orders = {
  created_at: 'created_at, id',
  '-created_at': 'created_at desc, id desc',
  email: 'email, id',
  '-last_name': 'lower(last_name) desc, id desc',
};
const isLocked = 'email in (select email from login_attempts where locked_until > now())';
type Listed = { id: string; is_active: boolean; verified: boolean; is_locked: boolean };
const kinds: readonly [Record<string, boolean | string>, (user: Listed) => boolean][] = [
  [{}, () => true],
  [{ is_active: true }, (user) => user.is_active],
  [{ is_active: false }, (user) => !user.is_active],
  [{ verified: false }, (user) => !user.verified],
  [{ is_active: true, verified: false }, (user) => user.is_active && !user.verified],
  [{ status: 'active' }, (user) => user.is_active && user.verified && !user.is_locked],
  [{ status: 'unverified' }, (user) => user.is_active && !user.verified && !user.is_locked],
  [{ status: 'inactive' }, (user) => !user.is_active],
  [{ status: 'locked' }, (user) => user.is_active && user.is_locked],
];

type Place = (pages: number) => number;
const somePlaces: readonly Place[] = [() => 2, (pages) => Math.ceil(pages / 2), (pages) => pages];
const manyPlaces: readonly Place[] = [
  ...somePlaces,
  () => 1,
  (pages) => Math.ceil(pages / 3),
  (pages) => pages - 1,
  (pages) => pages + 1,
];

/** Compares pages at these places of every order with all users in this order, as one plain statement returns them. */
async function assertPages(places = somePlaces): Promise<void> {
  for (const [sort, order] of Object.entries(orders)) {
    const all = await service.sql<Listed>(
      `select id, is_active, verified, ${isLocked} as is_locked from users order by ${order}`,
    );
    for (const [query, belongs] of kinds) {
      const expected = all.filter(belongs).map(({ id }) => id);
      const pages = Math.ceil(expected.length / 10);
      for (const page of places.map((place) => Math.max(1, place(pages)))) {
        const found = await pageOf({ ...query, sort, page, size: 10 });
        const where = `${JSON.stringify(query)}, ${sort}, page ${page} of ${pages}`;
        assert.deepEqual(
          [found.total, found.pages, found.total_is_estimate],
          [expected.length, pages, undefined],
          where,
        );
        assert.deepEqual(
          found.items.map(({ id }) => id),
          expected.slice((page - 1) * 10, page * 10),
          where,
        );
      }
    }
  }
}

test('pages and totals are exact, with recent marks, with changes since, and after these were added', async () => {
  await assertPages();
  // Some of them are marked users.
  await service.sql(`delete from users where email like 'm0%'`);
  await service.sql(`update users set is_active = not is_active where email like 'm1%'`);
  await service.sql(`update users set verified = not verified, last_name = 'Moved' where email like 'm2%'`);
  await service.sql(`update users set email = 'a' || email where email like 'm3%'`);
  await insertUsers('n', 3_000);
  await assertPages(manyPlaces);
  assert.equal(await renewUserMarks(service.service.deps.db), true);
  const [left] = await service.sql<{ count: string }>('select count(*) from user_changes');
  assert.equal(left?.count, '0');
  await assertPages(manyPlaces);
});

test('parallel changes and renewals lose no user', async () => {
  const { db } = service.service.deps;
  await Promise.all([
    ...Array.from({ length: 8 }, (_, index) => insertUsers(`p${index}`, 300)),
    ...Array.from({ length: 4 }, () => renewUserMarks(db).catch(() => false)),
    service.sql(`update users set is_active = false where email like 'm4%'`),
    service.sql(`delete from users where email like 'm5%'`),
  ]);
  await assertPages();
  await renewUserMarks(db);
  await assertPages();
});

test('users get their marks although only a few changes are left to add', async () => {
  const { db } = service.service.deps;
  await renewUserMarks(db);
  await insertUsers('q', 5_000);
  const marks = async () => (await service.sql('select from user_marks')).length;
  const before = await marks();
  // As after a run that added a whole number of stretches: what is left is too little to add for its own sake.
  await inSnapshot(db, (tx) => addChanges(tx, 4_999));
  assert.equal(await renewUserMarks(db), true);
  assert.ok((await marks()) > before);
  await assertPages();
});

test('the clean-up removes marks that name deleted users or former emails, and pages stay exact', async () => {
  const { db } = service.service.deps;
  await renewUserMarks(db);
  const former = () =>
    service.sql(`
      select email from user_marks where "order" <> 'end' and email not in (select email from users)
      union all select email from user_changes where email not in (select email from users)`);
  const marked = (order: string) => `id in (select id from user_marks where "order" = '${order}')`;
  await service.sql(`delete from users where email <> '${ADMIN.email}' and ${marked('created_at')}`);
  await service.sql(`update users set email = 'former-' || email where ${marked('email')}`);
  assert.notDeepEqual(await former(), []);
  await cleanUp(service.service.deps);
  assert.deepEqual(await former(), []);
  await assertPages(manyPlaces);
});

test('changes that marks include leave no space behind that every page would read', async () => {
  const { db } = service.service.deps;
  // Users who appeared and disappeared.
  await service.sql(`
    insert into user_changes (id, created_at, email, last_name, is_active, verified, change)
    select u.id, now(), 'gone-' || u.n || '@example.com', 'gone', true, true, c.change
    from (select gen_random_uuid() as id, n from generate_series(1, 10000) n offset 0) u, (values (1), (-1)) c (change)`);
  const size = async (): Promise<number> =>
    (await service.sql<{ size: number }>(`select pg_relation_size('user_changes')::integer as size`))[0]
      ?.size ?? 0;
  assert.ok((await size()) > 1_048_576);
  await eventually(async () => {
    await renewUserMarks(db);
    return (await size()) <= 1_048_576 || undefined;
  }, 'the table is small');
});

const rowsOf = (explained: Explained[]): number =>
  Math.max(...explained.flatMap(({ steps }) => steps.map(({ rows }) => rows)));

describe('what a page reads', () => {
  for (const sort of Object.keys(orders))
    for (const kind of [{}, { is_active: true }, { status: 'active' }])
      test(`${sort} ${JSON.stringify(kind)}: a few thousand rows, wherever the page is`, async () => {
        const { pages } = await pageOf({ ...kind, sort });
        for (const page of [1, Math.ceil(pages / 2), pages]) {
          const rows = rowsOf(await plansOf(service, () => admin.get(pathOf({ ...kind, sort, page }))));
          assert.ok(rows <= 6_000, `page ${page} of ${pages} reads ${rows} rows`);
        }
      });
});

describe('with thousands of locked users', () => {
  before(async () => {
    await service.sql(`
      insert into login_attempts (email, failures, locked_until)
      select email, 5, now() + interval '1 hour' from users where is_active and verified order by md5(email) limit 8000
      on conflict (email) do update set locked_until = excluded.locked_until`);
  });

  test('pages and totals are exact, before the job renews the marks and then', async () => {
    await assertPages(manyPlaces);
    await renewUserMarks(service.service.deps.db);
    await assertPages(manyPlaces);
  });

  test('a page of the others skips no more of them than without', async () => {
    for (const sort of Object.keys(orders)) {
      const query = { status: 'active', sort };
      const { pages } = await pageOf(query);
      for (const page of [1, Math.ceil(pages / 2), pages]) {
        const explained = await plansOf(service, () => admin.get(pathOf({ ...query, page })));
        // Another statement reads the locked users, to find the mark to begin at.
        const ofPage = explained.filter(({ text }) => /page as materialized/.test(text));
        const users = ofPage.flatMap(({ steps }) => steps.filter(({ table }) => table === 'users'));
        const rows = Math.max(...users.map((step) => step.rows));
        assert.ok(rows <= 6_000, `${sort}, page ${page} of ${pages} reads ${rows} users`);
      }
    }
  });

  after(() => service.sql('delete from login_attempts'));
});

describe('a search', () => {
  test('counts exactly up to 10,000 matches, and then says that there are more', async () => {
    const [exact] = await service.sql<{ count: number }>(
      `select count(*)::integer from users where search_text like '%many3%'`,
    );
    const few = await pageOf({ search: 'MANY3' });
    assert.deepEqual([few.total, few.total_is_estimate], [exact?.count, undefined]);
    for (const search of ['many', 'example.com', 'e', 'an']) {
      const many = await pageOf({ search });
      assert.deepEqual(
        [many.total, many.pages, many.total_is_estimate, many.items.length],
        [10_000, 200, true, 50],
      );
      assert.equal((await pageOf({ search, page: 200 })).items.length, 50);
      assert.equal((await pageOf({ search, page: 201 })).items.length, 0);
    }
  });

  test('beyond a role or a status the total grows with the page, so that walking on finds everybody', async () => {
    // Its conditions together are not a kind whose number is kept.
    const query = { status: 'active', is_active: true, size: 100 };
    const first = await pageOf(query);
    assert.deepEqual([first.total, first.total_is_estimate], [10_000, true]);
    const later = await pageOf({ ...query, page: 150 });
    assert.deepEqual([later.items.length, later.total], [100, 15_001]);
    const atBound = await pageOf({ ...query, page: 100 });
    assert.deepEqual([atBound.total, atBound.pages], [10_001, 101]);
  });

  test('of a role that very many have with another filter reads no more than the first 10,000 of either, or both', async () => {
    const [role] = await service.sql<{ id: string }>(`select id from roles where name = 'User'`);
    const holders = { role_id: role?.id ?? '', size: 100 };
    await service.sql(
      `insert into user_roles (user_id, role_id)
       select id, $1 from users where id not in (select user_id from user_roles) order by id limit 13000`,
      [role?.id],
    );
    await renewRoleHolders(service.service.deps.db);
    await service.sql('vacuum analyze users, user_roles');
    const holds = `id in (select user_id from user_roles where role_id = '${role?.id}')`;
    for (const [filter, condition] of [
      [{ is_active: false }, 'not is_active'],
      [{ is_active: false, sort: '-email' }, 'not is_active'],
      [{ search: 'mab' }, `search_text like '%mab%'`],
      [{ status: 'locked' }, `is_active and ${isLocked}`],
    ] as const) {
      const where = JSON.stringify(filter);
      const [counted] = await service.sql<{ count: number }>(
        `select count(*)::integer from users where ${holds} and ${condition}`,
      );
      const exact = await pageOf({ ...holders, ...filter });
      assert.deepEqual([exact.total, exact.total_is_estimate], [counted?.count, undefined], where);
      const expected = await service.sql<{ id: string }>(
        `select id from users where ${holds} and ${condition}
         order by ${'sort' in filter ? 'email desc, id desc' : 'created_at, id'} limit 100`,
      );
      assert.deepEqual(
        exact.items.map(({ id }) => id),
        expected.map(({ id }) => id),
        where,
      );
      const explained = await plansOf(service, () => admin.get(pathOf({ ...holders, ...filter })));
      const assignments = explained.flatMap(({ steps }) =>
        steps.filter(({ table }) => table === 'user_roles').map(({ node, rows }) => ({ node, rows })),
      );
      // So few holders and inactive users are joined.
      const areJoined = 'is_active' in filter;
      assert.ok(
        assignments.every(({ node, rows }) =>
          areJoined ? rows <= 20_000 : node !== 'Seq Scan' && rows <= 10_001,
        ),
        where,
      );
    }
    // Very many match: the number is a lower bound, which grows on the way through the pages.
    const { total, total_is_estimate } = await pageOf({ ...holders, verified: true });
    assert.ok(total_is_estimate && total > 5_000 && total <= 10_000, String(total));
    const later = await pageOf({ ...holders, verified: true, page: 110 });
    assert.deepEqual([later.items.length, later.total], [100, 11_001]);
    // Few match among the holders that were read, and more among the others: who walks to the last page finds all.
    const rare = { ...holders, status: 'inactive', is_active: false };
    const expected = await service.sql<{ id: string }>(
      `select id from users where ${holds} and not is_active order by created_at, id`,
    );
    const found: string[] = [];
    let page = await pageOf(rare);
    assert.ok(page.total_is_estimate && page.total < expected.length, JSON.stringify(page.total));
    for (let number = 1; ; number += 1) {
      found.push(...page.items.map(({ id }) => id));
      if (number >= page.pages) break;
      page = await pageOf({ ...rare, page: number + 1 });
    }
    assert.deepEqual(
      found,
      expected.map(({ id }) => id),
    );
    assert.deepEqual([page.total, page.total_is_estimate], [expected.length, undefined]);
    const nobody = await pageOf({ ...rare, is_active: true });
    assert.deepEqual([nobody.items, nobody.total, nobody.total_is_estimate], [[], 0, undefined]);
  });

  test('for two characters that nobody has reads an index, not everybody', async () => {
    for (const search of ['qz', '王', '王伟', '%']) {
      const explained = await plansOf(service, () => admin.get(pathOf({ search })));
      const list = explained.filter(({ text }) => text.includes('short_parts'));
      assert.equal(list.length, 1);
      assert.ok(rowsOf(list) <= 200, `${search}: ${rowsOf(list)} rows`);
    }
  });

  test('for what everybody matches stops at the bound', async () => {
    for (const search of ['e', 'example.com', 'many'])
      assert.ok(rowsOf(await plansOf(service, () => admin.get(pathOf({ search })))) <= 15_000, search);
  });
});

// Last, because so many marks are unlike those of a service.
test('a user who was marked, and has another place since, is marked again there', async () => {
  const { db } = service.service.deps;
  await renewUserMarks(db);
  // The marks lie where their users were; now these come last, and are every user there.
  await service.sql(`
    update users set email = 'zz' || email where id in (select id from user_marks where "order" = 'email')`);
  await inSnapshot(db, (tx) => addChanges(tx, 50_000));
  await inSnapshot(db, async (tx) => {
    while (await splitWidestGap(tx, 'email', { step: 2, stretch: 50_000 }));
  });
  const [{ marks } = { marks: 0 }] = await service.sql<{ marks: number }>(
    `select count(*)::integer as marks from user_marks m join users u on u.id = m.id
     where m."order" = 'email' and u.email like 'zz%' and m.email = u.email`,
  );
  assert.ok(marks > 0);
  await service.sql('delete from login_attempts');
  await assertPages();
});
