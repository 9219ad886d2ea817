import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type TestContext, test } from 'node:test';
import type { PublicKey } from '@castellan/contract/applications';
import { newProofKey, publicKeyOf } from '@castellan/testing/openid/proofs';
import { portOf } from '@castellan/testing/ports';
import { askOutside, OutboundError } from '../../platform/outbound/request.ts';
import { parseRanges } from '../../platform/security/address-ranges.ts';
import { createKeySources } from './key-sources.ts';

const MINUTE = 60_000;
const settings = { outboundDeny: parseRanges('') };
const any = (keys: readonly PublicKey[]) => keys.length > 0;
const named = (kid: string) => (keys: readonly PublicKey[]) => keys.some((key) => key.kid === kid);

/** Serves what `listener` writes, and counts how often it is asked. */
async function start(t: TestContext, listener: RequestListener) {
  const asked = { times: 0, warnings: 0, now: 0 };
  const server = createServer((request, response) => {
    asked.times += 1;
    listener(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const log = {
    warn: () => {
      asked.warnings += 1;
    },
  };
  const keysAt = createKeySources({ log: log as never, settings }, { now: () => asked.now });
  const application = { id: 'one', jwks_url: `http://127.0.0.1:${portOf(server)}/keys` };
  return { asked, keysOf: (fits = any) => keysAt(application, fits) };
}

test('keys are kept for ten minutes, and an unknown one is looked for every 30 seconds at most', async (t) => {
  let current = newProofKey('ES256');
  const { asked, keysOf } = await start(t, (_request, response) =>
    response.end(JSON.stringify({ keys: [publicKeyOf(current)] })),
  );
  const old = current;
  const names = async (fits?: typeof any) => (await keysOf(fits)).map(({ kid }) => kid);
  const together = await Promise.all([names(), names(), names()]);
  assert.deepEqual([together, asked.times], [[[old.kid], [old.kid], [old.kid]], 1]);
  current = newProofKey('EdDSA');
  asked.now = 10 * MINUTE - 1;
  assert.deepEqual([await names(), asked.times], [[old.kid], 1]);
  assert.deepEqual([await names(named(current.kid)), asked.times], [[current.kid], 2]);
  for (let tried = 0; tried < 5; tried += 1) await names(named('unknown'));
  assert.equal(asked.times, 2);
  asked.now += 30_000;
  await names(named('unknown'));
  assert.equal(asked.times, 3);
  asked.now += 10 * MINUTE;
  await names();
  assert.equal(asked.times, 4);
});

test('an address that fails leaves what is kept for a day, and is asked every 30 seconds at most', async (t) => {
  const key = newProofKey('ES256');
  let broken: RequestListener | undefined;
  const { asked, keysOf } = await start(t, (request, response) =>
    broken ? broken(request, response) : response.end(JSON.stringify({ keys: [publicKeyOf(key)] })),
  );
  assert.equal((await keysOf()).length, 1);
  const failures: RequestListener[] = [
    (_request, response) => response.writeHead(302, { location: '/other' }).end(),
    (_request, response) => response.writeHead(500).end(),
    (_request, response) => response.end('{'),
    (_request, response) => response.end('{"keys":"none"}'),
    (_request, response) => response.end('[]'),
    (_request, response) => response.end(JSON.stringify({ keys: [], more: 'x'.repeat(300 * 1024) })),
    (request) => request.socket.destroy(),
  ];
  asked.now = 11 * MINUTE;
  for (const [index, failure] of failures.entries()) {
    broken = failure;
    asked.now += 30_000;
    assert.deepEqual(
      (await keysOf()).map(({ kid }) => kid),
      [key.kid],
    );
    assert.deepEqual((await keysOf()).length, 1);
    assert.deepEqual([asked.times, asked.warnings], [index + 2, index + 1]);
  }
  asked.now = 24 * 60 * MINUTE;
  assert.deepEqual(await keysOf(), []);
});

test('an address that hangs is given up, and everybody who waits is answered', async () => {
  const { promise, reject } = Promise.withResolvers<never>();
  const keysAt = createKeySources(
    { log: { warn: () => {} } as never, settings },
    { now: () => 0, ask: () => promise },
  );
  const one = { id: 'one', jwks_url: 'https://hangs.example.com' };
  const waiting = [keysAt(one, any), keysAt(one, any)];
  reject(new OutboundError('timeout'));
  assert.deepEqual(await Promise.all(waiting), [[], []]);
});

test('a name that resolves to a metadata service is not asked', async () => {
  const codes: string[] = [];
  const keysAt = createKeySources(
    { log: { warn: ({ code }: { code: string }) => void codes.push(code) } as never, settings },
    {
      ask: (outbound, request) =>
        askOutside(outbound, {
          ...request,
          resolve: async () => [{ address: '169.254.169.254', family: 4 }],
        }),
    },
  );
  assert.deepEqual(await keysAt({ id: 'one', jwks_url: 'https://keys.example.com' }, any), []);
  assert.deepEqual(codes, ['address_refused']);
});

test('keys that an application could not register are passed over', async (t) => {
  const good = newProofKey('ES256');
  const { privateKey } = newProofKey('ES256');
  const keys = [
    'no key',
    { kty: 'oct', k: 'c2VjcmV0' },
    { ...privateKey.export({ format: 'jwk' }), kid: 'private' },
    { ...newProofKey('RS256', { bits: 1_024 }).jwk, kid: 'weak' },
    { ...good.jwk, kid: 'enc', use: 'enc' },
    publicKeyOf(good),
  ];
  const { keysOf } = await start(t, (_request, response) => response.end(JSON.stringify({ keys })));
  assert.deepEqual(
    (await keysOf()).map(({ kid }) => kid),
    [good.kid],
  );
});
