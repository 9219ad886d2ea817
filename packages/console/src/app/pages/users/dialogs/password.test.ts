// Generated passwords meet the policy and never repeat.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePassword } from './password.ts';

test('each password has 20 characters of four kinds and no runs', () => {
  for (let times = 0; times < 500; times += 1) {
    const password = makePassword();
    assert.equal(password.length, 20);
    for (const kind of [/[A-Z]/, /[a-z]/, /\d/, /[^A-Za-z\d]/]) assert.match(password, kind);
    assert.doesNotMatch(password, /(.)\1|[a-z]{2}|[A-Z]{2}|\d{2}/);
  }
});

test('no two passwords are the same, and every character is used', () => {
  const passwords = Array.from({ length: 500 }, makePassword);
  assert.equal(new Set(passwords).size, passwords.length);
  assert.equal(new Set(passwords.join('')).size, 24 + 24 + 8 + 9);
});
