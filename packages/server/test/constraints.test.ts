// The names of the database's constraints, and the error code of each violation.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { errorCatalogue } from '@castellan/contract/errors';
import { startTestService } from '@castellan/testing/harness';
import { constraintCodes } from '../src/schema/constraints.ts';

const service = await startTestService({ after });

type Constraint = { table: string; name: string; type: string; columns: string[] };

const constraints = await service.sql<Constraint>(`
  select t.relname as "table", c.conname as name, c.contype as type,
    array(select a.attname::text from unnest(c.conkey) with ordinality k (number, place)
      join pg_attribute a on a.attrelid = c.conrelid and a.attnum = k.number order by k.place) as columns
  from pg_constraint c join pg_class t on t.oid = c.conrelid
  where c.connamespace = 'public'::regnamespace and c.contype in ('p', 'u', 'f', 'c')`);

/** Unique indexes without a constraint; a column inside an expression counts as that column. */
const uniqueIndexes = await service.sql<Constraint>(`
  select t.relname as "table", i.relname as name, 'u' as type,
    array(select substring(pg_get_indexdef(x.indexrelid, place, true) from '[a-z_]+(?=\\)|$)')
      from generate_series(1, x.indnkeyatts) place order by place) as columns
  from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class t on t.oid = x.indrelid
  where x.indisunique and t.relnamespace = 'public'::regnamespace
    and not exists (select from pg_constraint c where c.conindid = x.indexrelid and c.contype in ('p', 'u'))`);

/** Names that functions of triggers raise, as if they were constraints. */
const raised = (
  await service.sql<{ name: string }>(`
    select (regexp_matches(prosrc, 'constraint = ''([a-z_]+)''', 'g'))[1] as name from pg_proc
    where pronamespace = 'public'::regnamespace`)
).map(({ name }) => name);

const endings: Readonly<Record<string, string>> = { p: 'pkey', u: 'key', f: 'fkey', c: 'check' };

/** Created and named by the migration tool. */
const ownTables = new Set(['schema_migrations', 'schema_migrations_lock']);

/** These compare the parent with the row's own id and are named after the invalid column. */
const namedAfterTheParent = new Set(['role_groups_parent_id_check', 'permission_groups_parent_id_check']);

const every = [...constraints, ...uniqueIndexes].filter(({ table }) => !ownTables.has(table));

test('every constraint and unique index is named <table>_<columns>_<key, pkey, fkey or check>', () => {
  assert.ok(every.length > 40);
  const misnamed = every.filter(
    ({ table, name, type, columns }) =>
      name !== `${table}_${columns.join('_')}_${endings[type]}` && !namedAfterTheParent.has(name),
  );
  assert.deepEqual(misnamed, []);
});

/** Keys that no request can violate, because the service generates a new value for each row. */
const unbreakable = (constraint: Constraint): boolean =>
  constraint.type === 'p' && !/^(user_roles|role_permissions|role_group_roles)$/.test(constraint.table);

test('every unique and foreign key, and every primary key of a link table, has an error code', () => {
  const unmapped = every
    .filter((constraint) => constraint.type !== 'c' && !unbreakable(constraint))
    .map(({ name }) => name)
    .filter((name) => !(name in constraintCodes));
  assert.deepEqual(unmapped, []);
});

test('the map contains only existing constraints and codes of the catalogue', () => {
  const names = new Set([...every.map(({ name }) => name), ...raised]);
  assert.deepEqual(
    Object.keys(constraintCodes).filter((name) => !names.has(name)),
    [],
  );
  for (const code of Object.values(constraintCodes)) assert.ok(code in errorCatalogue, code);
});
