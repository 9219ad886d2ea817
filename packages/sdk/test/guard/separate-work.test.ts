// Cloudflare Workers: a request must not wait for the input or output of another one.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import { after, test } from 'node:test';
import { createHttpBackend } from '../../src/guard/http-backend.ts';
import { createGuard } from '../../src/index.ts';
import { type FakeCastellan, startFakeCastellan } from './fake-castellan.ts';
import { PERMISSION } from './surfaces.ts';

const castellan: FakeCastellan = await startFakeCastellan();
after(() => castellan.stop());

const requestOf = new AsyncLocalStorage<number>();

/** Returns a fetch that answers no request but number 0, as when the others' input and output were cut off. */
const onlyFirst: typeof fetch = (input, init) =>
  requestOf.getStore() === 0 ? fetch(input, init) : new Promise(() => undefined);

const backendOf = (options: { sharesWork: boolean; fetch: typeof fetch }) =>
  createHttpBackend({
    baseUrl: castellan.url.replace(/\/$/, ''),
    apiKey: 'castellan_guard',
    timeoutMs: 1_000,
    clockToleranceMs: 60_000,
    maxStaleMs: 0,
    cacheSize: 10,
    ...options,
  });

test('a request that does not share work depends on no other request', async () => {
  const subject = { type: 'user', id: 'worker' } as const;
  const token = castellan.token([PERMISSION], { sub: 'worker' });
  const backend = backendOf({ sharesWork: false, fetch: onlyFirst });
  const actions = [
    () => backend.decide(subject, PERMISSION),
    async () => (await backend.inspect(token)) !== undefined,
  ];
  for (const run of actions) {
    // Settled from the start: on a busy machine they may be refused before the first one is answered.
    const others = Promise.allSettled([2, 1].map((request) => requestOf.run(request, run)));
    const first = requestOf.run(0, run);
    assert.equal(await first, true);
    for (const { status } of await others) assert.equal(status, 'rejected');
  }
});

test('work that is shared depends on the request that came first', async () => {
  const backend = backendOf({ sharesWork: true, fetch: onlyFirst });
  const run = () => backend.decide({ type: 'user', id: 'worker' }, PERMISSION);
  const other = requestOf.run(1, run);
  await assert.rejects(requestOf.run(0, run), { code: 'unavailable' });
  await assert.rejects(other, { code: 'unavailable' });
});

test('a guard on Cloudflare Workers asks each question by itself', async (t) => {
  const ask = async () => {
    const { length } = castellan.asked.evaluations;
    const guard = createGuard({ baseUrl: castellan.url, apiKey: 'castellan_guard' });
    await Promise.all(['a', 'b', 'b'].map((id) => guard.can({ type: 'user', id }, PERMISSION)));
    return castellan.asked.evaluations.length - length;
  };
  assert.equal(await ask(), 1);
  const own = Object.getOwnPropertyDescriptor(globalThis, 'navigator');
  t.after(() => {
    if (own) Object.defineProperty(globalThis, 'navigator', own);
    else Reflect.deleteProperty(globalThis, 'navigator');
  });
  Object.defineProperty(globalThis, 'navigator', {
    value: { userAgent: 'Cloudflare-Workers' },
    configurable: true,
  });
  assert.equal(await ask(), 3);
});

test('a complete copy of the key set is kept', async () => {
  const backend = backendOf({ sharesWork: false, fetch });
  const { length } = castellan.asked.jwks;
  for (let one = 0; one < 3; one += 1) assert.ok(await backend.inspect(castellan.token([PERMISSION])));
  assert.equal(castellan.asked.jwks.length - length, 1);
});
