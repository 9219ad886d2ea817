// Assertions on the envelope that every answer has. It must not send a request.
import assert from 'node:assert/strict';
import type { Answer, Body } from '@castellan/testing/client';

/** Asserts a refusal with this status and code in the error envelope. Returns the body. */
export function assertRefused(answer: Answer, status: number, code: string): Body {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body.code, code, answer.text);
  assert.equal(answer.body.request_id, answer.headers.get('x-request-id'));
  assert.ok(answer.body.detail, 'an error has a detail');
  assert.equal(answer.body.data, undefined);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  return answer.body;
}

/** Asserts a refusal because of exactly this field. */
export function assertFieldRefused(answer: Answer, status: number, code: string, field: string): void {
  const { errors } = assertRefused(answer, status, code);
  assert.deepEqual([...new Set(errors.map((one: Body) => one.field))], [field]);
  for (const one of errors) assert.ok(one.code && one.message, 'a field error has code and message');
}

/** Asserts a refusal by the password policy (`detail` = `{message, errors}`). Returns the errors. */
export function assertPasswordRefused(answer: Answer): string[] {
  const { detail } = assertRefused(answer, 400, 'password_rejected');
  assert.deepEqual(Object.keys(detail).sort(), ['errors', 'message']);
  assert.equal(typeof detail.message, 'string');
  assert.ok(detail.errors.length > 0 && detail.errors.every((one: unknown) => typeof one === 'string'));
  return detail.errors;
}

/** Asserts a success with data and a message. Returns the data. */
export function assertAnswered(answer: Answer, status = 200): Body {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'message']);
  assert.equal(typeof answer.body.message, 'string');
  return answer.body.data;
}

/** Asserts a success with a message and nothing else. Returns the message. */
export function assertMessageOnly(answer: Answer): string {
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['message']);
  return answer.body.message;
}
