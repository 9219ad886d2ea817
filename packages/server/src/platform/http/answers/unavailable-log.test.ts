import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../../logging/log.ts';
import { parseTrustedProxies } from '../../security/client-address.ts';
import { createServer } from '../server/server.ts';
import { createUnavailableLog } from './unavailable-log.ts';

const refusedConnection = (): Error =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });

test('an outage logs its first request and then, each minute, a number', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const lines: unknown[] = [];
  const numbers = { error: (fields: object) => void lines.push(fields) };
  const request = { error: (_fields: object, text: string) => void lines.push(text) };
  const { failed, flush } = createUnavailableLog(numbers, 60_000);
  for (let i = 0; i < 100; i++) failed(refusedConnection(), request);
  failed(new Error('timeout exceeded when trying to connect'), request);
  assert.deepEqual(lines.splice(0), ['request failed', 'request failed']);
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines.splice(0), [{ cause: 'ECONNREFUSED', requests: 99 }]);
  failed(refusedConnection(), request);
  failed(new Error('timeout exceeded when trying to connect'), request);
  assert.deepEqual(lines.splice(0), ['request failed'], 'a cause that was over for a minute is told again');
  flush();
  assert.deepEqual(lines.splice(0), [{ cause: 'ECONNREFUSED', requests: 1 }]);
  t.mock.timers.tick(600_000);
  assert.deepEqual(lines, [], 'no timer is left');
});

test('ever new messages do not make ever more lines', () => {
  let lines = 0;
  const count = { error: () => void lines++ };
  const { failed, flush } = createUnavailableLog(count, 60_000);
  for (let i = 0; i < 1_000; i++) failed(new Error(`Connection terminated ${i}`), count);
  assert.equal(lines, 17);
  flush();
  assert.equal(lines, 18);
});

test('the server bounds lines of 503, writes each fault, and tells the rest at its end', async () => {
  const lines: string[] = [];
  const app = createServer({
    log: createLog('info', { write: (line) => void lines.push(line) }),
    publicUrl: 'http://castellan.test',
    basePath: '',
    trustedProxies: parseTrustedProxies(''),
    constraintCodes: {},
    onRefused: async () => {},
  });
  app.get('/away', async () => {
    throw refusedConnection();
  });
  app.get('/fault', async () => {
    throw new Error('a fault');
  });
  const linesOf = (text: string) =>
    lines.map((line) => JSON.parse(line)).filter(({ msg }: { msg?: string }) => msg === text);
  for (const id of ['first-of-outage', 'second-of-outage', 'third-of-outage']) {
    const answer = await app.inject({ url: '/away', headers: { 'x-request-id': id } });
    assert.equal(answer.statusCode, 503);
    assert.equal((await app.inject('/fault')).statusCode, 500);
  }
  const [first, ...others] = linesOf('request failed').filter(({ err }) => err.code === 'ECONNREFUSED');
  assert.equal(first.request_id, 'first-of-outage');
  assert.deepEqual(others, []);
  assert.equal(linesOf('request failed').filter(({ err }) => err.message === 'a fault').length, 3);
  const answered = lines
    .map((line) => JSON.parse(line))
    .filter(({ code }) => code === 'database_unavailable');
  assert.deepEqual(
    answered.map(({ request_id }) => request_id),
    ['first-of-outage', 'second-of-outage', 'third-of-outage'],
  );
  await app.close();
  assert.deepEqual(
    linesOf('more requests failed of one cause').map(({ cause, requests }) => [cause, requests]),
    [['ECONNREFUSED', 2]],
  );
});
