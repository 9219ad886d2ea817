import assert from 'node:assert/strict';
import { test } from 'node:test';
import { complaintOf } from './migration-locks.ts';

const held = [{ table: 'users', mode: 'ShareLock' }];
const measured = { name: '0099-index', users: 100_000, held, ms: 400, scanMs: 40 };

test('a migration that keeps writers out for longer than a few scans is reported, with its locks', () => {
  assert.equal(
    complaintOf(measured),
    '0099-index keeps writers out of users (ShareLock) for 10.0 scans of the table (400 ms): see "A migration" in CONTRIBUTING.md.',
  );
});

test('what takes long without such a lock, takes no longer than scans, or less than a second for a million users is not', () => {
  assert.equal(complaintOf({ ...measured, held: [] }), undefined);
  assert.equal(complaintOf({ ...measured, scanMs: 200 }), undefined);
  assert.equal(complaintOf({ ...measured, ms: 90 }), undefined);
  assert.ok(complaintOf({ ...measured, users: 50_000, ms: 90 }));
  assert.equal(complaintOf({ ...measured, name: '0047-without-roles', ms: 199 }), undefined);
  assert.ok(complaintOf({ ...measured, name: '0047-without-roles', ms: 201 }));
});
