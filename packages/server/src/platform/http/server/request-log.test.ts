import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../logging/log.ts';
import { parseTrustedProxies } from '../../security/client-address.ts';
import { createServer } from './server.ts';

test('a request that logs nothing makes no logger; a line of one that does has its id', async (t) => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const app = createServer({
    log,
    publicUrl: 'http://castellan.test',
    basePath: '',
    trustedProxies: parseTrustedProxies(''),
    constraintCodes: {},
    onRefused: async () => {},
  });
  t.after(() => app.close());
  app.get('/quiet', async () => ({}));
  app.get('/noisy', async (request) => {
    request.log.warn({ part: 'test' }, 'a warning');
    throw new Error('a fault');
  });
  await app.ready();
  const children = t.mock.method(log, 'child');
  await app.inject('/quiet');
  assert.equal(children.mock.callCount(), 0);
  const answer = await app.inject({ url: '/noisy', headers: { 'x-request-id': 'of-this-request' } });
  assert.equal(answer.statusCode, 500);
  assert.equal(children.mock.callCount(), 1);
  const entries = lines.map((line) => JSON.parse(line)).filter((line) => 'msg' in line);
  assert.deepEqual(
    entries.map(({ msg, request_id }) => [msg, request_id]),
    [
      ['a warning', 'of-this-request'],
      ['request failed', 'of-this-request'],
    ],
  );
  assert.equal(entries[1].err.message, 'a fault');
});
