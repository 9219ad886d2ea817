// What tests of starts share: a database without a schema, and the last words of a start that is refused.
// It must not start anything itself.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { atEnd } from '@castellan/embedded-postgres/testing';
import { scratchName, urlOfDatabase } from '@castellan/testing/scratch-database';
import { type Child, exitMessage } from '@castellan/testing/start/child';
import pg from 'pg';

/** Runs one statement as the administrator of the server. */
export async function onServer(statement: string): Promise<void> {
  const client = new pg.Client(urlOfDatabase('postgres'));
  await client.connect();
  await client.query(statement);
  await client.end();
}

/** Creates a database without a schema, which its first instance creates. */
export async function emptyDatabase(t: TestContext): Promise<string> {
  const name = scratchName();
  await onServer(`create database ${name} template template0`);
  // By force: the connections of a killed instance stay for a moment.
  atEnd(t, () => onServer(`drop database ${name} with (force)`));
  return urlOfDatabase(name);
}

/** Waits until the process exits with 1 and returns its last message, a JSON line without a stack. */
export async function refusal(child: Child): Promise<string> {
  const { code } = await child.ended;
  assert.equal(code, 1, `${child.out()}\n${child.err()}`);
  // Node and the driver may have written warnings before it.
  assert.match(child.err(), /(^|\n)\{"level":"fatal","time":"[^"]+Z","msg":"[^\n]+\}\n$/);
  const words = exitMessage(child.err());
  assert.match(words, /^Castellan cannot start\. /);
  assert.doesNotMatch(words, /^\s+at /m);
  return words;
}
