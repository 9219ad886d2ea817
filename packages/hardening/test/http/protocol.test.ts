// Input that is not HTTP/1.1, is too large or names no host gets one refusal in the usual shape, and the service
// continues. It must not use an HTTP client: it sends bytes.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { startTestService } from '@castellan/testing/harness';
import { canary, exchange, newRequestId } from '@castellan/testing/http/raw';
import { scenariosOf, type Tally } from '@castellan/testing/scenario';
import { assertError, assertProper } from './answers.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const live = (fields = 'Host: a\r\n', version = 'HTTP/1.1', target = '/health/live', method = 'GET') =>
  `${method} ${target} ${version}\r\nX-Request-ID: no-request\r\n${fields}\r\n`;

async function assertRefusedAtOnce(
  tally: Tally,
  status: number,
  code: string,
  cases: Record<string, string>,
): Promise<void> {
  for (const [what, bytes] of Object.entries(cases)) {
    const behind = newRequestId('behind');
    const lines = service.logLines.length;
    const answers = await exchange(service.url, bytes + canary(behind));
    tally.tried();
    assert.equal(answers.length, 1, what);
    tally.held(1 + assertError(answers[0] as Answer, status, code, what));
    assert.equal(answers[0]?.headers.get('connection'), 'close', what);
    const logged = service.logLines.slice(lines).filter((line) => /no-request|behind-/.test(line));
    assert.deepEqual(logged, [], `${what}: it became a request`);
    tally.held(2);
  }
  assert.equal((await service.client().get('/health/live')).status, 200);
  tally.held();
}

scenario('input that is not HTTP/1 is refused with one answer and reaches no route', (tally) =>
  assertRefusedAtOnce(tally, 400, 'malformed_request', {
    'not HTTP': 'not HTTP at all\r\n\r\n',
    'a TLS greeting': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
    'HTTP/0.9': 'GET /health/live\r\n',
    'the preface of HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'HTTP/1.2': live('Host: a\r\n', 'HTTP/1.2'),
    'HTTP/11': live('Host: a\r\n', 'HTTP/11'),
    'a version in small letters': live('Host: a\r\n', 'http/1.1'),
    ICE: live('Host: a\r\n', 'ICE/1.0'),
    'a tab for a space': 'GET\t/health/live HTTP/1.1\r\nHost: a\r\n\r\n',
    'a space in the address': live('Host: a\r\n', 'HTTP/1.1', '/health/live x'),
    'an address without a slash': live('Host: a\r\n', 'HTTP/1.1', 'health/live'),
    'an authority': live('Host: a\r\n', 'HTTP/1.1', 'evil.example:80'),
    'an address of no scheme': live('Host: a\r\n', 'HTTP/1.1', '://evil.example/health/live'),
    'bytes beyond ASCII': live('Host: a\r\n', 'HTTP/1.1', '/health/live\xff'),
  }),
);

scenario('CONNECT and unknown methods are refused with one answer and reach no route', (tally) =>
  assertRefusedAtOnce(
    tally,
    400,
    'malformed_request',
    Object.fromEntries(
      [
        ['CONNECT', 'evil.example:443'],
        ['CONNECT', '/health/live'],
        ['TRACK', '/health/live'],
        ['DEBUG', '/health/live'],
        ['get', '/health/live'],
        ['Get', '/health/live'],
        ['post', '/api/v1/auth/login'],
        ['GETT', '/health/live'],
        ['GE\0T', '/health/live'],
        ['G', '/health/live'],
        ['PRI', '/health/live'],
        ['', '/health/live'],
      ].map(([method, target]) => [`${method} ${target}`, live('Host: a\r\n', 'HTTP/1.1', target, method)]),
    ),
  ),
);

scenario('headers and request line beyond 16 KiB in total are refused with 431 before any route', (tally) =>
  assertRefusedAtOnce(tally, 431, 'headers_too_large', {
    'one header': live(`Host: a\r\nX: ${'y'.repeat(16_384)}\r\n`),
    'one name': live(`Host: a\r\n${'y'.repeat(16_384)}: x\r\n`),
    'many headers': live(`Host: a\r\n${'a: b\r\n'.repeat(6_000)}`),
    'many cookies': live(`Host: a\r\n${'Cookie: refresh_token=x\r\n'.repeat(800)}`),
    'an address': live('Host: a\r\n', 'HTTP/1.1', `/${'y'.repeat(20_000)}`),
    'a query': live('Host: a\r\n', 'HTTP/1.1', `/health/live?${'y'.repeat(20_000)}`),
  }),
);

scenario('long but valid requests are answered like short ones', async (tally) => {
  for (const bytes of [
    live('Host: a\r\n', 'HTTP/1.1', `/health/live?${'y'.repeat(10_240)}`),
    live(`Host: a\r\nX: ${'y'.repeat(15_000)}\r\n`),
    live(`Host: a\r\n${Array.from({ length: 900 }, (_, index) => `a${index}: b\r\n`).join('')}`),
    live('Connection: keep-alive\r\n', 'HTTP/1.0'),
    live('Host: \r\n'),
    live('Host: a.example:8080\r\n'),
    live('Host: [::1]:8080\r\n'),
  ]) {
    const answers = await exchange(service.url, bytes + canary(newRequestId('behind')));
    tally.tried();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
      bytes.slice(0, 60),
    );
    tally.held(1 + assertProper(answers[0] as Answer, 'long'));
  }
});

scenario(
  'a Host that is missing, repeated or invalid is refused, and the connection stays open',
  async (tally) => {
    const fields = ['', 'Host: a\r\nHost: b\r\n', 'Host: a\r\nHost: a\r\n', 'Host: a\r\nhOsT: b\r\n'];
    const values = [
      'a@b',
      'a/b',
      'a?b',
      'a#b',
      'http://a',
      'a b',
      'a,b@c',
      'a:b',
      'a:80:80',
      'a\\b',
      '<a>',
      '[::1',
      'a\xff',
    ];
    for (const field of [...fields, ...values.map((value) => `Host: ${value}\r\n`)]) {
      const behind = newRequestId('behind');
      const answers = await exchange(service.url, live(field) + canary(behind));
      tally.tried();
      assert.equal(answers.length, 2, field);
      tally.held(1 + assertError(answers[0] as Answer, 400, 'malformed_request', field));
      assert.equal(answers[1]?.headers.get('x-request-id'), behind);
      tally.held();
    }
  },
);

scenario(
  'a version of HTTP other than 1.0 and 1.1 is refused on every route, and the connection ends',
  async (tally) => {
    for (const version of ['HTTP/0.9', 'HTTP/2.0'])
      for (const target of ['/health/live', '/api/v1/users/me', '/docs', '/nothing']) {
        const answers = await exchange(service.url, live('Host: a\r\n', version, target));
        tally.tried();
        assert.equal(answers.length, 1);
        assert.equal(answers[0]?.headers.get('connection'), 'close');
        tally.held(2 + assertError(answers[0] as Answer, 400, 'malformed_request', `${version} ${target}`));
      }
  },
);
