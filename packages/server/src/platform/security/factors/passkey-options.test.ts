// Tests the options that browsers get, member by member.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creationOptions, requestOptions } from './passkey-options.ts';

const credentialId = Buffer.from('fbff00', 'hex');
const known = [
  { credentialId, transports: ['internal', 'hybrid'] },
  { credentialId: Buffer.alloc(16), transports: [] },
];
const descriptors = [
  { id: '-_8A', type: 'public-key', transports: ['internal', 'hybrid'] },
  { id: 'AAAAAAAAAAAAAAAAAAAAAA', type: 'public-key' },
];
const creation = {
  rpId: 'example.com',
  rpName: 'Castellan',
  challenge: 'AAAA',
  user: { id: '00112233-4455-6677-8899-aabbccddeeff', email: 'ada@example.com', displayName: 'Ada Lovelace' },
  exclude: known,
};

test('without allowed credentials, a request asks for discoverable ones', () => {
  assert.deepEqual(requestOptions({ rpId: 'example.com', challenge: 'AAAA', userVerification: 'required' }), {
    challenge: 'AAAA',
    rpId: 'example.com',
    timeout: 300_000,
    userVerification: 'required',
  });
});

test('a request names the allowed credentials with the transports that are known', () => {
  const options = { rpId: 'example.com', challenge: 'AAAA', userVerification: 'preferred' as const };
  assert.deepEqual(requestOptions({ ...options, allow: known }).allowCredentials, descriptors);
  assert.deepEqual(requestOptions({ ...options, allow: [] }).allowCredentials, []);
});

test('a passkey must be discoverable and verify its user', () => {
  assert.deepEqual(creationOptions({ ...creation, kind: 'passkey' }), {
    challenge: 'AAAA',
    rp: { id: 'example.com', name: 'Castellan' },
    user: { id: 'ABEiM0RVZneImaq7zN3u_w', name: 'ada@example.com', displayName: 'Ada Lovelace' },
    pubKeyCredParams: [
      { type: 'public-key', alg: -7 },
      { type: 'public-key', alg: -8 },
      { type: 'public-key', alg: -257 },
    ],
    timeout: 300_000,
    excludeCredentials: descriptors,
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
    extensions: { credProps: true },
  });
});

test('a security key is asked for as such, and for no PIN', () => {
  const { hints, authenticatorSelection, ...rest } = creationOptions({ ...creation, kind: 'security_key' });
  assert.deepEqual(hints, ['security-key']);
  assert.deepEqual(authenticatorSelection, {
    residentKey: 'discouraged',
    requireResidentKey: false,
    userVerification: 'discouraged',
  });
  const { authenticatorSelection: _, ...ofPasskey } = creationOptions({ ...creation, kind: 'passkey' });
  assert.deepEqual(rest, ofPasskey);
});
