// What every answer of the service must be, whatever it answers: its headers, its type, its silence about itself.
// It must not know a route.
import assert from 'node:assert/strict';
import type { Answer } from '../../client.ts';

/** spec: Authentication, 10; the policy is taken apart in policy.test.ts. */
export const required: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-xss-protection': '1; mode=block',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': 'geolocation=(), microphone=(), camera=()',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'content-security-policy':
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};
// Names that tell what runs here, or that only a proxy may add.
const forbidden = ['server', 'x-powered-by', 'via', 'x-aspnet-version', 'x-runtime'];
const SANE_ID = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

export type Expected = {
  /** Pages that are opened with a token say so: no-referrer. */
  referrer?: string;
  cache?: string;
};

/** Answers how many statements held. */
export function assertProper(
  answer: Answer,
  what: string,
  { referrer, cache = 'no-store' }: Expected = {},
): number {
  const expected = referrer === undefined ? required : { ...required, 'referrer-policy': referrer };
  for (const [name, value] of Object.entries(expected))
    assert.equal(answer.headers.get(name), value, `${what}: ${name}`);
  for (const name of forbidden) assert.equal(answer.headers.get(name), null, `${what}: ${name}`);
  assert.match(answer.headers.get('x-request-id') ?? '', SANE_ID, `${what}: x-request-id`);
  assert.equal(answer.headers.get('cache-control'), cache, `${what}: cache-control`);
  if (answer.text !== '')
    assert.match(
      answer.headers.get('content-type') ?? '',
      answer.status >= 400
        ? /^application\/(problem\+)?json(; charset=utf-8)?$/
        : /(; charset=utf-8|^application\/x-ndjson)$/,
      `${what}: content-type`,
    );
  return Object.keys(expected).length + forbidden.length + 3;
}

/** The answer is this error in the shape that all errors have, and proper besides. Answers how many statements held. */
export function assertError(answer: Answer, status: number, code: string, what: string): number {
  assert.equal(answer.status, status, `${what}: ${answer.text}`);
  assert.equal(answer.body?.code, code, `${what}: ${answer.text}`);
  assert.equal(answer.body.request_id, answer.headers.get('x-request-id'), what);
  return 3 + assertProper(answer, what);
}
