import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokenIn } from './token.ts';

// Begins like an escape of quoted-printable, and has every kind of character.
const token = '3DJx-8_QmZ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0u';
const full = `${token}_`;

test('a token is read from a fragment as it was sent, and as mail programs change it', () => {
  assert.equal(full.length, 43);
  for (const hash of [
    `#token=${full}`,
    `#TOKEN=${full}`,
    `#/token=${full}`,
    `#token%3D${full}`,
    `#token%3d${full}`,
    `#token%253D${full}`,
    `#token=3D${full}`,
    `#token=${full.slice(0, 20)}=${full.slice(20)}`,
    `#token=${full.slice(0, 20)}=%0D%0A${full.slice(20)}`,
    `#token=${full}=`,
    ...['.', ',', ')', '>', '%3E', '"', '&amp;x=1', '&utm_source=mail', '%20'].map(
      (end) => `#token=${full}${end}`,
    ),
  ])
    assert.equal(tokenIn(hash), full, hash);
});

test('what is not exactly a token stays as it is, so that the service refuses it', () => {
  for (const other of ['x', token, `${full}A`, `4D${full}`]) assert.equal(tokenIn(`#token=${other}`), other);
  for (const none of ['', '#', '#token=', '#tok=x', `#${full}`]) assert.ok(!tokenIn(none), none);
});

test('a token is read by its own name only', () => {
  assert.equal(tokenIn(`#recovery=${full}`, 'recovery'), full);
  assert.equal(tokenIn(`#recovery%3D3D${full}`, 'recovery'), full);
  assert.ok(!tokenIn(`#recovery=${full}`));
  assert.ok(!tokenIn(`#token=${full}`, 'recovery'));
});
