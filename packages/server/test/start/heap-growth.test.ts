// The flag of V8 that `main.ts` sets: V8 may drop or rename it, and would then only print a line.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { HEAP_GROWTH } from '@castellan/server/main';

test('this Node knows the flag that limits the growth of the heap', () => {
  const set = (flag: string) =>
    spawnSync(process.execPath, ['-e', `require('node:v8').setFlagsFromString('${flag}')`], {
      encoding: 'utf8',
    });
  const { stdout, stderr, status } = set(HEAP_GROWTH);
  assert.deepEqual({ stdout, stderr, status }, { stdout: '', stderr: '', status: 0 });
  assert.notEqual(set('--no-such-flag').stderr, '');
});
