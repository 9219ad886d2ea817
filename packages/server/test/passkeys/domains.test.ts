// Passkeys are bound to a domain: what happens after the service moved, for further origins, and where there can be no passkeys.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { type Authenticator, createAuthenticator } from '@castellan/testing/passkeys/authenticator';
import { beginSecondStep, passkeySignIn, register, tryRegister } from '@castellan/testing/passkeys/own';
import { addAppUser, completeSignIn, keepTokens } from '@castellan/testing/second-factors/app';
import { type Account, addUser } from '@castellan/testing/sessions/accounts';

const OLD = 'old.example';
const NEW = 'https://new.example';
const old = await startTestService({ after }, { PUBLIC_URL: `https://${OLD}` });
const moved = await old.another({ PUBLIC_URL: NEW, PASSKEY_FORMER_RP_IDS: OLD });
const forgetful = await old.another({ PUBLIC_URL: NEW });
const onNew = { clientData: { origin: NEW } };

/** Returns an account whose passkey was made before the service moved. */
async function addOldUser(): Promise<Account & { authenticator: Authenticator }> {
  const account = await addUser(old);
  const authenticator = createAuthenticator({ rpId: OLD, origin: `https://${OLD}` });
  await register(await signIn(old, account), authenticator);
  return { ...account, authenticator };
}

test('a passkey of a former domain is asked for by its RP ID, and works from the new address', async () => {
  const user = await addOldUser();
  const client = moved.client();
  const { token, methods, passkey } = await beginSecondStep(client, user);
  assert.deepEqual([methods, passkey.rpId], [['passkey', 'recovery_code'], OLD]);
  const answer = await completeSignIn(client, token, { passkey: user.authenticator.assert(passkey, onNew) });
  assert.equal(answer.status, 200, answer.text);
  keepTokens(client, answer);
  const [shown] = (await client.get('/api/v1/auth/factors')).body.data.passkeys;
  assert.deepEqual([shown.rp_id, shown.usable], [OLD, true]);
  const alone = await passkeySignIn(moved.client(), user.authenticator, onNew);
  assert.equal(alone.status, 200, alone.text);
});

test('verification takes the RP ID of the passkey and the origins of now, and no others', async () => {
  const user = await addOldUser();
  for (const tweaks of [{ ...onNew, rpId: 'new.example' }, {}]) {
    const answer = await passkeySignIn(moved.client(), user.authenticator, tweaks);
    assert.deepEqual([answer.status, answer.body.code], [422, 'passkey_refused']);
  }
});

test('with a passkey of the present domain, only that domain is asked for', async () => {
  const user = await addOldUser();
  const client = moved.client();
  keepTokens(client, await passkeySignIn(client, user.authenticator, onNew));
  const fresh = createAuthenticator({ rpId: 'new.example', origin: NEW });
  const { passkey: added } = await register(client, fresh);
  assert.equal(added.rp_id, 'new.example');
  const { passkey } = await beginSecondStep(moved.client(), user);
  assert.deepEqual([passkey.rpId, passkey.allowCredentials.length], ['new.example', 1]);
});

test('a passkey of a domain that nobody lists is no way to sign in, and comes back with the setting', async () => {
  const user = await addOldUser();
  const { methods, passkey, token } = await beginSecondStep(forgetful.client(), user);
  assert.deepEqual([methods, passkey], [['recovery_code'], undefined]);
  assert.equal(token.length, 43);
  const refused = await passkeySignIn(forgetful.client(), user.authenticator, onNew);
  assert.deepEqual([refused.status, refused.body.code], [422, 'passkey_refused']);
  assert.equal((await passkeySignIn(moved.client(), user.authenticator, onNew)).status, 200);
});

test('the start tells how many passkeys belong to other domains', async () => {
  await addOldUser();
  const warningsOf = ({ logLines }: TestService) =>
    logLines.map((line) => JSON.parse(line)).filter(({ rp_id: rpId }) => rpId !== undefined);
  const again = await old.another({ PUBLIC_URL: NEW });
  const [warning] = warningsOf(again);
  assert.deepEqual([warning.rp_id, warning.usable, warning.passkeys > 0], [OLD, false, true]);
  assert.match(warning.msg, /PASSKEY_FORMER_RP_IDS/);
  const listed = await old.another({ PUBLIC_URL: NEW, PASSKEY_FORMER_RP_IDS: OLD });
  assert.equal(warningsOf(listed)[0].usable, true);
  const unmoved = await old.another();
  assert.deepEqual(
    warningsOf(unmoved).filter(({ rp_id: rpId }) => rpId === OLD),
    [],
  );
});

test('further origins may use the passkeys, and the document names them', async () => {
  const app = 'https://app.old.example';
  const service = await old.another({ PASSKEY_ORIGINS: app });
  const user = await addOldUser();
  const answer = await passkeySignIn(service.client(), user.authenticator, { clientData: { origin: app } });
  assert.equal(answer.status, 200, answer.text);
  const elsewhere = await passkeySignIn(old.client(), user.authenticator, { clientData: { origin: app } });
  assert.equal(elsewhere.body.code, 'passkey_refused');
  const document = await service.client().get('/.well-known/webauthn');
  assert.deepEqual([document.status, document.body], [200, { origins: [`https://${OLD}`, app] }]);
  assert.match(document.headers.get('content-type') ?? '', /^application\/json/);
  const none = await old.client().get('/.well-known/webauthn');
  assert.deepEqual([none.status, none.body.code], [404, 'route_not_found']);
});

test('after a move, the document for the former domain names the new address', async () => {
  const document = await moved.client().get('/.well-known/webauthn');
  assert.deepEqual([document.status, document.body], [200, { origins: [NEW] }]);
  const forgotten = await forgetful.client().get('/.well-known/webauthn');
  assert.equal(forgotten.status, 404);
});

test('a domain above the host is shared, and published', async () => {
  const service = await startTestService(
    { after },
    { PUBLIC_URL: 'https://accounts.example.com', PASSKEY_RP_ID: 'example.com' },
  );
  const user = await addUser(service);
  const authenticator = createAuthenticator({ rpId: 'example.com', origin: 'https://accounts.example.com' });
  const { passkey } = await register(await signIn(service, user), authenticator);
  assert.equal(passkey.rp_id, 'example.com');
  assert.equal((await passkeySignIn(service.client(), authenticator)).status, 200);
  const { body } = await service.client().get('/.well-known/webauthn');
  assert.deepEqual(body, { origins: ['https://accounts.example.com'] });
});

/** Calls everything that needs passkeys, with bodies that are wrong: what cannot be done comes first where nobody is signed in. */
async function assertUnavailable(service: TestService, paths: readonly string[]): Promise<void> {
  const client = await signIn(service, await addUser(service));
  for (const path of paths) {
    const answer = await client.post(
      `/api/v1/auth${path}`,
      path.startsWith('/login') ? { passkey: 1 } : { kind: 'passkey' },
    );
    assert.deepEqual([answer.status, answer.body.code], [409, 'passkeys_unavailable'], path);
  }
}

test('an address that cannot have passkeys has none', async () => {
  const service = await startTestService({ after }, { PUBLIC_URL: 'https://192.0.2.7' });
  await assertUnavailable(service, ['/login/passkey/options', '/login/passkey', '/factors/passkeys/options']);
  const { body } = await service.client().get('/api/v1/auth/sign-in-methods');
  assert.deepEqual(body.data.passkey, { available: false, rp_id: null, reason: 'address' });
  assert.ok(service.logLines.some((line) => line.includes('Browsers offer no passkeys')));
  const user = await addAppUser(service);
  const { available } = (await user.client.get('/api/v1/auth/factors')).body.data;
  assert.deepEqual(available, { totp: true, passkey: false, security_key: false });
});

test('PASSKEY_SIGN_IN=false: the second step goes on', async () => {
  const service = await old.another({ PASSKEY_SIGN_IN: 'false' });
  await assertUnavailable(service, ['/login/passkey/options', '/login/passkey']);
  const { body } = await service.client().get('/api/v1/auth/sign-in-methods');
  assert.deepEqual(body.data.passkey, { available: false, rp_id: OLD, reason: 'off' });
  const user = await addOldUser();
  const client = service.client();
  const { token, passkey } = await beginSecondStep(client, user);
  const answer = await completeSignIn(client, token, { passkey: user.authenticator.assert(passkey) });
  assert.equal(answer.status, 200, answer.text);
});

test('SECOND_FACTORS=totp: no new passkeys, and those that are there are asked for', async () => {
  const service = await old.another({ SECOND_FACTORS: 'totp' });
  await assertUnavailable(service, ['/factors/passkeys/options']);
  const user = await addOldUser();
  assert.equal((await passkeySignIn(service.client(), user.authenticator)).status, 200);
  const client = service.client();
  const { token, passkey } = await beginSecondStep(client, user);
  const answer = await completeSignIn(client, token, { passkey: user.authenticator.assert(passkey) });
  assert.equal(answer.status, 200, answer.text);
  const begun = await signIn(old, await addUser(old));
  assert.equal(
    (await tryRegister(begun, createAuthenticator({ rpId: OLD, origin: `https://${OLD}` }))).status,
    201,
  );
});
