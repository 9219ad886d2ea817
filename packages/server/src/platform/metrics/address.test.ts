import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createLog } from '../logging/log.ts';
import { describeAddress, isReachedLocally, parseMetricsAddress } from './address.ts';
import { serveMetrics } from './server.ts';

test('addresses: IPv4, IPv6, every interface, sockets; and which of them other machines reach', () => {
  for (const [text, address, isLocal] of [
    ['127.0.0.1:9464', { host: '127.0.0.1', port: 9464 }, true],
    ['127.9.9.9:1', { host: '127.9.9.9', port: 1 }, true],
    ['localhost:9464', { host: 'localhost', port: 9464 }, true],
    ['[::1]:9464', { host: '::1', port: 9464 }, true],
    ['[::ffff:127.0.0.1]:9464', { host: '::ffff:127.0.0.1', port: 9464 }, true],
    [':9464', { host: undefined, port: 9464 }, false],
    ['0.0.0.0:65535', { host: '0.0.0.0', port: 65535 }, false],
    ['[::]:9464', { host: '::', port: 9464 }, false],
    ['10.0.0.7:9464', { host: '10.0.0.7', port: 9464 }, false],
    ['unix:/run/castellan/metrics.sock', { path: '/run/castellan/metrics.sock' }, true],
  ] as const) {
    assert.deepEqual(parseMetricsAddress(text), address);
    assert.equal(isReachedLocally(address), isLocal, text);
    assert.equal(describeAddress(address), text);
  }
});

test('what is no address is refused with an example', () => {
  for (const text of [
    '9464',
    ':',
    ':0',
    ':65536',
    'metrics.example:9464',
    '::1:9464',
    '[::1]',
    '[127.0.0.1]:9464',
    '1.2.3:9464',
    'unix:',
    'unix:metrics.sock',
    'http://127.0.0.1:9464',
    ' 127.0.0.1:9464',
  ])
    assert.throws(
      () => parseMetricsAddress(text),
      /write an IP address and a port such as 127\.0\.0\.1:9464/,
      text,
    );
  assert.throws(() => parseMetricsAddress(`unix:/${'a'.repeat(107)}`), /more than 107 bytes/);
});

test('a socket that a killed process left is replaced; a file is not', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-socket-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const options = {
    expose: async () => ({ contentType: 'text/plain', text: '' }),
    log: createLog('silent'),
    hosts: [],
  };
  const file = join(folder, 'file');
  await writeFile(file, 'mine');
  await assert.rejects(serveMetrics({ path: file }, options), { code: 'EADDRINUSE' });
  const path = join(folder, 'left.sock');
  await leaveSocket(path);
  const server = await serveMetrics({ path }, options);
  await server.close();
});

/** Leaves a socket as a killed process does: nobody listens, and the file stays. */
async function leaveSocket(path: string): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen({ path }, resolve));
  await rename(path, `${path}.kept`);
  await new Promise((resolve) => server.close(resolve));
  await rename(`${path}.kept`, path);
}
