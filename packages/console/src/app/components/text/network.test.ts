// Networks of addresses, as the list of sessions groups them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf } from './network.ts';

for (const [address, network] of [
  ['203.0.113.77', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', '203.0.113.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:DB8::5', '2001:db8::/64'],
  ['2001:db8:0:7::1', '2001:db8:0:7::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['::1', '::/64'],
] as const)
  test(`${address} is in ${network}`, () => assert.equal(networkOf(address), network));

test('what is no address has no network', () => {
  for (const text of [null, '', 'host', '1.2.3', '1:2:3', '1::2::3', '12345::', ':::'])
    assert.equal(networkOf(text), null, String(text));
});
