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
  'packages/server/src/modules/sessions/key-store.ts: no statement uses sql<number>`(extract(epoch from signs_from - clock_timestamp()) * 1000)::float8`',
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
  'packages/server/src/modules/authz/impact-store.ts',
  'packages/server/src/modules/dashboard/store.ts',
  'packages/server/src/modules/sessions/ended-rows.ts',
  'packages/server/src/modules/sessions/key-store.ts',
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
