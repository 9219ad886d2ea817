// Following goes on when the database fails in the middle of its beginning.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pool } from 'pg';
import type { Logger } from '../../platform/logging/log.ts';
import { createHub } from './hub.ts';

const STAMP = '00000000-0000-4000-8000-000000000001';
const found = {
  is_on: true,
  is_known: true,
  is_complete: true,
  head_seq: '1',
  head_stamp: STAMP,
  log_rows: null,
};

test('a reader that came while the first one failed gets what follows', async () => {
  let polls = 0;
  let failMark = (): void => {};
  const answers: Record<string, () => unknown> = {
    'feed-turn-on': () => ({ rows: [] }),
    'feed-poll': () => {
      polls += 1;
      return { rows: [found] };
    },
    'feed-mark': () =>
      polls === 1
        ? new Promise((_, reject) => {
            failMark = () => reject(new Error('the connection ended'));
          })
        : { rows: [{ mark: '7' }] },
    'feed-mark-passed': () => ({ rows: [{ passed: true }] }),
  };
  const pool = {
    query: async ({ name, text }: { name?: string; text: string }) => answers[name ?? text]?.(),
  };
  const log = { warn() {}, info() {} };
  const hub = createHub(pool as unknown as Pool, log as unknown as Logger);
  const first = hub.hold();
  while (polls === 0) await new Promise(setImmediate);
  await new Promise(setImmediate);
  const release = await hub.hold();
  const isLive = new Promise<void>((resolve) =>
    hub.listen({ changed() {}, reset() {}, live: () => resolve() }),
  );
  failMark();
  await assert.rejects(first, /the connection ended/);
  await isLive;
  assert.equal(hub.isLive, true);
  release();
  hub.stop();
});
