// Searches, filters and pages with everything that SQL, LIKE and regular expressions treat specially: the answer must
// equal a scan of all records by the documented rule. It must not ask the database to compare.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { ADMIN, newEmail, signIn, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addPerson } from '@castellan/testing/users/people';
import fc from 'fast-check';
import { seed } from './target.ts';

const scenario = scenariosOf('fuzzing');
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);

// Each is special somewhere: in LIKE, POSIX and other regular expressions, tsquery, SQL, JSON, URLs, or as our own `*`.
const specials = [
  '%',
  '_',
  '\\',
  '*',
  '%%',
  '\\%',
  '\\_',
  '\\\\',
  '.*',
  '^',
  '$',
  '[a-z]',
  '(?i)',
  '(a+)+',
  '|',
  '?',
  '+',
  '{2}',
  "'",
  "''",
  '"',
  '--',
  '/*',
  ';',
  '$$',
  '$1',
  ':a',
  '!~',
  '& |',
  '<->',
  '#',
  '&',
  '=',
  '%25',
  '%00',
  '\u00e9',
  '\u4e2d',
  '\u{1f9d9}',
  'e\u0301',
  '\u00a0',
  'null',
  'true',
  '0',
];
const words = ['Ada', 'ADA', 'ada', 'Lovelace', 'Gr', 'a', 'x'];

type User = { id: string; first_name: string; last_name: string; email: string };
const users: User[] = [];
for (const special of specials.filter((one) => one.trim() !== ''))
  for (const name of [special, `Ada${special}`, `${special}${special}x`]) {
    const given = name.normalize('NFC').trim();
    const email = newEmail('found');
    const person = await addPerson(service, {
      email,
      firstName: given,
      lastName: `Lovelace ${given}`.trim(),
    });
    users.push({ id: person.id, first_name: given, last_name: `Lovelace ${given}`.trim(), email });
  }
const [first] = await service.sql<User>(
  'select id, first_name, last_name, email from users where email = $1',
  [ADMIN.email],
);
assert.ok(first);
users.push(first);

const roleNames = specials
  .flatMap((special) => [`${special}`, `Role${special}`, `r${special}r`])
  .map((name) => name.normalize('NFC').trim());
const roles = new Map(
  (await service.sql<{ id: string; name: string }>('select id, name from roles')).map(({ id, name }) => [
    id,
    name,
  ]),
);
for (const name of new Set(roleNames.filter((one) => one !== '').map((one) => one.toLowerCase()))) {
  const [role] = await service.sql<{ id: string }>(
    'insert into roles (id, name) values (gen_random_uuid(), $1) returning id',
    [name],
  );
  roles.set(role?.id as string, name);
}

/** Without case and marks. */
const fold = (text: string): string => text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();

/**
 * Returns whether the full name or email contains every word, ignoring case and marks. Of a text of commas alone it is the
 * text; `''` matches all. The texts have no more than seven words.
 */
const hasWords = (user: User, search: string): boolean => {
  const given = search.trim();
  const words = given.split(/[\s,]+/u).filter((word) => word !== '');
  const texts = [`${user.first_name} ${user.last_name}`, user.email].map(fold);
  return (words.length === 0 ? [given] : words).every((word) =>
    texts.some((text) => text.includes(fold(word))),
  );
};

/** Returns whether the name matches, ignoring case: `*` matches any text. Tries all positions of the parts. */
function matches(name: string, pattern: string): boolean {
  const [head = '', ...rest] = pattern.normalize('NFC').toLowerCase().split('*');
  const text = name.toLowerCase();
  if (!text.startsWith(head)) return false;
  if (rest.length === 0) return text === head;
  const tail = rest.pop() as string;
  let from = head.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - tail.length >= from && text.endsWith(tail);
}

/** Returns all ids of a list, read page by page. */
async function idsOf(path: string, query: Record<string, string>, size: number): Promise<string[]> {
  const ids: string[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const text = new URLSearchParams({ ...query, size: String(size), page: String(page) });
    const answer = await admin.get(`/api/v1/${path}?${text}`);
    assert.equal(answer.status, 200, `HARDENING_SEED=${seed}: ${path}?${text}: ${answer.text}`);
    const { items = answer.body.data, ...paging } = answer.body.data;
    const { total, pages: count } = answer.body.pagination ?? paging;
    assert.equal(count, Math.ceil(total / size));
    assert.equal(items.length, Math.max(0, Math.min(size, total - (page - 1) * size)));
    ids.push(...items.map((one: { id: string }) => one.id));
    pages = count;
  }
  assert.equal(new Set(ids).size, ids.length, `${path}: a record twice`);
  return ids.sort();
}

const text = fc
  .array(fc.constantFrom(...specials, ...words, ' ', '\n', '\t', '@example', 'found-'), {
    minLength: 1,
    maxLength: 4,
  })
  .map((parts) => parts.join(''));

scenario(
  'a search for users finds exactly what a scan of all users finds, whatever is special in SQL, LIKE or expressions',
  async (tally) => {
    const ask = async (search: string): Promise<void> => {
      const expected = users.filter((user) => hasWords(user, search)).map(({ id }) => id);
      for (const path of ['users', 'users/list', 'users/order_by_created_at'].slice(0, rounds(1, 3)))
        assert.deepEqual(
          await idsOf(path, { search }, 100),
          expected.sort(),
          `HARDENING_SEED=${seed}: ${path} search ${JSON.stringify(search)}`,
        );
      tally.tried();
      tally.held();
    };
    for (const special of [...specials, 'Lovelace\nfound', 'x\nfound', '\n']) await ask(special);
    await fc.assert(fc.asyncProperty(text, ask), { seed, numRuns: rounds(60, 1_500) });
  },
);

scenario(
  'a name pattern of roles finds exactly what a scan of all roles finds: only the asterisk is special',
  async (tally) => {
    const ask = async (pattern: string): Promise<void> => {
      const expected = [...roles].filter(([, name]) => matches(name, pattern)).map(([id]) => id);
      assert.deepEqual(
        await idsOf('roles', { name_pattern: pattern }, 100),
        expected.sort(),
        `HARDENING_SEED=${seed}: pattern ${JSON.stringify(pattern)}`,
      );
      tally.tried();
      tally.held();
    };
    for (const special of specials)
      for (const pattern of [special, `*${special}`, `${special}*`, `*${special}*`]) await ask(pattern);
    const names = fc.constantFrom(...roles.values());
    const cut = fc
      .tuple(names, fc.nat(5), fc.nat(5))
      .map(([name, from, to]) => `${name.slice(0, from)}*${name.slice(to)}`);
    const anything = fc.oneof(
      text,
      cut,
      names,
      fc.tuple(text, text).map((both) => both.join('*')),
      fc.constantFrom('*', '**', '*'.repeat(200)),
    );
    await fc.assert(
      fc.asyncProperty(
        anything.filter((one) => one.isWellFormed()),
        ask,
      ),
      { seed, numRuns: rounds(60, 1_500) },
    );
  },
);

scenario(
  'the pages of a list together are the list, each record once, at every page size and page number',
  async (tally) => {
    const all = users.map(({ id }) => id).sort();
    const sizes = [1, 7, 50, 99, 100].slice(rounds(1, 0));
    for (const size of sizes)
      for (const sort of ['created_at', '-created_at', 'email', '-email', 'last_name', '-last_name']) {
        assert.deepEqual(await idsOf('users', { sort }, size), all, `${sort} by ${size}`);
        tally.tried(Math.ceil(all.length / size));
        tally.held();
      }
    const good = ['1', '2', '100', '1000000000', '+1', '01', '1.0', '1e2'];
    const bad = [
      '0',
      '-1',
      '1.5',
      '1000000001',
      '9223372036854775808',
      '1e400',
      'Infinity',
      'NaN',
      '0x',
      'one',
      '1;drop',
      '1 or 1=1',
      '١',
      '\u00a01x',
      '[]',
      '{}',
      'null',
    ];
    for (const path of ['users', 'roles', 'permissions', 'role-groups', 'permission-groups'])
      for (const [values, statuses] of [
        [good, [200, 422]],
        [bad, [422]],
      ] as const)
        for (const value of values) {
          const answer = await admin.get(`/api/v1/${path}?page=${encodeURIComponent(value)}`);
          assert.ok(
            (statuses as readonly number[]).includes(answer.status),
            `${path} page ${value}: ${answer.status} ${answer.text.slice(0, 300)}`,
          );
          const sized = await admin.get(`/api/v1/${path}?size=${encodeURIComponent(value)}`);
          assert.ok(
            (statuses as readonly number[]).includes(sized.status),
            `${path} size ${value}: ${sized.status} ${sized.text.slice(0, 300)}`,
          );
          tally.tried(2);
          tally.held(2);
        }
    for (const path of [
      'users?page=1000000000&size=100',
      'roles?page=1000000000&size=100',
      'users?page=1000000000&search=a',
    ]) {
      const { body } = await admin.get(`/api/v1/${path}`);
      assert.deepEqual(body.data.items ?? body.data, []);
      assert.ok((body.pagination ?? body.data).total > 0);
      tally.tried();
      tally.held();
    }
    tally.held(await assertSound(service));
  },
);
