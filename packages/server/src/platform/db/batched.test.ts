// Tests when lookups are joined: which calls share a run, when it begins, and how many run at once.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTick } from 'node:timers/promises';
import { createBatchedLookup } from './batched.ts';

/** Returns a lookup of texts, the keys of each run that has begun, and what ends the oldest one. */
function createRecorded(connections = 20) {
  const runs: string[][] = [];
  const ends: (() => void)[] = [];
  const lookUp = createBatchedLookup<string, string>(connections, async (keys) => {
    runs.push([...keys]);
    await new Promise<void>((resolve) => ends.push(resolve));
    return keys.map((key) => `found ${key}`);
  });
  const lookUpAll = (count: number) => Array.from({ length: count }, (_, index) => lookUp(`${index}`));
  return { lookUpAll, sizes: () => runs.map((keys) => keys.length), endOne: () => ends.shift()?.() };
}

const foundOf = (count: number) => Array.from({ length: count }, (_, index) => `found ${index}`);

test('up to 15 calls of one tick share a run, which begins when the tick has ended', async () => {
  const { lookUpAll, sizes, endOne } = createRecorded();
  const found = lookUpAll(15);
  assert.deepEqual(sizes(), []);
  await nextTick();
  assert.deepEqual(sizes(), [15]);
  endOne();
  assert.deepEqual(await Promise.all(found), foundOf(15));
});

test('a run begins with the 16th call at once; three run at a time, and what waits then shares the next one', async () => {
  const { lookUpAll, sizes, endOne } = createRecorded();
  const found = lookUpAll(100);
  assert.deepEqual(sizes(), [16, 16, 16]);
  await nextTick();
  assert.deepEqual(sizes(), [16, 16, 16]);
  endOne();
  await nextTick();
  assert.deepEqual(sizes(), [16, 16, 16, 52]);
  for (let run = 0; run < 3; run += 1) endOne();
  assert.deepEqual(await Promise.all(found), foundOf(100));
});

test('no run waits for a connection', async () => {
  const { lookUpAll, sizes, endOne } = createRecorded(1);
  const found = lookUpAll(64);
  await nextTick();
  assert.deepEqual(sizes(), [16]);
  endOne();
  await nextTick();
  assert.deepEqual(sizes(), [16, 48]);
  endOne();
  assert.deepEqual(await Promise.all(found), foundOf(64));
});

test('a run has at most 256 calls', async () => {
  const { lookUpAll, sizes, endOne } = createRecorded();
  const found = lookUpAll(48 + 300);
  endOne();
  await nextTick();
  assert.deepEqual(sizes(), [16, 16, 16, 256]);
  endOne();
  await nextTick();
  assert.deepEqual(sizes(), [16, 16, 16, 256, 44]);
  for (let run = 0; run < 3; run += 1) endOne();
  assert.deepEqual(await Promise.all(found), foundOf(348));
});
