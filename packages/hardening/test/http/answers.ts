// Checks what every answer of the service must have: its headers, its type, and no hint about the software.
// It must not know a route.
import assert from 'node:assert/strict';
import type { Answer } from '@castellan/testing/client';
import { codeIn } from '@castellan/testing/conformance/described';

/** Specification: Authentication, 10, and one more. policy.test.ts checks the content security policy. */
const required: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'x-xss-protection': '1; mode=block',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'permissions-policy': 'geolocation=(), microphone=(), camera=()',
  'cross-origin-opener-policy': 'same-origin',
  'strict-transport-security': 'max-age=31536000; includeSubDomains',
  'content-security-policy':
    "default-src 'self'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};
// Headers that reveal the software, or that only a proxy may add.
const forbidden = ['server', 'x-powered-by', 'via', 'x-aspnet-version', 'x-runtime'];
const SANE_ID = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

/** Of the operator's files: opened alone, they run nothing and are of no origin. */
export const BRAND_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox";

export type Expected = {
  policy?: string;
  /** Pages that are opened with a token send no-referrer. */
  referrer?: string;
  cache?: string;
  /** Errors that browsers are shown. Default: false. */
  isPage?: boolean;
};

/** Checks the headers of an answer. Returns the number of statements checked. */
export function assertProper(
  answer: Answer,
  what: string,
  { policy, referrer, cache = 'no-store', isPage = false }: Expected = {},
): number {
  const expected = {
    ...required,
    ...(policy === undefined ? {} : { 'content-security-policy': policy }),
    ...(referrer === undefined ? {} : { 'referrer-policy': referrer }),
  };
  for (const [name, value] of Object.entries(expected))
    assert.equal(answer.headers.get(name), value, `${what}: ${name}`);
  for (const name of forbidden) assert.equal(answer.headers.get(name), null, `${what}: ${name}`);
  assert.match(answer.headers.get('x-request-id') ?? '', SANE_ID, `${what}: x-request-id`);
  assert.equal(answer.headers.get('cache-control'), cache, `${what}: cache-control`);
  if (answer.text !== '')
    assert.match(
      answer.headers.get('content-type') ?? '',
      answer.status >= 400 && !isPage
        ? /^application\/(problem\+)?json(; charset=utf-8)?$/
        : /(; charset=utf-8|^application\/x-ndjson)$/,
      `${what}: content-type`,
    );
  return Object.keys(expected).length + forbidden.length + 3;
}

/**
 * Checks that the answer is this error in the usual shape or in that of OAuth 2.0, and `assertProper`. Returns the number
 * of statements checked.
 */
export function assertError(answer: Answer, status: number, code: string, what: string): number {
  assert.equal(answer.status, status, `${what}: ${answer.text}`);
  assert.equal(codeIn(answer), code, `${what}: ${answer.text}`);
  if (answer.body.error === undefined)
    assert.equal(answer.body.request_id, answer.headers.get('x-request-id'), what);
  return 3 + assertProper(answer, what);
}
