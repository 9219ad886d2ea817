import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SettingsError } from '../../platform/config/config.ts';
import { sharesOf } from './shares.ts';

const databaseUrl = 'postgres://h/db';

test('an instance has one worker per core, at most eight, and one on the embedded PostgreSQL', () => {
  const numberFor = (cores: number, given = {}) => sharesOf({ databaseUrl, ...given }, cores).workers;
  assert.deepEqual([numberFor(1), numberFor(2), numberFor(8), numberFor(32)], [1, 2, 8, 8]);
  assert.equal(sharesOf({}, 8).workers, 1);
  assert.equal(numberFor(2, { workers: 12 }), 12);
  assert.equal(sharesOf({ workers: 3 }, 8).workers, 3);
});

test('the connections of all workers together stay within DATABASE_POOL_SIZE, which decides the number of workers', () => {
  const sizeFor = (workers: number) => sharesOf({ databaseUrl, workers }, 2).databasePoolSize;
  assert.deepEqual([sizeFor(1), sizeFor(3), sizeFor(8)], [20, 20, 48]);
  for (const [databasePoolSize, workers] of [
    [2, 1],
    [11, 1],
    [20, 3],
    [500, 8],
  ] as const)
    assert.deepEqual(sharesOf({ databaseUrl, databasePoolSize }, 16), { workers, databasePoolSize });
});

test('fewer than two connections for each worker are refused', () => {
  assert.equal(sharesOf({ databaseUrl, workers: 4, databasePoolSize: 8 }, 2).workers, 4);
  assert.throws(
    () => sharesOf({ databaseUrl, workers: 4, databasePoolSize: 7 }, 2),
    (error) =>
      error instanceof SettingsError &&
      error.problems[0] === 'DATABASE_POOL_SIZE is 7; write at least 8 for 4 workers, or lower WORKERS',
  );
});
