import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort, portOf } from './ports.ts';

test('a free port can be used, and is none that the system gives to others', async (t) => {
  const port = await freePort();
  const server = createServer().listen(port, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const given = createServer().listen(0, '127.0.0.1');
  t.after(() => given.close());
  await once(given, 'listening');
  assert.ok(port < 32_768 && portOf(given) >= 32_768, `${port} and ${portOf(given)}`);
});
