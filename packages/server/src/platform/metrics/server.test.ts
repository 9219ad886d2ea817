import assert from 'node:assert/strict';
import { request } from 'node:http';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createLog } from '../logging/log.ts';
import { parseMetricsHost } from './hosts.ts';
import { serveMetrics } from './server.ts';

test('a client that does not read its answers loses the connection', { timeout: 30_000 }, async (t) => {
  const text = '#'.repeat(16_000_000);
  const server = await serveMetrics(
    { port: 0, host: '127.0.0.1' },
    {
      expose: async () => ({ contentType: 'text/plain', text }),
      log: createLog('silent', { write: () => {} }),
      hosts: [],
      idleTimeoutMs: 100,
    },
  );
  t.after(() => server.close());
  assert.ok(server.port);
  const client = connect(server.port, '127.0.0.1');
  t.after(() => client.destroy());
  client.pause().write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n');
  // Writing is what notices the end while nothing is read.
  const knocking = setInterval(() => client.write('\r\n'), 500);
  t.after(() => clearInterval(knocking));
  const error = await new Promise<NodeJS.ErrnoException>((resolve) => client.once('error', resolve));
  assert.match(error.code ?? '', /^(EPIPE|ECONNRESET)$/);
});

/** Returns the status that a request gets by this name. A name that is undefined is not sent. */
const statusFor = (port: number, host: string | undefined): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    if (host === undefined) {
      const socket = connect(port, '127.0.0.1');
      socket.once('data', (data) => resolve(Number(/^HTTP\/1\.1 (\d+)/.exec(data.toString())?.[1])));
      socket.once('error', reject).write('GET /metrics HTTP/1.0\r\n\r\n');
      return;
    }
    request({ port, host: '127.0.0.1', path: '/metrics', headers: { host } }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode));
    })
      .once('error', reject)
      .end();
  });

test('metrics are given by addresses, names without a dot and own names; to a foreign name nothing is', async (t) => {
  let collected = 0;
  const server = await serveMetrics(
    { port: 0, host: '127.0.0.1' },
    {
      expose: async () => {
        collected += 1;
        return { contentType: 'text/plain', text: '' };
      },
      log: createLog('silent'),
      hosts: ['accounts.example.com', parseMetricsHost('Metrics.Example.com.')],
    },
  );
  t.after(() => server.close());
  const { port } = server;
  assert.ok(port);
  const own = [
    `127.0.0.1:${port}`,
    '10.1.2.3',
    '[::1]:9464',
    'localhost',
    'LocalHost:9464',
    'castellan:9464',
    'accounts.example.com',
    'accounts.example.com.:9464',
    'metrics.example.com:1',
    undefined,
  ];
  for (const host of own) assert.equal(await statusFor(port, host), 200, host);
  assert.equal(collected, own.length);
  for (const host of [
    'evil.example',
    'evil.example:9464',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'accounts.example.com.evil.example',
    'localhost@evil.example',
    'x.accounts.example.com',
    'a b',
  ])
    assert.equal(await statusFor(port, host), 403, host);
  assert.equal(collected, own.length);
});

test('METRICS_HOSTS takes host names only', () => {
  assert.equal(parseMetricsHost('Metrics.Example.com'), 'metrics.example.com');
  for (const text of ['https://metrics.example.com', 'metrics.example.com:9464', 'a/b', 'a@b', '.', 'a b'])
    assert.throws(() => parseMetricsHost(text), /write host names such as metrics\.example\.com/, text);
});
