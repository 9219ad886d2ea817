import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EffectivePermission } from '@castellan/sdk';
import { en } from '../../messages/en/index.ts';
import { lostWith, reasonNotToTake } from './taking.ts';

const permission = (name: string, roleIds: readonly string[], superuser = false): EffectivePermission => ({
  name,
  description: '',
  superuser,
  group: { id: 'g', name: 'orders' },
  sources: roleIds.map((id) => ({ role: { id, name: id, is_system: false }, role_groups: [] })),
});

test('with a role go the permissions that nothing else grants', () => {
  const permissions = [
    permission('orders.read', ['a', 'b']),
    permission('orders.delete', ['a']),
    permission('orders.pay', ['b']),
    permission('orders.ship', ['a'], true),
  ];
  assert.deepEqual(lostWith('a', permissions), ['orders.delete']);
  assert.deepEqual(lostWith('c', permissions), []);
});

test('a person takes away only what they hold, and is told the first of the others', () => {
  const own = new Set(['orders.read', 'orders.delete']);
  assert.equal(reasonNotToTake(own, ['orders.read', 'orders.delete'], en.common), null);
  assert.equal(reasonNotToTake(own, [], en.common), null);
  assert.equal(reasonNotToTake(null, ['a.x'], en.common), null, 'a superuser, or not known');
  assert.equal(
    reasonNotToTake(own, ['orders.read', 'a.x', 'b.x', 'c.x', 'd.x'], en.common),
    'You cannot take away permissions that you do not have: a.x, b.x, c.x, 1 more.',
  );
});
