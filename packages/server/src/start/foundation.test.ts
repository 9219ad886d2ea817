// A foundation that cannot be laid leaves no PostgreSQL running.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { dataDirWithCluster, isStopped } from '@castellan/embedded-postgres/testing';
import { createLog } from '../platform/logging/log.ts';
import { loadSettings } from '../settings.ts';
import { openFoundation } from './foundation.ts';

test('the server that was started is stopped when a component cannot be made', async (t) => {
  const dataDir = await dataDirWithCluster(t);
  let hasRun = false;
  await assert.rejects(
    openFoundation({
      settings: loadSettings({ DATA_DIR: dataDir }),
      log: createLog('silent', { write: () => {} }),
      print: () => {},
      get hasher(): never {
        hasRun = !isStopped(join(dataDir, 'postgres'));
        throw new Error('no hasher');
      },
    }),
    /no hasher/,
  );
  assert.ok(hasRun);
  assert.ok(isStopped(join(dataDir, 'postgres')));
});
