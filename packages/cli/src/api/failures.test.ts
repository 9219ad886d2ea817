import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureOf } from './failures.ts';
import { loadSdk } from './sdk.ts';

const { CastellanError } = await loadSdk();

test('a failure says what was not done, and has the exit code of its kind', () => {
  const of = (code: string, details: ConstructorParameters<typeof CastellanError>[2]) => {
    const { exitCode, message } = failureOf(
      new CastellanError(code, 'It failed.', details),
      'https://id.example',
    );
    return [exitCode, message];
  };
  const requestId = 'r-1';
  assert.deepEqual(of('rate_limited', { status: 429, requestId, retryAfterMs: 1_500 }), [
    1,
    'It failed. (rate_limited, request r-1)\nNothing was changed. The service asks to wait for 2 s.',
  ]);
  assert.deepEqual(of('overloaded', { status: 503, requestId }), [
    5,
    'It failed. (overloaded, request r-1)\nA change may have been made: look before you repeat it.',
  ]);
  const fields = [{ field: 'name', code: 'too_long', message: 'too long' }];
  assert.deepEqual(of('validation_failed', { status: 422, requestId, fields }), [
    1,
    'It failed. (validation_failed, request r-1)\n  - name: too long\nNothing was changed.',
  ]);
  assert.deepEqual(
    [of('user_not_found', { status: 404 }), of('invalid', { status: 401 }), of('timeout', {})].map(
      ([code]) => code,
    ),
    [3, 4, 5],
  );
});
