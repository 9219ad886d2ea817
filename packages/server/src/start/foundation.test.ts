// A foundation that cannot be laid leaves no PostgreSQL running.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLog } from '../platform/logging/log.ts';
import { loadSettings } from '../settings.ts';
import { openFoundation } from './foundation.ts';
import type { Groundwork } from './groundwork.ts';

test('a server that has begun to start is stopped when a component cannot be made', async () => {
  let stops = 0;
  const stop = async (): Promise<void> => {
    stops += 1;
  };
  const server = { connection: 'postgres://127.0.0.1:1/none', description: 'a server', stop };
  const ground: Partial<Groundwork> = {
    get transport(): never {
      throw new Error('no transport');
    },
    server: Promise.resolve(server),
  };
  await assert.rejects(
    openFoundation({
      settings: loadSettings({}),
      log: createLog('silent', { write: () => {} }),
      print: () => {},
      groundwork: Promise.resolve(ground as Groundwork),
    }),
    /no transport/,
  );
  assert.equal(stops, 1);
});
