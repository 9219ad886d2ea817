// Tests that the snapshot of events refuses what receivers would notice, and takes what they would not.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { brokenPromises, currentMembers, type Member, readSnapshot, textOf } from './events.ts';

const member: Member = { isRequired: true, types: ['string'], personal: null };
const before = new Map([['logout@1 data.details.session_id', member]]);
const changed = (change: Partial<Member>) =>
  brokenPromises(before, new Map([['logout@1 data.details.session_id', { ...member, ...change }]]));

test('the stored members are those of the catalogue: run npm run gen after an addition', async () => {
  const path = new URL('../../packages/contract/src/events/members.snapshot', import.meta.url);
  const stored = await readFile(path, 'utf8');
  assert.deepEqual(brokenPromises(readSnapshot(stored), currentMembers()), []);
  assert.ok(stored === textOf(currentMembers()), 'stale');
});

test('the text holds every member of every type', () => {
  const members = currentMembers();
  assert.ok(members.size > 3_000);
  const read = readSnapshot(textOf(members));
  assert.equal(read.size, members.size);
  for (const [key, value] of members) assert.deepEqual(read.get(key), value, key);
});

test('a member that is gone, may be absent, or has another type or other readers is refused', () => {
  assert.match(brokenPromises(before, new Map())[0] ?? '', /session_id is gone/);
  assert.match(changed({ isRequired: false })[0] ?? '', /may be absent/);
  assert.match(changed({ types: ['null', 'string'] })[0] ?? '', /can be null/);
  assert.match(changed({ types: ['string:uuid'] })[0] ?? '', /no longer string/);
  assert.match(changed({ personal: 'subject' })[0] ?? '', /subject personal/);
});

test('a new member, a new type of event and a new value of a list of values are additions', () => {
  assert.deepEqual(
    brokenPromises(before, new Map([...before, ['logout@1 data.details.reason', member]])),
    [],
  );
  const listed = (types: string[]) => new Map([['role_created@1 data.resource.type', { ...member, types }]]);
  assert.deepEqual(brokenPromises(listed(['"role"']), listed(['"role"', '"user"'])), []);
  assert.match(brokenPromises(listed(['"role"', '"user"']), listed(['"role"']))[0] ?? '', /no longer "user"/);
});
