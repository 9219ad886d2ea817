import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../errors.ts';
import { createLog } from '../../logging/log.ts';
import { parseTrustedProxies } from '../../security/client-address.ts';
import { createServer } from '../server/server.ts';
import { createUnavailableLog } from './unavailable-log.ts';

const refusedConnection = (): Error =>
  Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED', syscall: 'connect' });

const options = {
  publicUrl: 'http://castellan.test',
  basePath: '',
  trustedProxies: parseTrustedProxies(''),
  constraintCodes: {},
  onRefused: async () => {},
};
const warn = () => assert.fail('a warning');

test('an outage logs its first request and then, each minute, a number', (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] });
  const lines: unknown[] = [];
  const numbers = { error: (fields: object) => void lines.push(fields), warn };
  const request = { error: (_fields: object, text: string) => void lines.push(text), warn };
  const { failed, flush } = createUnavailableLog(numbers, 60_000);
  for (let i = 0; i < 100; i++) failed(refusedConnection(), request, 'error');
  failed(new Error('timeout exceeded when trying to connect'), request, 'error');
  assert.deepEqual(lines.splice(0), ['request failed', 'request failed']);
  t.mock.timers.tick(60_000);
  assert.deepEqual(lines.splice(0), [{ cause: 'ECONNREFUSED', requests: 99 }]);
  failed(refusedConnection(), request, 'error');
  failed(new Error('timeout exceeded when trying to connect'), request, 'error');
  assert.deepEqual(lines.splice(0), ['request failed'], 'a cause that was over for a minute is told again');
  flush();
  assert.deepEqual(lines.splice(0), [{ cause: 'ECONNREFUSED', requests: 1 }]);
  t.mock.timers.tick(600_000);
  assert.deepEqual(lines, [], 'no timer is left');
});

test('ever new messages do not make ever more lines', () => {
  let lines = 0;
  const count = { error: () => void lines++, warn };
  const { failed, flush } = createUnavailableLog(count, 60_000);
  for (let i = 0; i < 1_000; i++) failed(new Error(`Connection terminated ${i}`), count, 'error');
  assert.equal(lines, 17);
  flush();
  assert.equal(lines, 18);
});

test('a provider that is away is told as a warning, and its other requests are counted as one', async () => {
  const lines: string[] = [];
  const app = createServer({
    ...options,
    log: createLog('info', { write: (line) => void lines.push(line) }),
  });
  app.get('/away', async () => {
    throw new AppError('provider_unavailable');
  });
  for (let i = 0; i < 3; i++) assert.equal((await app.inject('/away')).statusCode, 503);
  await app.close();
  const told = lines.map((line) => JSON.parse(line)).filter(({ level }) => level !== 'info');
  assert.deepEqual(
    told.map(({ level, msg, cause, requests }) => [level, msg, cause, requests]),
    [
      ['warn', 'request failed', undefined, undefined],
      ['warn', 'more requests failed of one cause', 'provider_unavailable', 2],
    ],
  );
});

test('the server bounds lines of 503, writes each fault, and tells the rest at its end', async () => {
  const lines: string[] = [];
  const app = createServer({
    ...options,
    log: createLog('info', { write: (line) => void lines.push(line) }),
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
