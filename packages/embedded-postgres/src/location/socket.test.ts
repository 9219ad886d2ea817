/** Tests where the socket is if the path of the cluster is too long. They must not leave folders in /tmp. */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { settings } from '../../test/fixture.ts';
import { startEmbeddedPostgres } from '../index.ts';
import { atEnd, query, temporaryFolder } from '../testing.ts';

test('a long path gets a short private folder for the socket, which others find and the last process removes', async (t) => {
  const dataDir = join(temporaryFolder(t), 'a-long-name'.repeat(10), 'data');
  const first = await startEmbeddedPostgres({ dataDir, settings });
  atEnd(t, () => first.stop());
  const { host } = first.connection;
  assert.ok(Buffer.byteLength(first.cluster) > 107);
  assert.ok(Buffer.byteLength(host) < 90);
  assert.equal(statSync(host).mode & 0o777, 0o700);
  assert.equal(statSync(host).uid, statSync(first.cluster).uid);
  const second = await startEmbeddedPostgres({ dataDir, settings });
  atEnd(t, () => second.stop());
  assert.equal(second.connection.host, host);
  assert.equal((await query(second.connection, 'select 1 as one')).length, 1);
  await first.stop();
  await second.stop();
  assert.equal(existsSync(host), false);
});

test('a folder that another user created is not used', async (t) => {
  const dataDir = join(temporaryFolder(t), 'a-long-name'.repeat(10), 'data');
  const before = await startEmbeddedPostgres({ dataDir, settings });
  const { host } = before.connection;
  await before.stop();
  mkdirSync(host);
  // Open to everyone, unlike the folders of the service. The owner cannot be changed without root.
  chmodSync(host, 0o777);
  atEnd(t, () => rmdirSync(host));
  const server = await startEmbeddedPostgres({ dataDir, settings });
  atEnd(t, () => server.stop());
  assert.notEqual(server.connection.host, host);
  assert.equal(dirname(server.connection.host), dirname(host));
  assert.equal(statSync(server.connection.host).mode & 0o777, 0o700);
});

test('a path with spaces, commas, quotes and non-ASCII letters works', async (t) => {
  const dataDir = join(temporaryFolder(t), `a b,"c" 'd' é`, 'data');
  const server = await startEmbeddedPostgres({ dataDir, settings });
  atEnd(t, () => server.stop());
  assert.equal((await query(server.connection, 'select 1 as one')).length, 1);
});
