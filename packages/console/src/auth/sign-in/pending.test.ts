import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOver, pendingIn } from './pending.ts';

test('the second step is read from the answer to the password', () => {
  const options = { challenge: 'Y2g', rpId: 'example.com' };
  const told = {
    token: 'T',
    expires_at: '2026-11-27T08:00:00Z',
    methods: ['passkey', 'pigeon', 'recovery_code'],
    passkey: options,
    may_trust_device: true,
  };
  assert.deepEqual(pendingIn(told, 'ada@example.com', 7), {
    email: 'ada@example.com',
    token: 'T',
    methods: ['passkey', 'recovery_code'],
    passkey: options,
    trustDays: null,
    startedMs: 7,
  });
  const { trustDays, passkey } = pendingIn({ token: 'T', methods: ['totp'] }, '', 0) ?? {};
  assert.deepEqual({ trustDays, passkey }, { trustDays: 0, passkey: null });
});

test('an answer that these pages cannot go on with has no second step', () => {
  for (const told of [undefined, null, 'T', {}, { token: 'T' }, { token: 'T', methods: [] }])
    assert.equal(pendingIn(told, ''), null, JSON.stringify(told));
  assert.equal(pendingIn({ token: 'T', methods: ['pigeon'] }, ''), null);
  assert.equal(pendingIn({ methods: ['totp'] }, ''), null);
});

test('a sign-in waits for ten minutes', () => {
  const pending = pendingIn({ token: 'T', methods: ['totp'] }, '', 1_000);
  assert.ok(pending);
  assert.equal(isOver(pending, 600_999), false);
  assert.equal(isOver(pending, 601_000), true);
});
