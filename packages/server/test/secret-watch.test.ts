// That the net under the suite catches: a net that catches nothing looks just like one under which nothing falls.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSecretWatch } from './secret-watch.ts';

const SECRET = 'Planted#Secret47';

test('a secret that was sent or received is found again, at any depth and anywhere in a text', () => {
  const watch = createSecretWatch();
  watch.noteIn({ users: [{ new_password: SECRET }] });
  watch.noteIn({ data: { refresh_token: 'a-token-of-some-length' } });
  assert.throws(
    () => watch.assertClean('here', `{"msg":"x ${SECRET}"}`),
    /here holds a secret \(new_password\)/,
  );
  assert.throws(() => watch.assertClean('here', 'a-token-of-some-length'), /refresh_token/);
  watch.assertClean('here', SECRET.slice(0, -1));
});

test('the message of a find does not repeat the secret', () => {
  const watch = createSecretWatch();
  watch.noteIn({ password: SECRET });
  assert.throws(
    () => watch.assertClean('here', `before ${SECRET}`),
    (error: Error) => error.message.includes('before') && !error.message.includes(SECRET),
  );
});

test('hashes, signed tokens and private keys are known by their shape', () => {
  const watch = createSecretWatch();
  const part = 'eyJhbGciOiJFZERTQSJ9';
  for (const text of [
    '$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA',
    `${part}.${part}.${'s'.repeat(86)}`,
    `{"crv":"Ed25519","d":"${'k'.repeat(43)}"}`,
    '-----BEGIN PRIVATE KEY-----',
  ])
    assert.throws(() => watch.assertClean('here', text), /holds a secret/);
});

test('what was also sent as something else, or is too short to be told from a word, is no find', () => {
  const watch = createSecretWatch();
  watch.noteIn({ password: 'Ada Lovelace of London', first_name: 'Ada Lovelace of London' });
  watch.noteIn({ password: 'weak' });
  watch.assertClean('here', 'weak Ada Lovelace of London');
});
