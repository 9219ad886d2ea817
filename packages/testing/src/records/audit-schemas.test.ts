// The comparison of entries with the catalogue finds what it is there for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { differenceOf } from './audit-schemas.ts';

const of = (action: string, details: object, resource_type = 'security_event') =>
  differenceOf({ action, resource_type, details });
const common = { address: '203.0.113.7', request_id: 'r-1' };

test('an entry fits with the members of its action and those of every request', () => {
  assert.equal(
    of('user_updated', { ...common, before: { verified: false }, after: { verified: true } }, 'user'),
    null,
  );
  assert.equal(of('login_failed', { ...common, email: 'ada@example.com', more_left_out: 3 }), null);
});

test('a member that is not declared is found on every level, and one that is missing or of another type', () => {
  assert.match(
    of('user_updated', { ...common, before: {}, after: { pet: 'Rex' } }, 'user') ?? '',
    /after\/pet/,
  );
  assert.match(
    of('logout_all', { ...common, email: 'ada@example.com', sessions: 1, pet: 'Rex' }) ?? '',
    /\/pet/,
  );
  assert.match(of('self_deletion_undone', common, 'user') ?? '', /email/);
  assert.match(of('logout_all', { ...common, email: 'ada@example.com', sessions: '1' }) ?? '', /integer/);
  assert.match(of('data_exported', common, 'cat') ?? '', /type cat/);
});

test('an action that is not in the catalogue is not compared', () => {
  assert.equal(of('sneezed', { pet: 'Rex' }), null);
});
