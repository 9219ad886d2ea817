import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { passLines } from './pass-lines.ts';

test('lines are whole; while the output is blocked, the rest stays with the worker', async () => {
  const stream = new PassThrough();
  const passed: string[] = [];
  const passedWhileBlocked: number[] = [];
  const passing = passLines(stream, {
    write(lines) {
      if (passed.push(lines) === 1) stream.end('cond\nthird\nunfinished');
    },
    unwritten() {
      if (passedWhileBlocked.length === 5) return 0;
      passedWhileBlocked.push(passed.length);
      return 16_000_000;
    },
  });
  stream.write('first\nse');
  await passing;
  assert.deepEqual(passedWhileBlocked, [1, 1, 1, 1, 1]);
  assert.deepEqual(passed, ['first\n', 'second\nthird\n', 'unfinished\n']);
});

test('when the output is closed for good, so is the stream, so that the worker learns of it', async () => {
  const stream = new PassThrough();
  stream.write('first\n');
  await passLines(stream, { write: () => {}, unwritten: () => Number.POSITIVE_INFINITY });
  assert.ok(stream.destroyed);
});
