// That a refused login does the same hashing whatever is wrong with it, so that its time tells nothing.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newEmail, PASSWORD, startTestService } from '../harness.ts';
import { addUser, readyClient } from './accounts.ts';
import { failLogins, logIn, WRONG } from './attempts.ts';

const service = await startTestService({ after });

async function workOf(email: string, password: string): Promise<{ code: string; hashing: object }> {
  const client = await readyClient(service);
  const before = service.service.deps.hasher.stats();
  const answer = await logIn(client, email, password);
  const now = service.service.deps.hasher.stats();
  return {
    code: answer.body.code ?? 'ok',
    hashing: {
      verifications: now.verifications - before.verifications,
      hashes: now.hashes - before.hashes,
    },
  };
}

async function locked(email: string): Promise<string> {
  await failLogins(await readyClient(service), email, 5);
  return email;
}

const active = () => addUser(service).then((user) => user.email);
for (const [what, code, email, password] of [
  ['a right password', 'ok', active, PASSWORD],
  ['a wrong password', 'invalid_credentials', active, WRONG],
  ['an unknown e-mail', 'invalid_credentials', async () => newEmail(), PASSWORD],
  ['a text that is no e-mail', 'invalid_credentials', async () => 'no e-mail at all', PASSWORD],
  ['an inactive account', 'invalid_credentials', () => stateOf({ active: false }), PASSWORD],
  ['an unverified account', 'email_not_verified', () => stateOf({ verified: false }), PASSWORD],
  ['a locked account', 'account_locked', async () => locked(await active()), PASSWORD],
  ['a locked e-mail without an account', 'account_locked', () => locked(newEmail()), PASSWORD],
] as const)
  test(`a login with ${what} costs exactly one verification`, async () => {
    assert.deepEqual(await workOf(await email(), password), {
      code,
      hashing: { verifications: 1, hashes: 0 },
    });
  });

async function stateOf(state: { verified?: boolean; active?: boolean }): Promise<string> {
  return (await addUser(service, state)).email;
}

test('a login with an account that has no password hash costs exactly one verification', async () => {
  const user = await addUser(service);
  await service.sql('update users set password_hash = null where id = $1', [user.id]);
  const { hashing } = await workOf(user.email, user.password);
  assert.deepEqual(hashing, { verifications: 1, hashes: 0 });
});

test('a right password under older parameters is hashed anew, and still opens', async () => {
  const user = await addUser(service);
  const { hash } = await import('@node-rs/argon2');
  const weak = await hash(user.password, { memoryCost: 8_192, timeCost: 1, parallelism: 1 });
  await service.sql('update users set password_hash = $2 where id = $1', [user.id, weak]);
  assert.deepEqual(await workOf(user.email, user.password), {
    code: 'ok',
    hashing: { verifications: 1, hashes: 1 },
  });
  assert.deepEqual(await workOf(user.email, user.password), {
    code: 'ok',
    hashing: { verifications: 1, hashes: 0 },
  });
});
