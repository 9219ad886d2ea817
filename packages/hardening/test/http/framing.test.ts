// Where one message ends and the next begins: whatever a proxy could read differently is refused and ends the
// connection. A second request is pipelined behind every case, and is answered only if the framing is valid. It must
// not use an HTTP client: it sends bytes.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { canary, exchange, newRequestId } from '@castellan/testing/http/raw';
import { scenariosOf, type Tally } from '@castellan/testing/scenario';
import { assertError, assertProper } from './answers.ts';
import { BODY, CHUNKED_BODY, change, rawCaller, takeChange } from './caller.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const caller = await rawCaller(admin);
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const CHUNKED = 'Transfer-Encoding: chunked\r\n';
const sized = (fields: string): string => change(caller.fields + fields, BODY);
const coded = (fields: string, rest = CHUNKED_BODY): string => change(caller.fields + fields, rest);
const chunk = (size: string, end = '\r\n'): string => coded(CHUNKED, `${size}${end}${BODY}\r\n0\r\n\r\n`);
const size = BODY.length.toString(16);

const alive = async (): Promise<number> => {
  assert.equal((await service.client().get('/health/live')).status, 200);
  return 1;
};

/** Checks for one 400 that ends the connection: no handler ran, and the pipelined request is not answered. */
async function assertBroken(tally: Tally, cases: Record<string, string>, before = ''): Promise<void> {
  for (const [what, bytes] of Object.entries(cases)) {
    const answers = await exchange(service.url, before + bytes + canary(newRequestId('behind')));
    tally.tried();
    assert.equal(answers.length, 1, what);
    const [answer] = answers as [Answer];
    tally.held(1 + assertError(answer, 400, 'malformed_request', what));
    assert.equal(answer.headers.get('connection'), 'close', what);
    assert.equal(await takeChange(service, ADMIN.email), false, what);
    tally.held(2);
  }
  tally.held(await alive());
}

/** Checks that the change is made once and that the pipelined request gets its own answer. */
async function assertSound(tally: Tally, cases: Record<string, string>): Promise<void> {
  for (const [what, bytes] of Object.entries(cases)) {
    const behind = newRequestId('behind');
    const answers = (await exchange(service.url, bytes + canary(behind))).filter(
      ({ status }) => status !== 100,
    );
    tally.tried();
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
      what,
    );
    assert.equal(answers[1]?.headers.get('x-request-id'), behind, what);
    assert.equal(await takeChange(service, ADMIN.email), true, what);
    tally.held(3);
    for (const answer of answers) tally.held(assertProper(answer, what));
  }
}

scenario(
  'a length that could be read in two ways is refused, ends the connection and changes nothing',
  (tally) =>
    assertBroken(tally, {
      'with chunks': coded(LENGTH + CHUNKED),
      'behind chunks': coded(CHUNKED + LENGTH),
      'twice the same': sized(LENGTH + LENGTH),
      'twice, other': sized(`${LENGTH}Content-Length: 0\r\n`),
      'a list': sized(`Content-Length: ${BODY.length}, ${BODY.length}\r\n`),
      'a plus': sized(`Content-Length: +${BODY.length}\r\n`),
      negative: sized(`Content-Length: -${BODY.length}\r\n`),
      'a space inside': sized('Content-Length: 2 4\r\n'),
      hexadecimal: sized('Content-Length: 0x18\r\n'),
      empty: sized('Content-Length: \r\n'),
      'a fraction': sized('Content-Length: 24.0\r\n'),
      'an exponent': sized('Content-Length: 24e0\r\n'),
      'beyond 64 bits': sized('Content-Length: 18446744073709551640\r\n'),
      'a space before the colon': sized(`Content-Length : ${BODY.length}\r\n`),
    }),
);

scenario(
  'a transfer coding other than chunked alone is refused, ends the connection and changes nothing',
  (tally) =>
    assertBroken(tally, {
      xchunked: coded('Transfer-Encoding: xchunked\r\n'),
      'identity last': coded('Transfer-Encoding: chunked, identity\r\n'),
      'identity alone': coded('Transfer-Encoding: identity\r\n'),
      'identity first': coded('Transfer-Encoding: identity, chunked\r\n'),
      'gzip first': coded('Transfer-Encoding: gzip, chunked\r\n'),
      'twice, other': coded(`${CHUNKED}Transfer-Encoding: identity\r\n`),
      'twice the same': coded(CHUNKED + CHUNKED),
      'chunked twice in one': coded('Transfer-Encoding: chunked, chunked\r\n'),
      'a comma behind': coded('Transfer-Encoding: chunked,\r\n'),
      'a parameter': coded('Transfer-Encoding: chunked;q=1\r\n'),
      quoted: coded('Transfer-Encoding: "chunked"\r\n'),
      'a tab behind': coded('Transfer-Encoding: chunked\t\r\n'),
      'a vertical tab': coded('Transfer-Encoding: \vchunked\r\n'),
      'a space before the colon': coded('Transfer-Encoding : chunked\r\n'),
      'on a folded line': coded('Transfer-Encoding:\r\n chunked\r\n'),
      'folded into another': coded('X: a\r\n Transfer-Encoding: chunked\r\n'),
      'in HTTP/1.0': change(caller.fields + CHUNKED, CHUNKED_BODY, '1.0'),
      empty: coded('Transfer-Encoding: \r\n'),
    }),
);

scenario(
  'a chunk whose size is not a plain hexadecimal number is refused, ends the connection and changes nothing',
  (tally) =>
    assertBroken(tally, {
      negative: chunk(`-${size}`),
      prefixed: chunk(`0x${size}`),
      signed: chunk(`+${size}`),
      'beyond 64 bits': chunk(`100000000000000${size}`),
      'a space behind': chunk(`${size} `),
      'a bare line feed': chunk(size, '\n'),
      'a bare return': chunk(size, '\r'),
      'no size': chunk(''),
      'too small': chunk((BODY.length - 1).toString(16)),
      'an endless extension': chunk(`${size};a=${'b'.repeat(20_000)}`),
      'a trailer with a length': coded(CHUNKED, CHUNKED_BODY.replace(/\r\n$/, 'Content-Length: 5\r\n\r\n')),
      'a trailer with a coding': coded(CHUNKED, CHUNKED_BODY.replace(/\r\n$/, `${CHUNKED}\r\n`)),
    }),
);

scenario(
  'a header line that breaks the grammar is refused, ends the connection and changes nothing',
  (tally) =>
    assertBroken(tally, {
      folded: sized(`X: a\r\n b\r\n${LENGTH}`),
      'a bare line feed': sized(`X: a\nY: b\r\n${LENGTH}`),
      'line feeds only': sized(LENGTH).replaceAll('\r\n', '\n'),
      'a bare return': sized(`X: a\rY: b\r\n${LENGTH}`),
      NUL: sized(`X: a\0b\r\n${LENGTH}`),
      'a control character': sized(`X: a\x01b\r\n${LENGTH}`),
      DEL: sized(`X: a\x7fb\r\n${LENGTH}`),
      'no colon': sized(`Xab\r\n${LENGTH}`),
      'no name': sized(`: a\r\n${LENGTH}`),
      'a space before the colon': sized(`X : a\r\n${LENGTH}`),
      'a space first': change(caller.fields + LENGTH, BODY, '1.1', ' Host: a\r\n'),
      'brackets in the name': sized(`X(y): a\r\n${LENGTH}`),
      'a letter beyond ASCII in the name': sized(`X\xe9: a\r\n${LENGTH}`),
    }),
);

scenario('valid lengths and chunks are read once, and the next request is separate', (tally) =>
  assertSound(tally, {
    'a length': sized(LENGTH),
    'leading zeros': sized(`Content-Length: 00${BODY.length}\r\n`),
    'spaces around': sized(`Content-Length: \t ${BODY.length} \r\n`),
    'a name that looks alike': sized(`Content_Length: 0\r\n${LENGTH}`),
    'text beyond ASCII in a value': sized(`X: a\xffb\r\n${LENGTH}`),
    chunks: coded(CHUNKED),
    'in capitals': coded('TRANSFER-ENCODING: CHUNKED\r\n'),
    'a tab before': coded('Transfer-Encoding:\tchunked\r\n'),
    'leading zeros in a size': chunk(`000${size}`),
    'a small extension': chunk(`${size};a=b`),
    'hop-by-hop names': sized(`Connection: authorization, content-length, cookie\r\n${LENGTH}`),
    'an expectation': sized(`Expect: 100-continue\r\n${LENGTH}`),
    'an expectation twice': sized(`Expect: 100-continue\r\nExpect: 100-continue\r\n${LENGTH}`),
    'an unknown expectation': sized(`Expect: 200-ok\r\n${LENGTH}`),
    'empty lines before': `\r\n\r\n${sized(LENGTH)}`,
  }),
);

scenario('a body that is too large is refused by its declared size, before it arrives', async (tally) => {
  const beyond = 'x'.repeat(1_048_577);
  for (const bytes of [
    sized('Content-Length: 9007199254740993\r\n'),
    coded(CHUNKED, `ffffffffffffffff\r\n${beyond}`),
    coded(CHUNKED, `7fffffffffffffff\r\n${beyond}`),
  ]) {
    const answers = await exchange(service.url, bytes);
    tally.tried();
    assert.equal(answers.length, 1);
    tally.held(1 + assertError(answers[0] as Answer, 413, 'body_too_large', bytes.slice(0, 20)));
    assert.equal(answers[0]?.headers.get('connection'), 'close');
    assert.equal(await takeChange(service, ADMIN.email), false);
    tally.held(2);
  }
});

scenario('a trailer is not a header: credentials and CSRF tokens in it are ignored', async (tally) => {
  const cases = {
    csrf_invalid: [caller.bearer, caller.csrf],
    token_missing: [caller.csrf, caller.bearer],
  } as const;
  for (const [code, [head, trailer]] of Object.entries(cases)) {
    const rest = CHUNKED_BODY.replace(/\r\n$/, `${trailer}\r\n`);
    const behind = newRequestId('behind');
    const answers = await exchange(service.url, change(head + CHUNKED, rest) + canary(behind));
    tally.tried();
    assert.equal(answers.length, 2, code);
    tally.held(assertError(answers[0] as Answer, code === 'csrf_invalid' ? 403 : 401, code, code));
    assert.equal(answers[1]?.headers.get('x-request-id'), behind);
    assert.equal(await takeChange(service, ADMIN.email), false);
    tally.held(3);
  }
});
