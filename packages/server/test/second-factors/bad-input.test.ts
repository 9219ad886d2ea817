// What bad input to second factors gets that is not the business of another file: proofs of other accounts, malformed bodies
// in a session, and what no refusal may write into the log.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import { postText } from '@castellan/testing/http/fixture';
import {
  addPasskeyUser,
  beginSecondStep,
  newAuthenticator,
  PASSKEY_URL,
  passkeySignIn,
  signInOptions,
  tryRegister,
} from '@castellan/testing/passkeys/own';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
} from '@castellan/testing/second-factors/app';
import { addUser } from '@castellan/testing/sessions/accounts';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });
const AUTH = '/api/v1/auth';

async function pendingOf({ id }: { id: string }): Promise<unknown> {
  const [row] = await service.sql('select tries, failures from pending_sign_ins where user_id = $1', [id]);
  return row;
}

test('proofs of one account complete no sign-in of another, and stay usable', async () => {
  const [mine, theirs] = [await addAppUser(service), await addAppUser(service)];
  const client = service.client();
  const token = await beginSignIn(client, mine);
  for (const proof of [{ totp: codeOf(theirs.secret) }, { recovery_code: theirs.recoveryCodes[0] }]) {
    const answer = await completeSignIn(client, token, proof);
    assert.deepEqual([answer.status, answer.body.code], [422, 'second_factor_invalid'], answer.text);
  }
  assert.deepEqual(await pendingOf(mine), { tries: 2, failures: 2 });
  for (const proof of [{ totp: codeOf(theirs.secret) }, { recovery_code: theirs.recoveryCodes[0] }]) {
    const browser = service.client();
    const answer = await completeSignIn(browser, await beginSignIn(browser, theirs), proof);
    assert.equal(answer.status, 200, answer.text);
  }
});

test('a proof that the account cannot give is a try, and no wrong code', async () => {
  const app = await addAppUser(service);
  const key = await addPasskeyUser(service);
  for (const [user, proof] of [
    [app, { recovery_token: 'x'.repeat(43) }],
    [key, { totp: '123456' }],
  ] as const) {
    const client = service.client();
    const { token } = await beginSecondStep(client, user);
    const answer = await completeSignIn(client, token, proof);
    assert.deepEqual([answer.status, answer.body.code], [422, 'second_factor_invalid']);
    assert.equal(answer.body.attempts_left, undefined);
    assert.deepEqual(await pendingOf(user), { tries: 1, failures: 0 });
    assert.deepEqual(await service.sql('select from factor_attempts where user_id = $1', [user.id]), []);
  }
});

test('a body of the second step with a wrong type is refused, and no try is counted', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const token = await beginSignIn(client, user);
  const totp = codeOf(user.secret);
  for (const body of [
    { totp },
    { token: null, totp },
    { token: 7, totp },
    { token: '', totp },
    { token, totp: null },
    { token, totp: [totp] },
    { token, recovery_code: 1 },
    { token, recovery_code: 'x'.repeat(1_000) },
    { token, recovery_token: {} },
    { token, passkey: null },
    { token, totp, trust_device: 'yes' },
  ]) {
    const answer = await client.post(`${AUTH}/login/second-factor`, body);
    assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed'], JSON.stringify(body));
  }
  for (const text of ['', '[]', '"x"', '{', `{"token":"${token}\\u0000","totp":"${totp}"}`]) {
    const { status } = await postText(client, `${AUTH}/login/second-factor`, text);
    assert.ok(status === 400 || status === 422, `${status} for ${text}`);
  }
  assert.deepEqual(await pendingOf(user), { tries: 0, failures: 0 });
  assert.equal((await completeSignIn(client, token, { totp })).status, 200);
});

const malformed: readonly unknown[] = [
  '',
  '12345',
  '1234567',
  '１２３４５６',
  '12a456',
  123_456,
  null,
  '1'.repeat(17),
];

/** Where a code is sent in a session. */
const inSession: Record<string, (user: AppUser, totp: unknown) => ReturnType<AppUser['client']['post']>> = {
  '/step-up': ({ client }, totp) => client.post(`${AUTH}/step-up`, { totp }),
  '/factors/totp/confirm': ({ client }, totp) => client.post(`${AUTH}/factors/totp/confirm`, { totp }),
};

for (const [path, send] of Object.entries(inSession))
  test(`${path}: what is no code of an app is refused before anything is counted`, async () => {
    const user = await addAppUser(service);
    const begun = await user.client.post(`${AUTH}/factors/totp`);
    for (const totp of malformed) {
      const answer = await send(user, totp);
      assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed'], String(totp));
      assert.ok(answer.body.errors.length > 0);
    }
    assert.equal((await send(user, '1'.repeat(1_000_000))).status, 413);
    assert.deepEqual(await service.sql('select from factor_attempts where user_id = $1', [user.id]), []);
    const [row] = await service.sql('select failures from totp_enrolments where user_id = $1', [user.id]);
    assert.deepEqual(row, { failures: 0 });
    const right = path === '/step-up' ? user.secret : begun.body.data.secret;
    assert.equal((await send(user, codeOf(right))).status, 200);
  });

test('ids that are none are told as such, on the lists of factors and devices', async () => {
  const { client } = await addAppUser(service);
  for (const path of ['/factors/passkeys/x', '/devices/x']) {
    const answer = await client.delete(`${AUTH}${path}`);
    assert.equal(answer.status, 400, `${path}: ${answer.text}`);
  }
  assert.equal((await client.put(`${AUTH}/factors/passkeys/x`, { name: 'Key' })).status, 400);
});

test('a new passkey with a kind or a name that cannot be is refused, and uses its challenge not up', async () => {
  const client = await signIn(service, await addUser(service));
  const authenticator = newAuthenticator();
  const begun = await client.post(`${AUTH}/factors/passkeys/options`, { kind: 'passkey' });
  const passkey = authenticator.register(begun.body.data.passkey);
  for (const fields of [
    { kind: 'phone' },
    { kind: 'passkey', name: '<b>Key' },
    { kind: 'passkey', name: '' },
    { kind: 'passkey', name: 'x'.repeat(101) },
    { kind: 'passkey', name: 7 },
  ]) {
    const answer = await client.post(`${AUTH}/factors/passkeys`, { ...fields, passkey });
    assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed'], JSON.stringify(fields));
  }
  const added = await client.post(`${AUTH}/factors/passkeys`, { kind: 'passkey', name: 'Key', passkey });
  assert.equal(added.status, 201, added.text);
});

test('why a passkey is refused is in the debug log alone: the reason may quote the challenge', async () => {
  for (const [LOG_LEVEL, isLogged] of [
    ['info', false],
    ['debug', true],
  ] as const) {
    const where = await service.another({ LOG_LEVEL });
    const user = await addPasskeyUser(where);
    const client = where.client();
    const { challenge } = await signInOptions(client);
    const refused = await passkeySignIn(client, user.authenticator, {
      clientData: { origin: 'https://look-alike.test' },
    });
    assert.equal(refused.body.code, 'passkey_refused');
    const registered = await tryRegister(user.client, newAuthenticator(), {
      tweaks: { clientData: { origin: 'https://look-alike.test' } },
    });
    assert.equal(registered.body.code, 'passkey_refused');
    const reasons = where.logLines.filter((line) => line.includes('look-alike.test'));
    assert.equal(reasons.length, isLogged ? 2 : 0);
    assert.ok(reasons.every((line) => JSON.parse(line).level === 'debug'));
    const entries = await where.sql<{ details: string }>('select details::text from audit_logs');
    for (const { details } of entries)
      assert.ok(!details.includes(challenge) && !details.includes('look-alike.test'));
  }
});
