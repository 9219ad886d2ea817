// Values that a request may get back: a valid request id, and nothing else that could become a header.
// It must not use a client that normalizes what it sends.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { startTestService } from '@castellan/testing/harness';
import { exchange } from '@castellan/testing/http/raw';
import { scenariosOf } from '@castellan/testing/scenario';
import { assertError, assertProper } from './answers.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after }, { TRUSTED_PROXIES: '127.0.0.1' });

scenario('a valid X-Request-ID is returned and logged; any other is replaced by a new one', async (tally) => {
  const ask = async (lines: string): Promise<Answer> => {
    const [answer] = await exchange(
      service.url,
      `GET /api/v1/users/me HTTP/1.1\r\nHost: a\r\n${lines}Connection: close\r\n\r\n`,
    );
    tally.tried();
    tally.held(assertError(answer as Answer, 401, 'token_missing', lines));
    return answer as Answer;
  };
  const sane = [
    'a',
    'req-2f6c/1',
    '0190a5c4-7e2b-7c3d-8e9f-1a2b3c4d5e6f',
    'A.b_c~d+e/f=g:h@i',
    'x'.repeat(128),
  ];
  for (const id of sane) {
    const answer = await ask(`X-Request-ID: ${id}\r\n`);
    assert.equal(answer.headers.get('x-request-id'), id);
    assert.ok(service.logLines.some((line) => JSON.parse(line).request_id === id));
    tally.held(2);
  }
  const insane = [
    '',
    ' ',
    'a b',
    'x'.repeat(129),
    '"',
    '{"a":1}',
    '<b>',
    'a\tb',
    'a;b',
    '\xe9',
    '%0a',
    '%0d%0aSet-Cookie:x',
    'a,b',
    "'",
    '\\r\\nX:1',
    '\x85',
  ];
  const seen = new Set<string>();
  for (const lines of [
    ...insane.map((id) => `X-Request-ID: ${id}\r\n`),
    'X-Request-ID: one\r\nX-Request-ID: two\r\n',
  ]) {
    const given = (await ask(lines)).headers.get('x-request-id') ?? '';
    assert.match(given, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/, lines);
    seen.add(given);
  }
  assert.equal(seen.size, insane.length + 1);
  tally.held(seen.size + 1);
});

scenario('no part of a path, a query or a header becomes a header of the answer', async (tally) => {
  const mark = 'Injected-Mark';
  for (const text of [
    `%0d%0a${mark}:%201`,
    `%0a${mark}:1`,
    `%E5%98%8A%E5%98%8D${mark}:1`,
    `\\r\\n${mark}:1`,
    `"${mark}"`,
  ])
    for (const target of [
      `/api/v1/users/${text}`,
      `/api/v1/users/me?next=${text}&redirect_uri=//${mark}`,
      `/${text}`,
      `/docs/${text}`,
      `//${mark}/%2e%2e`,
      `/api/v1/auth/login?${text}`,
    ]) {
      const [answer] = await exchange(
        service.url,
        `GET ${target} HTTP/1.1\r\nHost: ${mark}\r\nOrigin: ${text}\r\nReferer: ${text}\r\nAccept: ${text}\r\n` +
          `Accept-Language: ${text}\r\nIf-Match: ${text}\r\nIdempotency-Key: ${text}\r\nX-Forwarded-For: ${text}\r\n` +
          `X-Forwarded-Proto: ${text}\r\nUser-Agent: ${text}\r\nCookie: csrf_token=${text}\r\nConnection: close\r\n\r\n`,
      );
      tally.tried();
      assert.doesNotMatch(JSON.stringify([...(answer?.headers ?? [])]), /Injected-Mark/i, target);
      assert.equal(answer?.headers.get('location'), null);
      tally.held(2 + assertProper(answer as Answer, target));
    }
});
