// The pool of threads has room for every password that is hashed at once, besides what Node itself needs it for.
// Linux, because threads are counted in /proc.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { atEnd } from '@castellan/embedded-postgres/testing';
import { ADMIN, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { startChild } from '@castellan/testing/start/child';

const isElsewhere = process.platform !== 'linux' && 'needs Linux';

const ownChoice = 4 + Math.max(1, availableParallelism() - 1);

for (const [what, more, expected] of [
  ['four threads and one for each hash', {}, ownChoice],
  ['as many threads with an empty UV_THREADPOOL_SIZE', { UV_THREADPOOL_SIZE: '' }, ownChoice],
  ['as many threads as UV_THREADPOOL_SIZE says', { UV_THREADPOOL_SIZE: '3' }, 3],
] as const)
  test(`the service has ${what}`, { skip: isElsewhere }, async (t) => {
    const database = await createScratchDatabase({ migrated: true });
    atEnd(t, () => database.drop());
    // Hashes a password at its first start, so the pool exists when it is ready.
    const child = startChild(t, {
      DATABASE_URL: database.url,
      SECRET_KEY: TEST_SECRET_KEY,
      FIRST_SUPERUSER_EMAIL: ADMIN.email,
      FIRST_SUPERUSER_PASSWORD: ADMIN.password,
      ...more,
    });
    await child.ready();
    const tasks = `/proc/${child.pid}/task`;
    const names = readdirSync(tasks).map((task) => readFileSync(`${tasks}/${task}/comm`, 'utf8').trim());
    assert.equal(names.filter((name) => name === 'libuv-worker').length, expected, names.join(' '));
  });
