import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { portOf } from '@castellan/testing/ports';
import { createLog } from '../logging/log.ts';
import { createTracing } from './tracing.ts';

test('a refusal of the collector is logged without the answer, which may repeat a secret header', async (t) => {
  const collector = createServer((request, response) => {
    request.resume();
    response.writeHead(400).end(`refused: ${request.headers['x-key']}`);
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  t.after(() => collector.close());
  const lines: string[] = [];
  const tracing = createTracing(
    {
      endpoint: `http://127.0.0.1:${portOf(collector)}`,
      headers: { 'x-key': 'Hidden' },
      serviceName: 'castellan',
      sampler: 'always_on',
      ratio: 1,
    },
    createLog('warn', { write: (line) => void lines.push(line) }),
  );
  tracing
    .beginRequest({ method: 'GET', route: '/', traceparent: undefined, isTrusted: false })
    .end(200, null);
  await tracing.stop();
  assert.equal(lines.length, 1);
  assert.match(lines[0] ?? '', /the collector answered 400 Bad Request/);
  assert.doesNotMatch(lines[0] ?? '', /Hidden|refused:/);
});
