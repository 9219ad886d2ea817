// Reads from PostgreSQL's catalogue what a database consists of, and builds the statements for its tables. A table of a new
// migration is included by itself: it must name only those that are left out.
import { type ClientBase, escapeIdentifier } from 'pg';
import { bookkeepingTables } from '../../platform/db/migrate.ts';

export type TableInfo = {
  name: string;
  /** Those that can be written: not the generated ones. */
  columns: string[];
  /** The planner's estimate; 0 if it has none. */
  estimated_rows: number;
};

// Of the schema in which the service creates its tables. What an extension brought comes with the extension.
const ours = `c.relnamespace = current_schema()::regnamespace and not exists (
  select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`;

/** The change feed: in a restored database it begins anew, so that no reader goes on from a lost history. */
const leftOutTables: readonly string[] = ['feed_log', 'feed_queue', 'feed_state'];

/**
 * Returns the tables, by name. Without those of the migrations, which the schema brings, and without unlogged tables, whose
 * rows PostgreSQL itself drops after a crash.
 */
export async function readTables(client: ClientBase): Promise<TableInfo[]> {
  const { rows } = await client.query<TableInfo>(
    `select c.relname::text as name, greatest(c.reltuples, 0)::float8 as estimated_rows,
       array(select a.attname::text from pg_attribute a
         where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
         order by a.attnum) as columns
     from pg_class c
     where ${ours} and c.relkind = 'r' and c.relpersistence = 'p'
       and c.relname <> all($1) order by c.relname`,
    [[...bookkeepingTables, ...leftOutTables]],
  );
  return rows;
}

/** Returns the names of the tables whose rows are not backed up. */
export async function readLeftOutTables(client: ClientBase): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname::text as name from pg_class c
     where ${ours} and c.relkind = 'r' and (c.relpersistence = 'u' or c.relname = any($1)) order by c.relname`,
    [leftOutTables],
  );
  return rows.map(({ name }) => name);
}

export async function readSequences(
  client: ClientBase,
): Promise<{ name: string; last_value: string; is_called: boolean }[]> {
  const { rows } = await client.query<{ name: string }>(
    `select c.relname::text as name from pg_class c where ${ours} and c.relkind = 'S' order by c.relname`,
  );
  const found = [];
  for (const { name } of rows) {
    const { rows: positions } = await client.query<{ last_value: string; is_called: boolean }>(
      `select last_value::text as last_value, is_called from ${escapeIdentifier(name)}`,
    );
    found.push(...positions.map((position) => ({ name, ...position })));
  }
  return found;
}

/** Whether the schema has nothing but what extensions brought. */
export async function isEmptyDatabase(client: ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ found: boolean }>(
    `select exists (select from pg_class c where ${ours}) as found`,
  );
  return rows[0]?.found === false;
}

export const namesOf = (tables: readonly Pick<TableInfo, 'name'>[]): string =>
  tables.map(({ name }) => escapeIdentifier(name)).join(', ');

/** Returns the beginning of a COPY: a table with its columns. */
export const copyTarget = ({ name, columns }: Pick<TableInfo, 'name' | 'columns'>): string =>
  `copy ${escapeIdentifier(name)} (${columns.map((column) => escapeIdentifier(column)).join(', ')})`;

/** Settings that decide how COPY writes and reads values, and limits that would end a long transaction. */
export const transactionSettings = `
  set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0; set local row_security = off;
  set local timezone = 'UTC'; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres';
  set local extra_float_digits = 3; set local bytea_output = 'hex'; set local xmloption = 'content'`;

type SetAside = { drop: string; create: string };

/**
 * Returns the statements that drop and create again every foreign key, then every index that belongs to no constraint. Rows
 * can then be loaded in any order, and an index over many rows is built faster than it is extended. Create them in reverse.
 */
export async function readLoadObstacles(client: ClientBase): Promise<SetAside[]> {
  const { rows } = await client.query<SetAside>(
    `select format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname) as drop,
       format('alter table %s add constraint %I %s', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid))
         as create
     from pg_constraint k join pg_class c on c.oid = k.conrelid
     where ${ours} and k.contype = 'f' and k.conparentid = 0
     union all
     select format('drop index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
     from pg_index i join pg_class c on c.oid = i.indrelid
     where ${ours} and c.relpersistence = 'p'
       and not exists (select from pg_constraint k where k.conindid = i.indexrelid)`,
  );
  return rows;
}
