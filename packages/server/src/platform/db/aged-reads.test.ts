import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pool } from 'pg';
import { AppError } from '../errors.ts';
import { createAgedReads } from './aged-reads.ts';

type Row = Record<string, string | null>;

/** Two servers whose state a test sets, and a clock. */
function twoServers() {
  const state = {
    time: 0,
    primary: { identity: '7/app/1', position: '0/100' } as Row,
    replica: { identity: '7/app/1', replayed: '0/100' } as Row,
    measurements: 0,
    away: false,
  };
  const lines: string[] = [];
  const poolOf = (answer: () => Row): Pool => {
    const pool = {
      query: async () => {
        if (state.away) throw new Error('Connection terminated');
        return { rows: [answer()] };
      },
    };
    return pool as unknown as Pool;
  };
  const reads = createAgedReads<'primary' | 'replica'>({
    primary: {
      pool: poolOf(() => {
        state.measurements += 1;
        return state.primary;
      }),
      db: 'primary',
    },
    replica: { pool: poolOf(() => state.replica), db: 'replica' },
    maxAgeSeconds: 10,
    log: {
      warn: (_details, message) => void lines.push(message),
      info: (message) => void lines.push(message),
    },
    now: () => state.time,
  });
  const from = async (): Promise<[string, number | null]> => {
    const { value, ageSeconds } = await reads.run(async (db) => db);
    return [value, ageSeconds];
  };
  return { state, reads, from, lines };
}

test('a standby that has replayed everything answers, also while nothing is written', async () => {
  const { state, from } = twoServers();
  for (const time of [0, 60_000, 600_000]) {
    state.time = time;
    assert.deepEqual(await from(), ['replica', 0]);
  }
});

test('the age is the time since the primary was where the standby is now', async () => {
  const { state, from } = twoServers();
  await from();
  for (let second = 1; second <= 10; second += 1) {
    state.time = second * 1_000;
    state.primary = { ...state.primary, position: `0/${(0x100 + second).toString(16)}` };
    assert.deepEqual(await from(), ['replica', second]);
  }
  state.time = 10_001;
  assert.deepEqual(await from(), ['primary', null]);
  state.time = 11_000;
  state.replica = { ...state.replica, replayed: '0/108' };
  assert.deepEqual(await from(), ['replica', 3]);
});

test('positions are compared as numbers', async () => {
  const { state, from } = twoServers();
  state.primary = { ...state.primary, position: '10/0' };
  state.replica = { ...state.replica, replayed: '9/FFFFFFFF' };
  assert.deepEqual(await from(), ['primary', null]);
});

test('reads of one second share a measurement', async () => {
  const { state, from } = twoServers();
  await Promise.all([from(), from(), from()]);
  state.time = 999;
  assert.deepEqual(await from(), ['replica', 1]);
  assert.equal(state.measurements, 1);
});

test('a server that is no standby, or of another cluster, database or timeline, is not used and named once', async () => {
  for (const replica of [
    { identity: '7/app/1', replayed: null },
    { identity: '8/app/1', replayed: '0/100' },
    { identity: '7/other/1', replayed: '0/100' },
    { identity: '7/app/2', replayed: '0/100' },
  ]) {
    const { state, from, lines } = twoServers();
    state.replica = replica;
    for (state.time = 0; state.time < 20_000; state.time += 1_000)
      assert.deepEqual(await from(), ['primary', null]);
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /^DATABASE_REPLICA_URL does not lead to a standby/);
  }
});

test('a read that fails on the standby runs on the primary, and the standby has a pause', async () => {
  const { state, reads, from, lines } = twoServers();
  const { value, ageSeconds } = await reads.run(async (db) => {
    if (db === 'replica') throw Object.assign(new Error('canceling statement'), { code: '40001' });
    return db;
  });
  assert.deepEqual([value, ageSeconds], ['primary', null]);
  state.time = 4_999;
  assert.deepEqual(await from(), ['primary', null]);
  state.time = 5_000;
  assert.deepEqual(await from(), ['replica', 0]);
  assert.deepEqual(
    lines.map((line) => line.replace(/.*(failed|used again).*/, '$1')),
    ['failed', 'used again'],
  );
});

test('servers that do not answer are no error of a read', async () => {
  const { state, from } = twoServers();
  state.away = true;
  assert.deepEqual(await from(), ['primary', null]);
});

test('a refusal is not repeated on the primary', async () => {
  const { reads } = twoServers();
  const asked: string[] = [];
  const refused = reads.run(async (db) => {
    asked.push(db);
    throw new AppError('validation_failed');
  });
  await assert.rejects(refused, AppError);
  assert.deepEqual(asked, ['replica']);
});

test('a read of the newest state does not ask the standby', async () => {
  const { state, reads } = twoServers();
  const { value, ageSeconds } = await reads.run(async (db) => db, { current: true });
  assert.deepEqual([value, ageSeconds, state.measurements], ['primary', null, 0]);
});
