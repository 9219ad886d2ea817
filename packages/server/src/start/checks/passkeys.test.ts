// Tests which addresses can have passkeys, with a table.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { passkeysAvailable } from './passkeys.ts';

const addresses: [string, boolean][] = [
  ['https://id.example.com', true],
  ['https://id.example.com/accounts', true],
  ['http://id.example.com', false],
  ['http://localhost:8000', true],
  ['http://accounts.localhost:8000', true],
  ['http://localhost.example.com', false],
  ['http://127.0.0.1:8000', false],
  ['https://127.0.0.1', false],
  ['https://[::1]', false],
];

for (const [publicUrl, expected] of addresses)
  test(`${publicUrl}: ${expected ? 'has' : 'cannot have'} passkeys`, () =>
    assert.equal(passkeysAvailable({ publicUrl }), expected));
