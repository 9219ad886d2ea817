// What every answer has to look like, whatever was asked: asserts on envelopes, and nothing else.
// It must not send a request.
import assert from 'node:assert/strict';
import type { Answer, Body } from '../client.ts';

/** Refused with this status and code, in the error envelope. Answers the body. */
export function assertRefused(answer: Answer, status: number, code: string): Body {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.body.code, code, answer.text);
  assert.equal(answer.body.request_id, answer.headers.get('x-request-id'));
  assert.ok(answer.body.detail, 'an error says what went wrong');
  assert.equal(answer.body.data, undefined);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  return answer.body;
}

/** Refused because of this one field. */
export function assertFieldRefused(answer: Answer, status: number, code: string, field: string): void {
  const { errors } = assertRefused(answer, status, code);
  assert.deepEqual([...new Set(errors.map((one: Body) => one.field))], [field]);
  for (const one of errors) assert.ok(one.code && one.message, 'a field error has code and message');
}

/** Refused by the password policy: `detail` = `{message, errors}`. Answers the sentences. */
export function assertPasswordRefused(answer: Answer): string[] {
  const { detail } = assertRefused(answer, 400, 'password_rejected');
  assert.deepEqual(Object.keys(detail).sort(), ['errors', 'message']);
  assert.equal(typeof detail.message, 'string');
  assert.ok(detail.errors.length > 0 && detail.errors.every((one: unknown) => typeof one === 'string'));
  return detail.errors;
}

/** Accepted, with data and a message. Answers the data. */
export function assertAnswered(answer: Answer, status = 200): Body {
  assert.equal(answer.status, status, answer.text);
  assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'message']);
  assert.equal(typeof answer.body.message, 'string');
  return answer.body.data;
}

/** Accepted, with a message and nothing else. Answers the message. */
export function assertMessageOnly(answer: Answer): string {
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(Object.keys(answer.body), ['message']);
  return answer.body.message;
}
