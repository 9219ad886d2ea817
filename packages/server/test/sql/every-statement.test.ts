// Prepares every SQL statement of the sources against the migrated schema and compares its parameters and columns with
// the types in the code. It executes none, so no request has to reach it. Its limits: docs/decisions/0006-kysely.md.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { type Catalog, mistakesOf, readCatalog } from './check.ts';
import { readSources } from './sources.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url)).replace(/\/$/, '');

/** What is not checked: a column of a builder's query, SQL files, the driver below Kysely, and tables by any name. */
const unchecked = [
  'packages/server/src/modules/backup/catalog-store.ts: the text of escapeIdentifier(name) is not known before it runs',
  'packages/server/src/modules/backup/load.ts: create is neither a constant nor a parameter',
  'packages/server/src/modules/backup/load.ts: drop is neither a constant nor a parameter',
  'packages/server/src/modules/backup/load.ts: the text of escapeIdentifier(name) is not known before it runs',
  'packages/server/src/modules/backup/load.ts: the text of escapeIdentifier(name) is not known before it runs',
  'packages/server/src/modules/backup/load.ts: the text of namesOf([...tables.values()]) is not known before it runs',
  'packages/server/src/modules/backup/load.ts: the text of namesOf([...tables.values()]) is not known before it runs',
  'packages/server/src/modules/backup/write.ts: the text of namesOf(expected) is not known before it runs',
  'packages/server/src/platform/db/migrate.ts: rows.map(({ name }) => sql.table(name)) is not an array literal',
  'packages/server/src/platform/db/migrate.ts: the text of file.text is not known before it runs',
  'packages/server/src/platform/db/pool.ts: depends on a parameter',
  'packages/server/src/platform/db/pool.ts: the text of { text, values: [...values] } is not known before it runs',
  'packages/server/src/platform/db/text-rows.ts: the text of new TextQuery<R>(name, text, values.map(arrayText)) is not known before it runs',
];

const sources = readSources(root);
const byFile = Map.groupBy(sources.statements, ({ at }) => at.replace(/:\d+$/, ''));
let client: pg.Client;
let catalog: Catalog;
let drop: () => Promise<void>;

before(async () => {
  const database = await createScratchDatabase({ migrated: true });
  drop = database.drop;
  client = new pg.Client(database.url);
  await client.connect();
  catalog = await readCatalog(client);
});
after(async () => {
  sources.close();
  await client.end();
  await drop();
});

test('every SQL template of the sources belongs to a statement whose text is known', () => {
  const unread = sources.unread.map(({ at, reason }) => `${at.replace(/:\d+$/, '')}: ${reason}`);
  assert.deepEqual(unread.sort(), unchecked);
  assert.ok(sources.statements.length > 200, `${sources.statements.length} found`);
});

for (const [file, statements] of byFile)
  test(`${file}: PostgreSQL and the code agree on its statements`, async () => {
    const found: string[] = [];
    for (const statement of statements)
      found.push(...(await mistakesOf(client, catalog, sources.checker, statement)));
    assert.deepEqual([...new Set(found)], []);
  });

// Their limits are constants, they read the rows of one user, or their transaction plans all of them (impact-store.ts).
const exempt = [
  'packages/server/src/modules/authz/impact/impact-store.ts',
  'packages/server/src/modules/dashboard/store.ts',
  'packages/server/src/modules/sessions/ended-rows.ts',
  'packages/server/src/modules/sessions/keys/store.ts',
  'packages/server/src/modules/sessions/store.ts',
];

test('every list and every search is planned for its values', () => {
  const named = sources.statements.filter(
    ({ text }) =>
      /^\s*(select|with)\b/i.test(text) &&
      /\b(limit|offset|like lower\()\s*\(?\$\d/i.test(text) &&
      !/\bfor (no key )?update\b|\b(delete from|insert into|update) /i.test(text),
  );
  const files = named.map(({ at }) => at.replace(/:\d+$/, ''));
  assert.deepEqual(
    [...new Set(files)].filter((file) => !exempt.includes(file)),
    [],
  );
});

const assignments = 'packages/server/src/modules/assignments/';
const assignmentTables = /\b(?:user_roles|service_account_roles|subject_roles)\b/i;
const assignmentWrites = /\b(?:insert into|delete from) (?:user_roles|service_account_roles)\b/gi;

test('roles that are held are read from the views of migration 0051, and written by modules/assignments', () => {
  const refused = sources.statements.filter(({ at, text }) => {
    // Statistics are those of the tables.
    if (/^\s*analyze\b/i.test(text)) return false;
    const read = at.startsWith(assignments) ? text.replaceAll(assignmentWrites, '') : text;
    return assignmentTables.test(read);
  });
  assert.deepEqual(
    refused.map(({ at }) => at),
    [],
  );
});

/** Returns what the planner chooses and expects for a statement whose values it does not know. */
async function planOf(text: string): Promise<string> {
  await client.query(`deallocate all; prepare planned as ${text}`);
  const { rows } = await client.query<{ count: number }>(
    'select cardinality(parameter_types) as count from pg_prepared_statements',
  );
  const nulls = Array<string>(rows[0]?.count ?? 0).fill('null');
  const plan = await client.query(
    `explain (format json) execute planned ${nulls.length > 0 ? `(${nulls})` : ''}`,
  );
  // Texts of conditions name the aliases of views.
  return JSON.stringify(plan.rows[0]['QUERY PLAN'], (key, value) =>
    /^Alias$|(?:Cond|Filter|Key)$/.test(key) ? undefined : value,
  );
}

test('a statement that reads the roles of one kind of subject is planned as if it read the table', async () => {
  await client.query(`
    insert into roles (id, name) select gen_random_uuid(), 'Role ' || n from generate_series(1, 20) n;
    insert into users (id, email, first_name, last_name)
      select gen_random_uuid(), n || '@example.com', 'A', 'B' from generate_series(1, 2000) n;
    insert into service_accounts (id, name) select gen_random_uuid(), 'Account ' || n from generate_series(1, 50) n;
    insert into user_roles (user_id, role_id)
      select u.id, r.id from users u join roles r on right(r.name, 1) = left(u.email, 1);
    insert into service_account_roles (service_account_id, role_id)
      select a.id, r.id from service_accounts a join roles r on right(r.name, 1) = right(a.name, 1);
    analyze;
    set plan_cache_mode = force_generic_plan`);
  const texts = sources.statements.map(({ text }) => text);
  const readers = new Set(texts.filter((text) => /\bheld_(?:user|account)_roles\b/.test(text)));
  assert.ok(readers.size > 20, `${readers.size} statements`);
  for (const text of readers)
    assert.equal(
      await planOf(text),
      await planOf(
        text
          .replaceAll('held_user_roles', 'user_roles')
          .replaceAll('held_account_roles', 'service_account_roles'),
      ),
      text,
    );
});
