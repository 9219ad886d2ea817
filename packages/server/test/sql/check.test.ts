// Tests the check of SQL statements with deliberate mistakes: what it reports and what it accepts.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: sources are written as text
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { mistakesOf, readCatalog } from './check.ts';
import { readSources } from './sources.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));
const planted = 'packages/server/src/planted.ts';

/** Description, source, and the expected sentences. `db`, `pool` and the values are declared around the source. */
const cases: [string, string, string[]][] = [
  [
    'a statement without a mistake',
    'sql<{ name: string }>`select name from books where id = ${id}`.execute(db)',
    [],
  ],
  ['a misspelt column', 'sql`select nmae from books`.execute(db)', ['column "nmae" does not exist']],
  [
    'a misspelt column in a text that a function returns',
    "const isLong = (column: string) => `${column} > 9`; sql`select from books where ${sql.raw(isLong('pagse'))}`.execute(db)",
    ['column "pagse" does not exist'],
  ],
  ['a misspelt table', 'sql`delete from boks`.execute(db)', ['relation "boks" does not exist']],
  [
    'a misspelt column of the row',
    'sql<{ nmae: string }>`select name from books`.execute(db)',
    [
      'the row has a column name that the code does not declare',
      'the code declares nmae, which is no column of the row',
    ],
  ],
  [
    'a wrong type of a column',
    'sql<{ pages: string }>`select pages from books`.execute(db)',
    ['pages is declared as string, and PostgreSQL returns int4'],
  ],
  [
    'a bigint read as a number',
    'sql<{ total: number }>`select count(*) as total from books`.execute(db)',
    ['total is declared as number, and PostgreSQL returns int8'],
  ],
  [
    'a column that may be null',
    'sql<{ subtitle: string }>`select subtitle from books`.execute(db)',
    ['subtitle may be null, and the code declares it is not'],
  ],
  [
    'a column that may be null, through a common table expression',
    'sql<{ subtitle: string }>`with b as (select subtitle from books) select subtitle from b`.execute(db)',
    ['subtitle may be null, and the code declares it is not'],
  ],
  [
    'a column that is never null',
    'sql<{ name: string | null }>`select name from books`.execute(db)',
    ['name is never null, and the code declares it may be'],
  ],
  [
    'the same, null through an outer join',
    'sql<{ name: string | null }>`select b.name from books a left join books b on b.id = a.pages`.execute(db)',
    [],
  ],
  [
    'a column that a left join makes null',
    'sql<{ text: string }>`select n.text from books b left join notes n on n.book_id = b.id`.execute(db)',
    ['text may be null, and the code declares it is not'],
  ],
  [
    'a wrong type of a value',
    'sql`select from books where added_at > ${id}`.execute(db)',
    ['${id} is number, and PostgreSQL takes timestamptz'],
  ],
  [
    'a wrong type of the elements of a value',
    'sql`select from books where id = any(${flags}::int[])`.execute(db)',
    ['${flags} is boolean[], and PostgreSQL takes _int4'],
  ],
  [
    'a mistake in a fragment',
    'sql`select from books where ${id > 1 ? sql`true` : sql`nmae = ${text}`}`.execute(db)',
    ['column "nmae" does not exist'],
  ],
  [
    'a mistake in a fragment that a function makes',
    'const named = (name: string) => sql`nmae = ${name}`; sql`select from books where ${named(text)}`.execute(db)',
    ['column "nmae" does not exist'],
  ],
  [
    'a mistake in a list of conditions',
    'const all = [sql`true`]; if (id > 1) all.push(sql`nmae = ${text}`); sql`select from books where ${sql.join(all, sql` and `)}`.execute(db)',
    ['column "nmae" does not exist'],
  ],
  [
    'a misspelt table that a type allows',
    "export const count = (table: 'books' | 'boks') => sql`select count(*) from ${sql.table(table)}`.execute(db);",
    ['relation "boks" does not exist'],
  ],
  [
    'a misspelt table that a caller gives',
    "function count(table: string) { return sql`select count(*) from ${sql.table(table)}`.execute(db); } count('boks')",
    ['relation "boks" does not exist'],
  ],
  [
    'a mistake in a statement of node-postgres',
    "pool.query<{ name: number }>('select name from books where pages = $1', [text === ''])",
    [
      "${text === ''} is boolean, and PostgreSQL takes int4",
      'name is declared as number, and PostgreSQL returns text',
    ],
  ],
  [
    'a mistake in a named statement',
    "const find = { name: 'find', text: 'select nmae from books' }; pool.query<{ name: string }>({ ...find, values: [] })",
    ['column "nmae" does not exist'],
  ],
];

let folder: string;
let found: Map<number, string[]>;
let unread: string[];

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-sql-'));
  const { compilerOptions } = JSON.parse(await readFile(join(root, 'tsconfig.json'), 'utf8'));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['packages'] }));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  await mkdir(join(folder, planted, '..'), { recursive: true });
  const declarations =
    "import { type Kysely, sql } from 'kysely'; import type { Pool } from 'pg'; declare const db: Kysely<unknown>; declare const pool: Pool; declare const id: number; declare const text: string; declare const flags: boolean[];";
  const lines = [
    ...cases.map(([, source]) => source),
    'sql`select ${sql.raw(text)}`.execute(db)',
    'let later = sql`true`; sql`select from books where ${later}`.execute(db); later = sql`nmae`',
    'sql`unused`',
    "pool.query('select name from books').then(({ rows }) => rows[0].nmae)",
  ];
  await writeFile(join(folder, planted), [declarations, ...lines.map((line) => `{ ${line}; }`)].join('\n'));

  const database = await createScratchDatabase();
  const client = new pg.Client(database.url);
  await client.connect();
  const sources = readSources(folder);
  try {
    await client.query(
      'create table notes (book_id int not null, text text not null); create table books (id int primary key, name text not null, subtitle text, pages int not null, added_at timestamptz not null)',
    );
    const catalog = await readCatalog(client);
    found = new Map();
    for (const statement of sources.statements) {
      const number = Number(statement.at.split(':')[1]);
      for (const one of await mistakesOf(client, catalog, sources.checker, statement))
        found.set(number, [...(found.get(number) ?? []), one.slice(statement.at.length + 2)]);
    }
    unread = sources.unread.map(({ reason }) => reason);
  } finally {
    sources.close();
    await client.end();
    await database.drop();
  }
});
after(() => rm(folder, { recursive: true }));

for (const [index, [what, , expected]] of cases.entries())
  test(`${what}: ${expected.length === 0 ? 'nothing is reported' : 'reported'}`, () => {
    assert.deepEqual([...new Set(found.get(index + 2))], expected);
  });

test('statements that cannot be checked are reported', () => {
  assert.deepEqual(unread, [
    'text is neither a constant nor a parameter',
    'later may be assigned again',
    'its rows are of type any: name their type, query<{ … }>(…)',
    'no statement uses sql`true`',
    'no statement uses sql`nmae`',
    'no statement uses sql`unused`',
  ]);
});
