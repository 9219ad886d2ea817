// The networks of sessions, counted.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UserSession } from '@castellan/sdk';
import { countNetworks } from './count-networks.ts';

const from = (origin_address: string | null): UserSession => ({
  id: '1',
  origin_address,
  last_address: origin_address,
  unusual_network: null,
  user_agent: null,
  created_at: '',
  last_used_at: '',
  expires_at: '',
  current: false,
  user: { id: '1', email: '', first_name: '', last_name: '' },
});

test('addresses of a network count together, the largest first', () => {
  const sessions = ['192.0.2.1', '198.51.100.7', '198.51.100.8', null, '2001:db8::1'].map(from);
  assert.deepEqual(countNetworks(sessions), [
    ['198.51.100.0/24', 2],
    ['192.0.2.0/24', 1],
    ['2001:db8::/64', 1],
  ]);
});
