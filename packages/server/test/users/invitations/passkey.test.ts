// Accepting an invitation with a passkey in the place of a password: what the person gets, and what nobody can do with the link.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { atOnce, linkTo, mailsTo, paths, tally } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import {
  ADMIN,
  eventually,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import type { Authenticator, RegistrationTweaks } from '@castellan/testing/passkeys/authenticator';
import { newAuthenticator, PASSKEY_URL, passkeySignIn } from '@castellan/testing/passkeys/own';
import { eventsOf } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });
const admin = await signIn(service, ADMIN);
const OPTIONS = `${paths.acceptInvitation}/passkey/options`;

type Invited = { id: string; email: string; token: string };

async function invited(body: object = {}, at: TestService = service, by = admin): Promise<Invited> {
  const email = newEmail('invited');
  const names = { first_name: 'Ada', last_name: 'Lovelace' };
  const answer = await by.post('/api/v1/users/invitations', { email, ...names, ...body });
  assert.equal(answer.status, 201, answer.text);
  return { id: answer.body.data.id, email, token: await linkTo(at, email, 'invitation') };
}

const begin = (token: string, names: object = {}, client = service.client()): Promise<Answer> =>
  client.post(OPTIONS, { token, ...names });

/** Returns what the browser would send to accept. */
async function passkeyFor(
  token: string,
  authenticator: Authenticator = newAuthenticator(),
  tweaks: RegistrationTweaks = {},
) {
  const { status, text, body } = await begin(token);
  assert.equal(status, 200, text);
  return authenticator.register(body.data.passkey, tweaks);
}

const accept = (token: string, proof: object, client: TestClient = service.client()): Promise<Answer> =>
  client.post(paths.acceptInvitation, { token, ...proof });

const stateOf = async ({ id }: Invited) =>
  (
    await service.sql(
      `select verified, invited_at is null as accepted, password_hash is not null as has_password,
         (select count(*)::int from passkeys where user_id = u.id) as passkeys,
         (select count(*)::int from recovery_codes where user_id = u.id) as codes,
         (select count(*)::int from sessions where user_id = u.id) as sessions
       from users u where id = $1`,
      [id],
    )
  )[0];
const untouched = {
  verified: false,
  accepted: false,
  has_password: false,
  passkeys: 0,
  codes: 0,
  sessions: 0,
};

test('a passkey accepts without a password, comes with recovery codes, and signs in', async () => {
  const person = await invited({ last_name: undefined });
  const state = await service.client().post(paths.check, { purpose: 'invitation', token: person.token });
  assert.equal(state.body.data.passkey, true);
  const begun = await begin(person.token, { first_name: 'Grace', last_name: 'Hopper' });
  const { user, authenticatorSelection } = begun.body.data.passkey;
  assert.deepEqual([user.name, user.displayName], [person.email, 'Grace Hopper']);
  assert.equal(authenticatorSelection.userVerification, 'required');
  const authenticator = newAuthenticator();
  const answer = await accept(person.token, {
    passkey: authenticator.register(begun.body.data.passkey),
    first_name: 'Grace',
    last_name: 'Hopper',
  });
  assert.equal(answer.status, 200, answer.text);
  const { data } = answer.body;
  assert.deepEqual(
    [data.id, data.first_name, data.verified, data.invited_at, data.recovery_codes.length],
    [person.id, 'Grace', true, null, 10],
  );
  assert.deepEqual(answer.headers.getSetCookie(), []);
  assert.deepEqual(await stateOf(person), {
    verified: true,
    accepted: true,
    has_password: false,
    passkeys: 1,
    codes: 10,
    sessions: 0,
  });
  const events = await eventsOf(service, answer);
  assert.deepEqual(events.map(({ action }) => action).sort(), [
    'invitation_accepted',
    'passkey_added',
    'recovery_codes_created',
  ]);
  for (const code of data.recovery_codes) assert.equal(JSON.stringify(events).includes(code), false);
  await eventually(() => mailsTo(service, person.email, 'second_factor_added')[0], 'the mail of the passkey');
  const signedIn = await passkeySignIn(service.client(), authenticator);
  assert.equal(signedIn.status, 200, signedIn.text);
  assert.equal(signedIn.body.data.user.id, person.id);
  // No password signs in.
  const refused = await service.client().login({ email: person.email, password: PASSWORD });
  assertRefused(refused, 422, 'invalid_credentials');
});

test('exactly one of password and passkey is sent, and of the form that browsers send', async () => {
  const person = await invited();
  const passkey = await passkeyFor(person.token);
  for (const proof of [
    {},
    { password: PASSWORD, passkey },
    { passkey: { ...passkey, id: 'other' } },
    { passkey: 7 },
  ])
    assertRefused(await accept(person.token, proof), 422, 'validation_failed');
  assert.deepEqual(await stateOf(person), untouched);
  assert.equal((await accept(person.token, { passkey })).status, 200);
});

test('a name that is missing or refused is told before a passkey is made', async () => {
  const { token } = await invited({ first_name: undefined });
  assertRefused(await begin(token), 422, 'validation_failed');
  assertRefused(await begin(token, { first_name: '<b>' }), 400, 'invalid_input');
  assert.equal((await begin(token, { first_name: 'Ada' })).status, 200);
});

test('what a browser would not have made here is refused, and the link stays usable', async () => {
  const person = await invited();
  const other = await invited();
  const cases: [name: string, tweaks: RegistrationTweaks][] = [
    ['another origin', { clientData: { origin: 'https://evil.example' } }],
    ['another domain', { rpId: 'evil.example' }],
    ['without user verification', { verified: false }],
    ['in a frame', { clientData: { crossOrigin: true } }],
  ];
  for (const [name, tweaks] of cases) {
    const passkey = await passkeyFor(person.token, newAuthenticator(), tweaks);
    const answer = await accept(person.token, { passkey });
    assert.deepEqual([answer.status, answer.body.code], [422, 'passkey_refused'], name);
  }
  // The challenge counts for one link.
  const foreign = await passkeyFor(other.token);
  assertRefused(await accept(person.token, { passkey: foreign }), 422, 'passkey_refused');
  const own = await signIn(service, ADMIN);
  const inSession = (await own.post('/api/v1/auth/factors/passkeys/options', { kind: 'passkey' })).body.data
    .passkey;
  const ofSession = newAuthenticator().register(inSession);
  assertRefused(await accept(person.token, { passkey: ofSession }), 422, 'passkey_refused');
  assert.deepEqual(await stateOf(person), untouched);
  assert.equal((await accept(person.token, { passkey: await passkeyFor(person.token) })).status, 200);
});

test('a link that is used, replaced or unknown makes no passkey, and says what it says for a password', async () => {
  const person = await invited();
  const passkey = await passkeyFor(person.token);
  assert.equal((await accept(person.token, { passkey })).status, 200);
  const replaced = await invited();
  const early = await passkeyFor(replaced.token);
  assert.equal((await admin.post(`/api/v1/users/${replaced.id}/invitation`)).status, 200);
  await linkTo(service, replaced.email, 'invitation', 1);
  for (const [token, made] of [
    [person.token, passkey],
    [replaced.token, early],
    ['x'.repeat(43), passkey],
  ] as const) {
    const answers = [
      await begin(token),
      await accept(token, { passkey: made }),
      await accept(token, { password: PASSWORD }),
    ];
    for (const answer of answers) assertRefused(answer, 400, 'invitation_token_invalid');
  }
  assert.deepEqual(await stateOf(replaced), untouched);
});

test('a credential that an account has already is refused, and nothing else changes', async () => {
  const credentialId = Buffer.alloc(32, 7);
  const [first, second] = [await invited(), await invited()];
  const made = await passkeyFor(first.token, newAuthenticator(), { credentialId });
  assert.equal((await accept(first.token, { passkey: made })).status, 200);
  const same = await passkeyFor(second.token, newAuthenticator(), { credentialId });
  assertRefused(await accept(second.token, { passkey: same }), 409, 'passkey_taken');
  assert.deepEqual(await stateOf(second), untouched);
});

test('of 30 who accept at once, with passkeys and passwords, one wins', async () => {
  const person = await invited();
  const made = await Promise.all(Array.from({ length: 15 }, () => passkeyFor(person.token)));
  const answers = await atOnce(service, 30, (client, index) =>
    accept(person.token, index % 2 === 0 ? { passkey: made[index / 2] } : { password: PASSWORD }, client),
  );
  assert.deepEqual(tally(answers), { 200: 1, 400: 29 });
  const winner = answers.findIndex(({ status }) => status === 200);
  const isPasskey = winner % 2 === 0;
  const { has_password, passkeys, codes } = (await stateOf(person)) ?? {};
  assert.deepEqual([has_password, passkeys, codes], isPasskey ? [false, 1, 10] : [true, 0, 0]);
});

test('an invitation that is accepted with a passkey while it is withdrawn is either', async () => {
  for (let round = 0; round < 4; round += 1) {
    const person = await invited();
    const passkey = await passkeyFor(person.token);
    const [accepted, withdrawn] = await Promise.all([
      accept(person.token, { passkey }),
      admin.delete(`/api/v1/users/${person.id}/invitation`),
    ]);
    assert.equal(Number(accepted.status === 200) + Number(withdrawn.status === 200), 1, accepted.text);
    if (accepted.status === 200) assertRefused(withdrawn, 409, 'not_invited');
    else {
      assertRefused(accepted, 400, 'invitation_token_invalid');
      assert.equal(await stateOf(person), undefined);
    }
  }
});

test('where no passkey signs in alone, a password is the only way', async (t) => {
  for (const settings of [
    { PUBLIC_URL: PASSKEY_URL, PASSKEY_SIGN_IN: 'false' },
    { PUBLIC_URL: PASSKEY_URL, SECOND_FACTORS: 'totp' },
    { PUBLIC_URL: 'http://castellan.test' },
  ]) {
    const without = await startTestService(t, settings);
    const { token } = await invited({}, without, await signIn(without, ADMIN));
    const client = without.client();
    const state = await client.post(paths.check, { purpose: 'invitation', token });
    assert.equal(state.body.data.passkey, false);
    assertRefused(await begin(token, {}, client), 409, 'passkeys_unavailable');
    const { body } = await begin((await invited()).token);
    const passkey = newAuthenticator().register(body.data.passkey);
    assertRefused(await accept(token, { passkey }, client), 409, 'passkeys_unavailable');
    assert.equal((await accept(token, { password: PASSWORD }, client)).status, 200);
  }
});
