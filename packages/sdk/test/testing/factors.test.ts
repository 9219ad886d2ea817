// The second step and step-up of the stand-in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CastellanError } from '../../src/index.ts';
import { createTestCastellan } from '../../src/testing.ts';

function open() {
  const castellan = createTestCastellan();
  const ada = castellan.addUser({ email: 'ada@example.com', factors: ['totp'] });
  const client = castellan.browser();
  /** Gives the right password, and returns the token of the second step. */
  const begin = async (): Promise<string> => {
    const { email, password } = ada;
    const refused: unknown = await client.auth.signIn({ email, password }).catch((error) => error);
    assert.ok(refused instanceof CastellanError && refused.secondFactor);
    assert.equal(refused.code, 'second_factor_required');
    assert.deepEqual(refused.secondFactor.methods, ['totp', 'recovery_code']);
    return refused.secondFactor.token;
  };
  return { castellan, ada, client, begin };
}

const wrongFor = (code: string) => (code === '000000' ? '111111' : '000000');

test('a sign-in ends with a code of the app, which works once', async () => {
  const { ada, client, begin } = open();
  const code = ada.code();
  assert.match(code, /^\d{6}$/);
  const user = await client.auth.completeSignIn({ token: await begin(), totp: code });
  assert.equal(user.email, ada.email);
  const again = client.auth.completeSignIn({ token: await begin(), totp: code });
  await assert.rejects(again, { code: 'code_already_used' });
  assert.notEqual(ada.code(), code);
});

test('a recovery code works once, in any spelling', async () => {
  const { ada, client, begin } = open();
  const [code = ''] = ada.recoveryCodes;
  assert.equal(ada.recoveryCodes.length, 10);
  const spelled = code.toLowerCase().replaceAll('-', ' ');
  await client.auth.completeSignIn({ token: await begin(), recovery_code: spelled });
  const again = client.auth.completeSignIn({ token: await begin(), recovery_code: code });
  await assert.rejects(again, { code: 'second_factor_invalid' });
});

test('five wrong codes end a sign-in, and the right one comes too late', async () => {
  const { ada, client, begin } = open();
  const token = await begin();
  const totp = wrongFor(ada.code());
  for (const attempts_left of [4, 3, 2, 1, 0])
    await assert.rejects(
      client.auth.completeSignIn({ token, totp }),
      ({ code, body }: CastellanError) =>
        code === 'second_factor_invalid' && body?.attempts_left === attempts_left,
    );
  await assert.rejects(client.auth.completeSignIn({ token, totp: ada.code() }), { code: 'sign_in_expired' });
});

test('the token of a sign-in is worth nothing in another browser, replaced, or after the sessions ended', async () => {
  const { castellan, ada, client, begin } = open();
  const expired = { code: 'sign_in_expired' };
  const first = await begin();
  const totp = ada.code();
  await assert.rejects(castellan.browser().auth.completeSignIn({ token: first, totp }), expired);
  const second = await begin();
  await assert.rejects(client.auth.completeSignIn({ token: first, totp }), expired);
  ada.endSessions();
  await assert.rejects(client.auth.completeSignIn({ token: second, totp }), expired);
});

test('none, two and malformed proofs are refused and count as no attempt', async () => {
  const { ada, client, begin } = open();
  const token = await begin();
  const wrong = [{}, { totp: '123456', recovery_code: 'x' }, { totp: '12345' }];
  for (const proof of [...wrong, ...wrong])
    await assert.rejects(client.auth.completeSignIn({ token, ...proof }), { code: 'validation_failed' });
  await client.auth.completeSignIn({ token, totp: ada.code() });
});

test('a step-up needs the factor of those who have one, and the password of others', async () => {
  const { castellan, ada, client, begin } = open();
  await client.auth.completeSignIn({ token: await begin(), totp: ada.code() });
  await assert.rejects(client.auth.stepUp({ password: ada.password }), { code: 'validation_failed' });
  assert.deepEqual((await client.auth.stepUpWays('aal2')).methods, ['totp', 'recovery_code']);
  assert.equal((await client.auth.stepUp({ totp: ada.code() })).acr, 'aal2');
  await assert.rejects(client.auth.stepUpWays('phr'), { code: 'second_factor_enrolment_required' });

  const bob = castellan.addUser({ email: 'bob@example.com' });
  const other = castellan.browser();
  await other.auth.signIn({ email: bob.email, password: bob.password });
  assert.deepEqual((await other.auth.stepUpWays()).methods, ['password']);
  await assert.rejects(other.auth.stepUp({ password: 'wrong' }), { code: 'wrong_current_password' });
  assert.equal((await other.auth.stepUp({ password: bob.password })).acr, 'aal1');
  assert.throws(() => bob.code(), /factors: \['totp'\]/);
});
