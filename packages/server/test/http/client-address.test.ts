// The client address in limits, audit entries and the log: forwarded addresses count only from trusted proxies.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService, type TestService } from '@castellan/testing/harness';

const trusting = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.0/8, 10.0.0.1, fd00::/8' });
const plain = await startTestService({ after });

/** Returns the address in the audit entry of a request with these headers. */
async function seen(service: TestService, headers: Record<string, string>): Promise<string | undefined> {
  const answer = await service.client().request('POST', '/api/v1/auth/logout', {
    headers: { ...headers, 'x-csrf-token': null },
  });
  const [entry] = await service.sql<{ details: { address: string } }>(
    `select details from audit_logs where action = 'csrf_refused' and details->>'request_id' = $1`,
    [answer.headers.get('x-request-id')],
  );
  const line = service.logLines.find((one) => one.includes(answer.headers.get('x-request-id') ?? '-'));
  assert.equal(JSON.parse(line ?? '{}').address, entry?.details.address, 'log and audit agree');
  return entry?.details.address;
}

const cases: [what: string, headers: Record<string, string>, address: string][] = [
  ['no header', {}, '127.0.0.1'],
  ['one hop', { 'x-forwarded-for': '198.51.100.7' }, '198.51.100.7'],
  ['an address added by the client', { 'x-forwarded-for': '1.2.3.4, 198.51.100.7' }, '198.51.100.7'],
  ['trusted hops', { 'x-forwarded-for': '198.51.100.7, 10.0.0.1, 127.0.0.9' }, '198.51.100.7'],
  ['nothing but trusted hops', { 'x-forwarded-for': '10.0.0.1' }, '10.0.0.1'],
  ['garbage', { 'x-forwarded-for': 'unknown' }, '127.0.0.1'],
  ['an invalid value first', { 'x-forwarded-for': '<script>, 198.51.100.7' }, '198.51.100.7'],
  ['an invalid value last', { 'x-forwarded-for': '198.51.100.7, x' }, '127.0.0.1'],
  ['an octal spelling', { 'x-forwarded-for': '0177.0.0.1' }, '127.0.0.1'],
  ['IPv6', { 'x-forwarded-for': '2001:DB8:0:0::1' }, '2001:db8::1'],
  ['IPv6 with port', { 'x-forwarded-for': '[2001:db8::1]:443' }, '2001:db8::1'],
  ['mapped IPv4', { 'x-forwarded-for': '::ffff:198.51.100.7' }, '198.51.100.7'],
  ['X-Real-IP', { 'x-real-ip': '198.51.100.7' }, '198.51.100.7'],
  ['both', { 'x-real-ip': '1.2.3.4', 'x-forwarded-for': '198.51.100.7' }, '198.51.100.7'],
  ['other forwarding headers', { forwarded: 'for=1.2.3.4', 'cf-connecting-ip': '1.2.3.4' }, '127.0.0.1'],
];

for (const [what, headers, address] of cases) {
  test(`from a trusted proxy, ${what}: ${address}`, async () => {
    assert.equal(await seen(trusting, headers), address);
  });
  test(`from a peer that is not trusted, ${what}: the peer`, async () => {
    assert.equal(await seen(plain, headers), '127.0.0.1');
  });
}
