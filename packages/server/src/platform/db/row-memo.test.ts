import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { createRowMemo } from './row-memo.ts';

const { TEXT, TIMESTAMPTZ, INT8 } = pg.types.builtins;
const columns = [
  { name: 'ordinal', dataTypeID: INT8 },
  { name: 'id', dataTypeID: TEXT },
  { name: 'at', dataTypeID: TIMESTAMPTZ },
] as const;
const rowOf = (ordinal: number, id: string, at: string | null) => [String(ordinal), id, at];

test('rows are returned by their ordinal, parsed, and undefined where none was found', () => {
  const read = createRowMemo<{ id: string; at: Date | string | null }>();
  const [one, two, three] = read(
    { rows: [rowOf(3, 'c', null), rowOf(1, 'a', '2026-01-02 03:04:05.678+00')], columns },
    3,
  );
  assert.deepEqual(one, { id: 'a', at: new Date('2026-01-02T03:04:05.678Z') });
  assert.equal(two, undefined);
  assert.deepEqual(three, { id: 'c', at: null });
});

test('a row is the same object until one character differs, whatever its ordinal', () => {
  const read = createRowMemo<{ id: string; at: Date | string | null }>();
  const readOne = (at: string | null, ordinal = 1) =>
    read({ rows: [rowOf(ordinal, 'a', at)], columns }, ordinal)[ordinal - 1];
  const first = readOne('2026-01-02 03:04:05.678+00');
  assert.equal(readOne('2026-01-02 03:04:05.678+00', 7), first);
  assert.notEqual(readOne('2026-01-02 03:04:05.679+00'), first);
  assert.deepEqual(readOne(null), { id: 'a', at: null });
});

test('rows of one id with different third columns do not replace each other', () => {
  const read = createRowMemo<{ id: string; at: Date | string | null }>();
  const readBoth = () =>
    read(
      { rows: [rowOf(1, 'a', '2026-01-02 03:04:05+00'), rowOf(2, 'a', '2026-01-02 03:14:05+00')], columns },
      2,
    );
  const [one, other] = readBoth();
  const [oneAgain, otherAgain] = readBoth();
  assert.equal(oneAgain, one);
  assert.equal(otherAgain, other);
  assert.notEqual(one, other);
});

test('at most so many rows are kept, the newest ones', () => {
  const read = createRowMemo<{ id: string; at: string | null }>(2);
  const readOne = (id: string) => read({ rows: [rowOf(1, id, null)], columns }, 1)[0];
  const [a, b] = [readOne('a'), readOne('b')];
  assert.equal(readOne('a'), a);
  readOne('c');
  assert.equal(readOne('b'), b);
  assert.notEqual(readOne('a'), a);
});
