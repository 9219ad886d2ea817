// Tests how entries and seals are hashed, against fixed hashes: a change of one of them makes every earlier seal unverifiable.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { auditActions } from '@castellan/contract/audit';
import { canonicalJson } from '@castellan/contract/canonical-json';
import { splitDetails } from '@castellan/contract/personal-members';
import {
  entryLeaf,
  hashOfEntry,
  hashOfSeal,
  openMembers,
  originOf,
  type StoredEntry,
  splitEntry,
} from './leaves.ts';

const lists = { user_updated: ['request_id', 'before', 'after', 'is_active', 'roles'] };
const salt = '00112233-4455-6677-8899-aabbccddeeff';
const entry: StoredEntry = {
  id: '0192f0c1-2345-7890-8abc-def012345678',
  position: 42,
  timestamp: '2026-11-28T20:00:00.123456Z',
  action: 'user_updated',
  actor_type: 'user',
  actor_id: '0192f0c1-0000-7000-8000-000000000001',
  actor_email: 'admin@example.com',
  actor_name: null,
  acted_by_id: null,
  resource_type: 'user',
  resource_id: '0192f0c1-0000-7000-8000-000000000002',
  resource_name: 'ada@example.com',
  details: {
    request_id: 'r-1',
    email: 'ada@example.com',
    before: { first_name: 'Ada', is_active: true },
    after: { first_name: 'Adele', is_active: false },
    roles: [{ email: 'not looked into' }],
  },
  salt,
  personal_hash: null,
};

test('personal members are divided from the others, also in before and after', () => {
  assert.deepEqual(splitEntry(entry, lists), {
    details: {
      request_id: 'r-1',
      before: { is_active: true },
      after: { is_active: false },
      roles: [{ email: 'not looked into' }],
    },
    personal: {
      actor_email: 'admin@example.com',
      actor_name: null,
      resource_name: 'ada@example.com',
      details: {
        email: 'ada@example.com',
        before: { first_name: 'Ada' },
        after: { first_name: 'Adele' },
      },
    },
  });
  const created = { ...entry, details: { before: null, after: [1], address: '::1' } };
  const { details, personal } = splitEntry(created, lists);
  assert.deepEqual([details, personal.details], [{ before: null, after: [1] }, { address: '::1' }]);
  assert.deepEqual(splitEntry({ ...entry, action: 'later_action' }, lists).details, {});
});

test('the hashes of an entry stay what they are', () => {
  const { leaf, personal } = entryLeaf(entry, lists);
  const bytes = Buffer.concat([
    Buffer.from('00112233445566778899aabbccddeeff', 'hex'),
    Buffer.from(canonicalJson(personal)),
  ]);
  assert.equal(leaf.personal_hash, createHash('sha256').update(bytes).digest('base64'));
  assert.equal(leaf.personal_hash, 'gLyZvSmUSpbOYAsLfJ2KAjTpXZru9rbW1zT+lP1tFGw=');
  assert.equal(
    hashOfEntry(leaf).toString('hex'),
    'daf4249e1c43a89788545df29565d447a946469ef786e8ed7ec581c80b7f5af4',
  );
});

test('an erased entry has the leaf that it had', () => {
  const { leaf } = entryLeaf(entry, lists);
  const erased: StoredEntry = {
    ...entry,
    actor_email: 'erased',
    resource_name: 'erased',
    details: { ...entry.details, email: 'erased', before: { first_name: 'erased', is_active: true } },
    salt: null,
    personal_hash: leaf.personal_hash,
  };
  assert.deepEqual(entryLeaf(erased, lists), { leaf, personal: null });
  assert.throws(() => entryLeaf({ ...erased, personal_hash: null }, lists), /no salt/);
});

test('every other change of an entry changes its leaf', () => {
  const hash = hashOfEntry(entryLeaf(entry, lists).leaf);
  const changes: Partial<StoredEntry>[] = [
    { id: salt },
    { position: 43 },
    { position: null },
    { timestamp: '2026-11-28T20:00:00.123457Z' },
    { action: 'user_created' },
    { actor_type: 'service_account' },
    { actor_id: null },
    { acted_by_id: salt },
    { resource_type: 'role' },
    { resource_id: '' },
    { details: { ...entry.details, request_id: 'r-2' } },
    { details: { ...entry.details, email: 'eve@example.com' } },
    { details: { ...entry.details, before: null } },
    { actor_email: null },
    { actor_name: 'a' },
    { resource_name: null },
    { salt: entry.id },
  ];
  for (const change of changes)
    assert.notDeepEqual(
      hashOfEntry(entryLeaf({ ...entry, ...change }, lists).leaf),
      hash,
      canonicalJson(change),
    );
});

test('the hash of a seal stays what it is', () => {
  const seal = {
    number: 7,
    kind: 'entries',
    partition: null,
    from: 1,
    to: 3,
    missing: [[2, 2]],
    late: [],
    void: [],
    count: 2,
    root: '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
    at: '2026-11-28T20:00:10.000Z',
  } satisfies Parameters<typeof hashOfSeal>[0];
  assert.equal(
    hashOfSeal(seal).toString('hex'),
    'a7a66cdc68634155c96b2131284ef5b230a714aac89cc1c2787fa3d356389681',
  );
});

test('the members are divided as in events, and what an erasure removes is open in no action', () => {
  const details = {
    address: '::1',
    email: 'a',
    before: { email: 'a', name: 'n' },
    after: null,
    request_id: 'r',
    other: 1,
  };
  for (const action of auditActions) {
    const { open, personal } = splitDetails(action, details);
    const split = splitEntry({ ...entry, action, details }, openMembers);
    assert.deepEqual([split.details, split.personal.details], [open, personal], action);
    for (const name of ['address', 'email', 'network', 'user_agent', 'new_email', 'first_name'])
      assert.ok(!openMembers[action]?.includes(name), `${action} ${name}`);
  }
});

test('the origin of a log is a host and its id', () => {
  assert.equal(originOf('https://id.example.com/castellan', salt), `id.example.com/audit/${salt}`);
});
