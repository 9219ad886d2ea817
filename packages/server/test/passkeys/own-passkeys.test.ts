// A person adds, renames and removes passkeys and security keys: with a fresh proof, and with what ends.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addIdentity, addProvider } from '@castellan/testing/openid/providers';
import {
  addPasskeyUser,
  age,
  newAuthenticator,
  PASSKEY_HOST,
  PASSKEY_URL,
  passkeySignIn,
  register,
  tryRegister,
} from '@castellan/testing/passkeys/own';
import { addAppUser, enrol, keepTokens } from '@castellan/testing/second-factors/app';
import { addUser, isAccepted, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { volley } from '@castellan/testing/volley';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });
const FACTORS = '/api/v1/auth/factors';
const PASSKEYS = `${FACTORS}/passkeys`;
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0';

test('the options ask for what the kind needs and exclude what the account has', async () => {
  const user = await addPasskeyUser(service);
  const answer = await user.client.post(`${PASSKEYS}/options`, { kind: 'passkey' });
  const { challenge, user: owner, excludeCredentials, ...rest } = answer.body.data.passkey;
  assert.equal(challenge.length, 72);
  assert.deepEqual(owner, {
    id: Buffer.from(user.id.replaceAll('-', ''), 'hex').toString('base64url'),
    name: user.email,
    displayName: 'Ada Lovelace',
  });
  assert.equal(excludeCredentials.length, 1);
  assert.deepEqual(rest, {
    rp: { id: PASSKEY_HOST, name: 'Castellan' },
    pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
    timeout: 300_000,
    authenticatorSelection: {
      residentKey: 'required',
      requireResidentKey: true,
      userVerification: 'required',
    },
    attestation: 'none',
    extensions: { credProps: true },
  });
  const key = (await user.client.post(`${PASSKEYS}/options`, { kind: 'security_key' })).body.data.passkey;
  assert.deepEqual(
    [key.authenticatorSelection, key.hints],
    [
      { residentKey: 'discouraged', requireResidentKey: false, userVerification: 'discouraged' },
      ['security-key'],
    ],
  );
});

test('the first passkey makes recovery codes, ends other sessions and starts this one anew with phr', async () => {
  const user = await addUser(service);
  const [mine, other] = [await signIn(service, user), await signIn(service, user)];
  const before = mine.accessToken ?? '';
  const answer = await tryRegister(mine, newAuthenticator({ isSynced: true }), { name: ' My phone ' });
  assert.equal(answer.status, 201, answer.text);
  const { passkey, factors, recovery_codes: codes, access_token: token } = answer.body.data;
  assert.equal(new Set(codes).size, 10);
  const { id, created_at: createdAt, ...shown } = passkey;
  assert.ok(Date.parse(createdAt) > 0);
  assert.deepEqual(shown, {
    kind: 'passkey',
    name: 'My phone',
    rp_id: PASSKEY_HOST,
    usable: true,
    last_used_at: null,
    backed_up: true,
    transports: ['hybrid', 'internal'],
  });
  assert.deepEqual(factors.passkeys, [passkey]);
  assert.deepEqual([factors.recovery_codes.left, factors.context.acr, factors.totp], [10, 'phr', null]);
  assert.deepEqual(factors.available, { totp: true, passkey: true, security_key: true });
  const { acr, amr } = readToken(token).claims;
  assert.deepEqual([acr, amr], ['phr', ['pwd', 'pop', 'user', 'mfa']]);
  assert.equal(mine.cookies.get('refresh_token'), answer.body.data.refresh_token);
  assert.equal(await isAccepted(service, token), true);
  assert.equal(await isAccepted(service, before), false);
  assert.equal(await isAccepted(service, other.accessToken ?? ''), false);
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
  const [added] = await eventsOf(service, 'passkey_added', user);
  assert.deepEqual(
    [added?.details.passkey_id, added?.details.name, added?.details.kind],
    [id, 'My phone', 'passkey'],
  );
  assert.equal((await eventsOf(service, 'recovery_codes_created', user)).length, 1);
});

test('a further factor ends nothing and makes no codes; an app beside a passkey replaces none', async () => {
  const user = await addPasskeyUser(service);
  const other = service.client();
  keepTokens(other, await passkeySignIn(other, user.authenticator));
  const { recovery_codes: codes, factors } = await register(user.client, newAuthenticator(), {
    kind: 'security_key',
  });
  assert.equal(codes, undefined);
  assert.deepEqual(
    factors.passkeys.map(({ kind }: { kind: string }) => kind),
    ['passkey', 'security_key'],
  );
  assert.deepEqual((await enrol(user.client)).recoveryCodes, []);
  assert.equal(await isAccepted(service, other.accessToken ?? ''), true);
  const [enrolled] = await eventsOf(service, 'totp_enrolled', user);
  assert.equal(enrolled?.details.replaced, false);
});

test('without a name, it is called after the browser and the system', async () => {
  const user = await addPasskeyUser(service);
  const named = async (userAgent: string | null, kind: 'passkey' | 'security_key') => {
    const { passkey } = (await user.client.post(`${PASSKEYS}/options`, { kind })).body.data;
    const body = { kind, passkey: newAuthenticator().register(passkey) };
    const answer = await user.client.post(PASSKEYS, body, { headers: { 'user-agent': userAgent } });
    assert.equal(answer.status, 201, answer.text);
    keepTokens(user.client, answer);
    return answer.body.data.passkey.name;
  };
  assert.equal(await named(FIREFOX, 'passkey'), 'Firefox on Windows');
  assert.equal(await named('curl/8.0', 'passkey'), 'Passkey');
  assert.equal(await named(null, 'security_key'), 'Security key');
});

test('names are cleaned as those of records are; renaming needs no fresh proof', async () => {
  const user = await addPasskeyUser(service);
  await age(service, user);
  const path = `${PASSKEYS}/${user.passkeyId}`;
  const renamed = await user.client.put(path, { name: '  Laptop  ' });
  assert.deepEqual([renamed.status, renamed.body.data.name], [200, 'Laptop']);
  for (const name of ['', ' ', '<b>x', 'x'.repeat(101), 'a\nb', 7]) {
    const answer = await user.client.put(path, { name });
    assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed'], String(name));
  }
  assert.equal((await user.client.put(path, { name: 'é'.repeat(100) })).status, 200);
  const [event] = await eventsOf(service, 'passkey_renamed', user);
  assert.deepEqual([event?.details.passkey_id, event?.details.after], [user.passkeyId, 'Laptop']);
});

test("somebody else's passkey is not found", async () => {
  const [user, other] = [await addPasskeyUser(service), await addPasskeyUser(service)];
  for (const id of [other.passkeyId, randomUUID()]) {
    const renamed = await user.client.put(`${PASSKEYS}/${id}`, { name: 'Mine' });
    const removed = await user.client.delete(`${PASSKEYS}/${id}`);
    assert.deepEqual([renamed.status, renamed.body.code], [404, 'factor_not_found']);
    assert.deepEqual([removed.status, removed.body.code], [404, 'factor_not_found']);
  }
});

test('adding and removing need a fresh proof of the factor', async () => {
  const user = await addPasskeyUser(service);
  const begun = await user.client.post(`${PASSKEYS}/options`, { kind: 'passkey' });
  await age(service, user);
  const passkey = newAuthenticator().register(begun.body.data.passkey);
  for (const answer of [
    await user.client.post(`${PASSKEYS}/options`, { kind: 'passkey' }),
    await user.client.post(PASSKEYS, { kind: 'passkey', passkey }),
    await user.client.delete(`${PASSKEYS}/${user.passkeyId}`),
  ])
    assert.deepEqual([answer.status, answer.body.code], [403, 'step_up_required']);
});

test('removing one of two ends other sessions and keeps the codes; removing the last one ends the codes', async () => {
  const user = await addPasskeyUser(service);
  const { passkey: second } = await register(user.client, newAuthenticator());
  const other = service.client();
  keepTokens(other, await passkeySignIn(other, user.authenticator));
  const removed = await user.client.delete(`${PASSKEYS}/${user.passkeyId}`);
  assert.equal(removed.status, 200, removed.text);
  keepTokens(user.client, removed);
  assert.deepEqual(
    [removed.body.data.factors.passkeys.length, removed.body.data.factors.recovery_codes.left],
    [1, 10],
  );
  assert.equal(await isAccepted(service, other.accessToken ?? ''), false);
  const gone = await passkeySignIn(service.client(), user.authenticator);
  assert.equal(gone.body.code, 'passkey_unknown');
  const last = await user.client.delete(`${PASSKEYS}/${second.id}`);
  assert.deepEqual(
    [last.status, last.body.data.factors.passkeys, last.body.data.factors.recovery_codes],
    [200, [], null],
  );
  assert.equal((await service.client().login(user)).status, 200);
  const events = await eventsOf(service, 'passkey_removed', user);
  assert.deepEqual(
    events.map(({ details }) => details.passkey_id),
    [user.passkeyId, second.id],
  );
});

test('the last factor, removed twice at once: one removal, and nothing else', async () => {
  const user = await addPasskeyUser(service);
  const shot = { client: user.client, method: 'DELETE', path: `${PASSKEYS}/${user.passkeyId}`, json: {} };
  const answers = await volley([shot, shot]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 401]);
  assert.equal((await eventsOf(service, 'passkey_removed', user)).length, 1);
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
});

const dropPassword = ({ id }: { id: string }) =>
  service.sql('update users set password_hash = null where id = $1', [id]);

test('the last way to sign in stays; a key that only follows a password goes', async () => {
  const user = await addPasskeyUser(service);
  const second = await register(user.client, newAuthenticator());
  await dropPassword(user);
  const removed = await user.client.delete(`${PASSKEYS}/${user.passkeyId}`);
  assert.equal(removed.status, 200, removed.text);
  keepTokens(user.client, removed);
  const path = `${PASSKEYS}/${second.passkey.id}`;
  assertRefused(await user.client.delete(path), 409, 'last_sign_in_method');
  // The refusal has changed nothing.
  assert.equal((await user.client.get('/api/v1/auth/factors')).body.data.passkeys.length, 1);
  await addIdentity(service, await addProvider(service, { is_active: false }), user.id);
  assertRefused(await user.client.delete(path), 409, 'last_sign_in_method');
  await addIdentity(service, await addProvider(service), user.id);
  assert.equal((await user.client.delete(path)).status, 200);

  const key = await addPasskeyUser(service, { kind: 'security_key' });
  await dropPassword(key);
  assert.equal((await key.client.delete(`${PASSKEYS}/${key.passkeyId}`)).status, 200);
});

test('a passkey that signs in nobody alone is no way to sign in', async () => {
  const off = await service.another({ PASSKEY_SIGN_IN: 'false' });
  const user = await addPasskeyUser(service);
  await dropPassword(user);
  assert.equal((await user.client.at(off.url).delete(`${PASSKEYS}/${user.passkeyId}`)).status, 200);
});

test('of the two last ways to sign in, removed at once, one stays', async () => {
  const provider = await addProvider(service);
  for (let round = 0; round < 8; round += 1) {
    const user = await addPasskeyUser(service);
    const identity = await addIdentity(service, provider, user.id);
    await dropPassword(user);
    const paths = [`${PASSKEYS}/${user.passkeyId}`, `/api/v1/users/me/identities/${identity.id}`];
    if (round % 2) paths.reverse();
    const answers = await Promise.all(paths.map((path) => user.client.delete(path)));
    // The removal of a passkey ends the session of the other request.
    const seen = answers.map(({ status, body }) => body.code ?? status).toSorted();
    assert.ok(['200 last_sign_in_method', '200 token_revoked'].includes(seen.join(' ')), seen.join(' '));
    const [left] = await service.sql<{ ways: number }>(
      `select ((select count(*) from passkeys where user_id = $1) + (select count(*) from identities where user_id = $1))::int
       as ways`,
      [user.id],
    );
    assert.equal(left?.ways, 1);
  }
  for (let round = 0; round < 4; round += 1) {
    const user = await addPasskeyUser(service);
    const second = await register(user.client, newAuthenticator());
    await dropPassword(user);
    const ids = [user.passkeyId, second.passkey.id];
    const answers = await Promise.all(ids.map((id) => user.client.delete(`${PASSKEYS}/${id}`)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401]);
  }
});

test('an account has at most 20', async () => {
  const user = await addPasskeyUser(service);
  const begun = (await user.client.post(`${PASSKEYS}/options`, { kind: 'passkey' })).body.data.passkey;
  await service.sql(
    `insert into passkeys (id, user_id, credential_id, public_key, kind, name, rp_id, sign_count, backup_eligible, backed_up)
     select gen_random_uuid(), $1::uuid, sha256((n || $1::text)::bytea), '', 'passkey', 'more', $2, 0, false, false
     from generate_series(1, 19) n`,
    [user.id, PASSKEY_HOST],
  );
  const more = await user.client.post(`${PASSKEYS}/options`, { kind: 'passkey' });
  assert.deepEqual([more.status, more.body.code], [409, 'too_many_factors']);
  const passkey = newAuthenticator().register(begun);
  const late = await user.client.post(PASSKEYS, { kind: 'passkey', passkey });
  assert.deepEqual([late.status, late.body.code], [409, 'too_many_factors']);
});

test('one credential, added by two accounts at once, belongs to one', async () => {
  const [one, other] = [await addAppUser(service), await addAppUser(service)];
  const credentialId = Buffer.alloc(32, 7);
  const shots = [];
  for (const { client } of [one, other]) {
    const { passkey } = (await client.post(`${PASSKEYS}/options`, { kind: 'passkey' })).body.data;
    const response = newAuthenticator().register(passkey, { credentialId });
    shots.push({ client, method: 'POST', path: PASSKEYS, json: { kind: 'passkey', passkey: response } });
  }
  const answers = await volley(shots);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409]);
  assert.equal(answers.find(({ status }) => status === 409)?.body.code, 'passkey_taken');
});

test('one registration, sent twice at once: one passkey', async () => {
  const user = await addAppUser(service);
  const { passkey } = (await user.client.post(`${PASSKEYS}/options`, { kind: 'passkey' })).body.data;
  const json = { kind: 'passkey', passkey: newAuthenticator().register(passkey) };
  const shot = { client: user.client, method: 'POST', path: PASSKEYS, json };
  const answers = await volley([shot, shot]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 422]);
  assert.equal((await service.sql('select from passkeys where user_id = $1', [user.id])).length, 1);
});

test('the first factor, added twice at once: one account with one passkey, one session and ten codes', async () => {
  const user = await addUser(service);
  const [one, other] = [await signIn(service, user), await signIn(service, user)];
  const shots = [];
  for (const client of [one, other]) {
    const { passkey } = (await client.post(`${PASSKEYS}/options`, { kind: 'passkey' })).body.data;
    const json = { kind: 'passkey', passkey: newAuthenticator().register(passkey) };
    shots.push({ client, method: 'POST', path: PASSKEYS, json });
  }
  const answers = await volley(shots);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 401]);
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
  assert.equal((await service.sql('select from recovery_codes where user_id = $1', [user.id])).length, 10);
});

test('no answer and no audit entry holds a credential id, a key or a counter', async () => {
  const user = await addPasskeyUser(service);
  const [row] = await service.sql<{ credential_id: Buffer }>(
    'select credential_id from passkeys where user_id = $1',
    [user.id],
  );
  const id = row?.credential_id.toString('base64url') ?? '';
  const { text } = await user.client.get(FACTORS);
  assert.ok(!text.includes(id) && !/public_key|sign_count|aaguid|credential/.test(text), text);
  const entries = await service.sql<{ details: string }>('select details::text as details from audit_logs');
  assert.ok(entries.every(({ details }) => !details.includes(id)));
});
