// The flags of V8 that `main.ts` sets: V8 may drop or rename one, and would then only print a line.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { atEnd } from '@castellan/embedded-postgres/testing';
import { HEAP_GROWTH, YOUNG_OBJECTS } from '@castellan/server/main';
import { ADMIN, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { startChild } from '@castellan/testing/start/child';

test('this Node knows the flags', () => {
  const set = (flag: string) =>
    spawnSync(process.execPath, ['-e', `require('node:v8').setFlagsFromString('${flag}')`], {
      encoding: 'utf8',
    });
  for (const flag of [HEAP_GROWTH, YOUNG_OBJECTS]) {
    const { stdout, stderr, status } = set(flag);
    assert.deepEqual({ stdout, stderr, status }, { stdout: '', stderr: '', status: 0 });
  }
  assert.notEqual(set('--no-such-flag').stderr, '');
});

test('V8 decides for no code that its objects begin in the old generation', async (t) => {
  const database = await createScratchDatabase({ migrated: true });
  atEnd(t, () => database.drop());
  const settings = {
    DATABASE_URL: database.url,
    SECRET_KEY: TEST_SECRET_KEY,
    FIRST_SUPERUSER_PASSWORD: ADMIN.password,
  };
  // V8 prints each decision.
  const trace = '--trace-pretenuring-statistics';
  const child = startChild(t, settings, { flags: [trace] });
  await child.ready();
  assert.doesNotMatch(child.out(), /pretenuring/);
  const allocating = 'const kept = []; for (let i = 0; i < 1e6; i += 1) kept.push({ i: [i] });';
  const { stdout } = spawnSync(process.execPath, [trace, '-e', allocating], { encoding: 'utf8' });
  assert.match(stdout, /pretenuring/);
});
