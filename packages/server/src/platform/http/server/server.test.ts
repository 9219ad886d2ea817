import assert from 'node:assert/strict';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createLog } from '../../logging/log.ts';
import { parseTrustedProxies } from '../../security/client-address.ts';
import { createServer } from './server.ts';

const newServer = () =>
  createServer({
    log: createLog('silent'),
    publicUrl: 'http://castellan.test',
    basePath: '',
    trustedProxies: parseTrustedProxies(''),
    constraintCodes: {},
    onRefused: async () => {},
  });

test('slow senders have 15 s for the headers and 30 s for the whole request', async (t) => {
  const app = newServer();
  t.after(() => app.close());
  await app.ready();
  assert.equal(app.server.headersTimeout, 15_000);
  assert.equal(app.server.requestTimeout, 30_000);
  assert.equal(app.server.keepAliveTimeout, 72_000);
});

test('headers that arrive too slowly get 408 at one of the first checks after the timeout', async (t) => {
  const app = newServer();
  t.after(() => app.close());
  await app.listen({ host: '127.0.0.1', port: 0 });
  app.server.headersTimeout = 100;
  const socket = net.connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => {
    received += chunk;
  });
  socket.on('error', () => {});
  socket.write('GET / HTTP/1.1\r\nHost: a\r\n');
  const trickle = setInterval(() => socket.write('X: y\r\n'), 50);
  // Counts on the server's event loop, at the server's interval of checks; Node's default is 30 s.
  let looks = 0;
  const reference = setInterval(() => {
    looks += 1;
  }, 2_000);
  await new Promise((resolve) => socket.on('close', resolve));
  clearInterval(trickle);
  clearInterval(reference);
  assert.match(received, /^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
  assert.ok(looks <= 4, `cut after ${looks} looks`);
});
