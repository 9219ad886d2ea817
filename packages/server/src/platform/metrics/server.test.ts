import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { createLog } from '../log.ts';
import { serveMetrics } from './server.ts';

test('a client that does not read its answers loses the connection', { timeout: 30_000 }, async (t) => {
  const text = '#'.repeat(16_000_000);
  const server = await serveMetrics(
    { port: 0, host: '127.0.0.1' },
    {
      expose: async () => ({ contentType: 'text/plain', text }),
      log: createLog('silent', { write: () => {} }),
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
