// Tests the secret watch itself, because a watch that finds nothing looks the same as one with nothing to find.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecretWatch } from './secret-watch.ts';

const SECRET = 'Planted#Secret47';

test('a secret that was sent or received is found, at any depth and anywhere in a text', () => {
  const watch = createSecretWatch();
  watch.noteSent({ users: [{ new_password: SECRET }] });
  watch.noteReceived({ data: { refresh_token: 'a-token-of-some-length' } });
  assert.throws(
    () => watch.assertClean('here', `{"msg":"x ${SECRET}"}`),
    /here holds a secret \(new_password\)/,
  );
  assert.throws(() => watch.assertClean('here', 'a-token-of-some-length'), /refresh_token/);
  watch.assertClean('here', SECRET.slice(0, -1));
});

test('the error message does not repeat the secret that was found', () => {
  const watch = createSecretWatch();
  watch.noteSent({ password: SECRET });
  assert.throws(
    () => watch.assertClean('here', `before ${SECRET}`),
    (error: Error) => error.message.includes('before') && !error.message.includes(SECRET),
  );
});

test('hashes, signed tokens and private keys are recognised by their shape', () => {
  const watch = createSecretWatch();
  const part = 'eyJhbGciOiJFZERTQSJ9';
  for (const text of [
    '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA',
    `${part}.${part}.${'s'.repeat(86)}`,
    `{"crv":"Ed25519","d":"${'k'.repeat(43)}"}`,
    '-----BEGIN PRIVATE KEY-----',
    ...['cs', 'ac', 'at', 'dc'].map((kind) => `cas_${kind}_${'x'.repeat(43)}_000000`),
    `cas_rt_${'x'.repeat(60)}_000000`,
  ])
    assert.throws(() => watch.assertClean('here', `in (${text}) here`), /holds a secret/);
});

test('values that were also sent as ordinary text, or are too short, are not reported', () => {
  const watch = createSecretWatch();
  watch.noteSent({ password: 'Ada Lovelace of London', first_name: 'Ada Lovelace of London' });
  watch.noteSent({ password: 'weak' });
  watch.assertClean('here', 'weak Ada Lovelace of London');
});

test('a secret that is returned under another name is still reported', () => {
  const watch = createSecretWatch();
  watch.noteSent({ password: SECRET });
  watch.noteReceived({ data: { first_name: SECRET } });
  assert.throws(() => watch.assertClean('here', SECRET), /holds a secret/);
});

test('a secret is found in its JSON spelling', () => {
  const watch = createSecretWatch();
  const quoted = 'with "quotes" and \\ in it';
  watch.noteSent({ password: quoted });
  assert.throws(() => watch.assertClean('here', JSON.stringify({ msg: quoted })), /holds a secret/);
});

test('an answer that issues a token may contain it, but no password and no hash', () => {
  const watch = createSecretWatch();
  const token = `${'eyJhbGciOiJFZERTQSJ9.'.repeat(2)}${'s'.repeat(86)}`;
  watch.noteSent({ password: SECRET, refresh_token: token });
  watch.assertClean('here', token, 'passwords');
  assert.throws(() => watch.assertClean('here', SECRET, 'passwords'), /holds a secret/);
  assert.throws(() => watch.assertClean('here', '$argon2id$v=19$', 'passwords'), /a password hash/);
  assert.throws(() => watch.assertClean('here', token), /holds a secret/);
});
