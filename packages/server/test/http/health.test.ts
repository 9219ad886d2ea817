// The probes of a healthy service: alive, ready, and its public keys.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { exchange } from '@castellan/testing/http/raw';

const service = await startTestService({ after });

test('the probes need no token and no cookie, and set none', async () => {
  for (const [path, status] of [
    ['/health/live', 'live'],
    ['/health/ready', 'ready'],
  ] as const) {
    const answer = await service.client().get(path);
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body, { status });
    assert.deepEqual(answer.headers.getSetCookie(), []);
  }
});

test('the key set contains only public parts, and may be cached', async () => {
  const answer = await service.client().get('/.well-known/jwks.json');
  assert.equal(answer.status, 200);
  assert.ok(answer.body.keys.length >= 1);
  for (const key of answer.body.keys) {
    assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    assert.equal(key.alg, 'EdDSA');
  }
  assert.match(answer.headers.get('cache-control') ?? '', /^public, max-age=\d+$/);
});

test('OPTIONS / of HTTP/1.0 without Host, the default check of HAProxy, is 204', async () => {
  for (const check of [
    'OPTIONS / HTTP/1.0\r\n\r\n',
    'OPTIONS / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  ]) {
    const [answer, ...others] = await exchange(service.url, check);
    assert.deepEqual([answer?.status, answer?.text, others], [204, '', []]);
    assert.equal(answer?.headers.get('allow'), 'GET, HEAD, OPTIONS');
  }
});
