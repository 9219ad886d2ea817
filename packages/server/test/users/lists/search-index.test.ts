// The search index: its keys, and the migrations on servers that refuse the trigram extension or have it in another schema.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';

const folder = new URL('../../../migrations/', import.meta.url);

async function migrations(): Promise<string[]> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(files.map((file) => readFile(new URL(file, folder), 'utf8')));
}

const searchIndexes = async (client: pg.Client): Promise<string[]> =>
  (await client.query(`select indexdef from pg_indexes where indexname = 'users_search_text_idx'`)).rows.map(
    (row) => row.indexdef,
  );

/** Returns a connection to an empty database; a scratch one already has the platform's tables. */
async function emptied(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('drop schema public cascade; create schema public');
  return client;
}

test('a database user who may not create extensions gets every table, without the search index', async () => {
  const database = await createScratchDatabase();
  const client = await emptied(database.url);
  const role = `restricted_${randomBytes(4).toString('hex')}`;
  try {
    await client.query(`create role ${role}; grant usage, create on schema public to ${role}`);
    await client.query(`set role ${role}`);
    for (const text of await migrations()) await client.query(text);
    assert.deepEqual(await searchIndexes(client), []);
    await client.query(
      `insert into users (id, email, first_name, last_name) values (gen_random_uuid(), 'a@b.example', 'Ada', 'B')`,
    );
    const { rows } = await client.query(`select from users where search_text like '%da b%'`);
    assert.equal(rows.length, 1);
  } finally {
    await client.query(`reset role; drop owned by ${role} cascade; drop role ${role}`);
    await client.end();
    await database.drop();
  }
});

test('an extension in a separate schema is used from there', async () => {
  const database = await createScratchDatabase();
  const client = await emptied(database.url);
  try {
    await client.query('create schema "My Extensions"; create extension pg_trgm schema "My Extensions"');
    for (const text of await migrations()) await client.query(text);
    assert.equal((await searchIndexes(client)).length, 1);
  } finally {
    await client.end();
    await database.drop();
  }
});

test('the index on short parts has every character and every two neighbors', async () => {
  const database = await createScratchDatabase();
  const client = await emptied(database.url);
  try {
    for (const text of await migrations()) await client.query(text);
    const texts = [
      '',
      'a',
      'ab',
      'aab',
      'ada b\nada@b.example',
      '王伟 ü\\&%_',
      '😀e\u0301😀',
      'a\u0001b\u0001',
      '\u0001',
    ];
    for (const text of texts) {
      const characters = [...text];
      const expected = new Set([
        ...characters,
        ...characters.slice(1).map((next, index) => `${characters[index]}${next}`),
      ]);
      const { rows } = await client.query('select short_parts($1) as parts', [text]);
      assert.deepEqual(new Set(rows[0].parts), expected, JSON.stringify(text));
    }
  } finally {
    await client.end();
    await database.drop();
  }
});
