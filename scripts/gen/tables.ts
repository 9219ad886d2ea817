// Writes packages/server/src/schema/tables.ts from a database on which every migration ran. With --check it only reports
// a stale file (exit status 1). Uses the embedded PostgreSQL of the tests.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrate, readMigrations } from '../../packages/server/src/platform/db/migrate.ts';
import { createKysely } from '../../packages/server/src/platform/db/pool.ts';
import { holdServer, warmCluster } from '../test/server.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const path = 'packages/server/src/schema/tables.ts';

type Column = {
  table: string;
  name: string;
  type: string;
  nullable: boolean;
  /** Filled in by PostgreSQL when an insert leaves it out. */
  has_default: boolean;
  /** Computed by PostgreSQL: no statement may write it. */
  is_computed: boolean;
  /** What a check constraint of the form `column in ('a', 'b')` allows, as PostgreSQL prints it. */
  allowed: string | null;
};

const columnsQuery = `
  select c.relname as "table", a.attname as name, t.typname as type, not a.attnotnull as nullable,
         a.atthasdef as has_default, a.attgenerated <> '' or a.attidentity = 'a' as is_computed,
         (select pg_get_constraintdef(k.oid) from pg_constraint k
          where k.conrelid = c.oid and k.contype = 'c' and k.conkey = array[a.attnum]
            and pg_get_constraintdef(k.oid) ~ '^CHECK \\(\\(\\w+ = ANY \\(ARRAY\\[') as allowed
  from pg_class c
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
  where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  order by c.relname, a.attnum`;

/** The JavaScript type that node-postgres returns for a PostgreSQL type with its default parsers. */
export const returnedTypes: Readonly<Record<string, string>> = {
  bool: 'boolean',
  bytea: 'Buffer',
  date: 'Date',
  float8: 'number',
  int2: 'number',
  int4: 'number',
  int8: 'string',
  interval: 'unknown',
  json: 'unknown',
  jsonb: 'unknown',
  text: 'string',
  timestamptz: 'Date',
  uuid: 'string',
  varchar: 'string',
};
/** Types of columns that are written in another form than they are read. */
const aliases: Record<string, string> = { int8: 'Int8', jsonb: 'Json', timestamptz: 'Timestamp' };

/** The name of an array type in PostgreSQL is that of its elements with an underscore in front. */
function plainType(type: string): string | undefined {
  if (!type.startsWith('_')) return aliases[type] ?? returnedTypes[type];
  const element = returnedTypes[type.slice(1)];
  return element && `${element}[]`;
}

function typeOf({ table, name, type, nullable, has_default, is_computed, allowed }: Column): string {
  const literals = allowed === null ? [] : [...allowed.matchAll(/'((?:[^']|'')*)'::text/g)];
  const plain = literals.length > 0 ? literals.map(([, text]) => `'${text}'`).join(' | ') : plainType(type);
  if (plain === undefined)
    throw new Error(`${table}.${name} is of type ${type}: name its type in scripts/gen/tables.ts`);
  const full = nullable ? `${plain} | null` : plain;
  if (is_computed) return `Computed<${full}>`;
  return has_default ? `Defaulted<${full}>` : full;
}

function render(columns: readonly Column[]): string {
  const tables = Map.groupBy(columns, (column) => column.table);
  const bodies = [...tables].map(
    ([table, own]) =>
      `  ${table}: {\n${own.map((one) => `    ${one.name}: ${typeOf(one)};\n`).join('')}  };\n`,
  );
  return `// Generated from packages/server/migrations by \`npm run gen\`: add a migration instead of changing it here.
// Every table as node-postgres reads and writes it.
import type { ColumnType } from 'kysely';

/** Computed by PostgreSQL, never written. */
type Computed<T> = T extends ColumnType<infer S, unknown, unknown> ? ColumnType<S, never, never> : ColumnType<T, never, never>;
/** Has a default: an insert may leave it out. */
type Defaulted<T> = T extends ColumnType<infer S, infer I, infer U> ? ColumnType<S, I | undefined, U> : ColumnType<T, T | undefined, T>;
/** Read as a decimal string: a JavaScript number does not hold every bigint. */
type Int8 = ColumnType<string, string | number | bigint, string | number | bigint>;
/** Read as parsed JSON, written as its text. */
type Json = ColumnType<unknown, string, string>;
type Timestamp = ColumnType<Date, Date | string, Date | string>;

export type Tables = {
${bodies.join('')}};
`;
}

/** Returns the text of the file, formatted. */
export async function generateTables(): Promise<string> {
  const server = await holdServer(warmCluster());
  const name = `tables_${randomBytes(6).toString('hex')}`;
  const url = new URL(server.adminUrl);
  const admin = new pg.Client(server.adminUrl);
  try {
    await admin.connect();
    await admin.query(`create database ${name}`);
    url.pathname = `/${name}`;
    const pool = new pg.Pool({ connectionString: url.href });
    const db = createKysely<unknown>(pool);
    try {
      const files = await readMigrations();
      await db.transaction().execute((tx) => migrate(tx, files, []));
      const { rows } = await pool.query<Column>(columnsQuery);
      return format(render(rows));
    } finally {
      await pool.end();
    }
  } finally {
    // Without force: the connection closes a little after the pool ends, and PostgreSQL waits 5 s for it.
    await admin.query(`drop database if exists ${name}`);
    await admin.end();
    await server.release();
  }
}

const format = (text: string): string =>
  execFileSync('node_modules/.bin/biome', ['format', `--stdin-file-path=${path}`], {
    cwd: root,
    input: text,
    encoding: 'utf8',
  });

if (import.meta.main) {
  const fresh = await generateTables();
  const file = new URL(`../../${path}`, import.meta.url);
  const present = await readFile(file, 'utf8').catch(() => '');
  if (present !== fresh && process.argv.includes('--check')) {
    process.stderr.write(`${path} is not what the migrations make: run npm run gen\n`);
    process.exitCode = 1;
  } else if (present !== fresh) {
    await writeFile(file, fresh);
    process.stdout.write(`wrote ${path}\n`);
  }
}
