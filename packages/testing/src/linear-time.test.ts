import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertLinear } from './linear-time.ts';

test('linear work passes, quadratic work fails', () => {
  assertLinear('one pass', (size) => void 'x'.repeat(size).split('').sort(), 50_000);
  // From each space the pattern scans to the end of the run before it fails.
  const square = (size: number): boolean => / +x/.test(' '.repeat(size));
  assert.throws(() => assertLinear('a walk from each space', square, 3_000), /a walk from each space/);
});
