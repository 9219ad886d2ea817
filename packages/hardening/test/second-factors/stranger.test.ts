// Somebody has the password of an account with a second factor, or its mailbox, and nothing else of it.
// Time passes by moving what the database stores, never by waiting.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import {
  confirmReset,
  linkTo,
  mailsTo,
  resetLink,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { startTestService, type TestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { newAuthenticator, PASSKEY_URL, passkeySignIn, register } from '@castellan/testing/passkeys/own';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  forgetStep,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { passwordAlone, signInByApp } from '@castellan/testing/second-factors/devices';
import {
  type Account,
  isAccepted,
  isRefreshable,
  liveSessionIds,
} from '@castellan/testing/sessions/accounts';
import { openPair } from '../fixture.ts';
import { AUTH, assertLetsNobodyIn, owners, stateOf } from './fixture.ts';

const scenario = scenariosOf('factors');
const { service, twin } = await openPair(
  { after },
  { PUBLIC_URL: PASSKEY_URL, CONCURRENT_SESSION_LIMIT: '0' },
);

const logIn = (client: TestClient, { email, password }: Account) =>
  client.post(`${AUTH}/login`, { email, password }, { headers: { authorization: null } });

/** Settings that must not open a way around a factor that an account has. */
const environments: readonly Record<string, string>[] = [
  {},
  { SECOND_FACTORS: '', PASSKEY_SIGN_IN: 'false' },
  { SECOND_FACTORS: 'totp', SECOND_FACTOR_REQUIRED_FOR: 'superusers' },
  { SECOND_FACTOR_REQUIRED_FOR: 'everyone', SECOND_FACTOR_ENFORCED_FROM: '2100-01-01T00:00:00Z' },
  { KNOWN_DEVICE_DAYS: '1', TRUSTED_DEVICE_DAYS: '0', SIGN_IN_ALERTS: 'off' },
  { LOCK_EXEMPTS_KNOWN_DEVICES: 'true', SIGN_IN_ALERTS: 'everyone', STEP_UP_MAX_AGE: '60' },
  { PUBLIC_URL: 'http://127.0.0.1:8000' },
];

scenario(
  'a password starts no session of an account with a factor, whatever the settings say',
  async (tally) => {
    for (const environment of environments) {
      const where = await service.another(environment);
      for (const [kind, addOwner] of Object.entries(owners)) {
        const owner = await addOwner(service);
        const before = await stateOf(service, owner);
        const what = `${kind}, ${JSON.stringify(environment)}`;
        for (const trust_device of [true, undefined]) {
          const client = where.client();
          const { email, password } = owner;
          const answer = await client.post(`${AUTH}/login`, { email, password, trust_device });
          assert.deepEqual([answer.status, answer.body.code], [422, 'second_factor_required'], what);
          assertLetsNobodyIn(answer, what);
          const { token } = answer.body.second_factor;
          tally.tried(1 + (await presentEverywhere(client, token, what)));
        }
        assert.deepEqual(await stateOf(service, owner), before, what);
        tally.held(5);
      }
      await where.stop();
    }
    tally.held(await assertSound(service));
  },
);

/** Presents the token of a second step wherever a token or a proof is taken. Returns the number of requests. */
async function presentEverywhere(client: TestClient, token: string, what: string): Promise<number> {
  const bearer = { headers: { authorization: `Bearer ${token}` } };
  const answers = [
    await client.get('/api/v1/users/me', bearer),
    await client.get(`${AUTH}/factors`, bearer),
    await client.post(`${AUTH}/step-up`, { totp: '123456' }, bearer),
    await client.post(`${AUTH}/factors/totp`, undefined, bearer),
    await client.post(`${AUTH}/refresh`, { refresh_token: token }),
    await client.post(`${AUTH}/new_access_token`, { refresh_token: token }),
    await confirmReset(client, token, 'Copper+Violin95Moss'),
    await client.post(`${AUTH}/verify-email`, { token, new_password: 'Copper+Violin95Moss' }),
    await completeSignIn(client, token, { recovery_token: token }),
    await completeSignIn(client, token, { recovery_code: '0000-0000-0000-0000' }),
    await completeSignIn(client, `${token} `, { totp: '123456' }),
  ];
  for (const answer of answers) {
    assert.ok(answer.status >= 400 && answer.status < 500, `${what}: ${answer.status} ${answer.text}`);
    assertLetsNobodyIn(answer, what);
  }
  return answers.length;
}

/** Sends a wrong code in a sign-in of its own. Returns the code of the answer. */
async function guess(where: TestService, user: AppUser, totp = wrongCodeOf(user.secret)): Promise<string> {
  const client = where.client();
  return (await completeSignIn(client, await beginSignIn(client, user), { totp })).body.code;
}

/** Lets the lock of the codes end. Returns how many seconds it would have lasted. */
async function waitForLock({ id }: AppUser): Promise<number> {
  const [row] = await service.sql<{ seconds: number }>(
    `update factor_attempts set locked_until = null from (
       select user_id, extract(epoch from locked_until - clock_timestamp())::float8 as seconds from factor_attempts
       where user_id = $1 for update) before
     where factor_attempts.user_id = before.user_id returning before.seconds`,
    [id],
  );
  return row?.seconds ?? 0;
}

scenario(
  'a patient stranger with the password guesses 35 codes in the first day and 100 in all, at whichever instance',
  async (tally) => {
    for (let round = 0; round < rounds(1, 3); round += 1) {
      const user = await addAppUser(service);
      let elapsed = 0;
      const guessedAt: number[] = [];
      while (guessedAt.length < 100) {
        const where = guessedAt.length % 2 ? service : twin;
        const code = await guess(where, user);
        tally.tried();
        if (code === 'second_factor_invalid') {
          guessedAt.push(elapsed);
          continue;
        }
        assert.equal(code, 'second_factor_locked');
        // Not even the right code counts while the app is closed.
        await forgetStep(service, user);
        assert.equal(await guess(where, user, codeOf(user.secret)), 'second_factor_locked');
        tally.held();
        elapsed += Math.ceil(await waitForLock(user));
      }
      assert.equal(guessedAt.filter((at) => at < 24 * 3_600).length, 35);
      await waitForLock(user);
      assert.equal(await guess(twin, user, codeOf(user.secret)), 'second_factor_invalid', 'suspended');
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'five wrong codes shut one door of the house: every other one stays open to its owner',
  async (tally) => {
    for (let round = 0; round < rounds(1, 8); round += 1) {
      const user = await addAppUser(service);
      const authenticator = newAuthenticator();
      await register(user.client, authenticator);
      const known = service.client();
      await signInByApp(service, known, user);
      const [access, refresh] = [known.accessToken ?? '', known.refreshToken ?? ''];
      for (let count = 0; count < 8; count += 1) await guess(count % 2 ? service : twin, user);
      tally.tried(8);
      assert.equal(await guess(twin, user, codeOf(user.secret)), 'second_factor_locked');
      assert.ok(await isAccepted(twin, access));
      assert.ok(await isRefreshable(twin, refresh));
      assert.equal((await passkeySignIn(service.client(), authenticator)).status, 200);
      // A right proof opens the app again; each is tried against a closed one.
      for (let count = 0; count < 8; count += 1) await guess(twin, user);
      known.accessToken = null;
      await forgetStep(service, user);
      const byApp = await completeSignIn(known, await beginSignIn(known, user), {
        totp: codeOf(user.secret),
      });
      assert.equal(byApp.status, 200, byApp.text);
      for (let count = 0; count < 8; count += 1) await guess(service, user);
      const client = service.client();
      const token = await beginSignIn(client, user);
      const byCode = await completeSignIn(client, token, { recovery_code: user.recoveryCodes[0] });
      assert.equal(byCode.status, 200, byCode.text);
      tally.tried(16);
      tally.held(6);
    }
    tally.held(await assertSound(service));
  },
);

scenario('sign-ins that were opened in advance give no guess more, and outlive no lock', async (tally) => {
  for (let round = 0; round < rounds(1, 6); round += 1) {
    const user = await addAppUser(service);
    const stock: { client: TestClient; token: string }[] = [];
    for (let count = 0; count < 30; count += 1) {
      const client = (count % 2 ? service : twin).client();
      stock.push({ client, token: await beginSignIn(client, user) });
    }
    const codes: string[] = [];
    for (const { client, token } of stock.slice(0, -1))
      for (let count = 0; count < 2; count += 1)
        codes.push((await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) })).body.code);
    tally.tried(codes.length);
    assert.equal(codes.filter((code) => code === 'second_factor_invalid').length, 5);
    assert.ok(codes.slice(5).every((code) => code === 'second_factor_locked'));
    const last = stock.at(-1) as (typeof stock)[number];
    const right = await completeSignIn(last.client, last.token, { totp: codeOf(user.secret) });
    assert.equal(right.body.code, 'second_factor_locked');
    tally.held(3);
  }
  tally.held(await assertSound(service));
});

scenario('the fifth wrong code ends its sign-in, whatever proof follows', async (tally) => {
  for (const kind of ['totp', 'recovery_code', 'passkey']) {
    const user = await addAppUser(service);
    const authenticator = newAuthenticator();
    await register(user.client, authenticator);
    const client = service.client();
    const begun = await logIn(client, user);
    const { token, passkey: options } = begun.body.second_factor;
    for (let count = 0; count < 5; count += 1)
      await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
    await forgetStep(service, user);
    await waitForLock(user);
    const proofs: Record<string, object> = {
      totp: { totp: codeOf(user.secret) },
      recovery_code: { recovery_code: user.recoveryCodes[0] },
      passkey: { passkey: authenticator.assert(options) },
    };
    const answer = await completeSignIn(client, token, { ...proofs[kind] });
    tally.tried(6);
    assert.equal(answer.body.code, 'sign_in_expired', kind);
    assertLetsNobodyIn(answer, kind);
    tally.held(2);
  }
});

scenario(
  'a password that was right and five wrong codes are told to the owner, once an hour',
  async (tally) => {
    const user = await addAppUser(service);
    for (let count = 0; count < 2; count += 1) {
      const client = service.client();
      const token = await beginSignIn(client, user);
      for (let wrong = 0; wrong < 5; wrong += 1)
        await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
      await waitForLock(user);
      tally.tried(5);
    }
    await waitForEmptyOutbox(service);
    assert.equal(mailsTo(service, user.email, 'second_factor_attack').length, 1);
    tally.held();
  },
);

scenario('recovery codes are asked for last, and not where there are none', async (tally) => {
  const methodsOf = async (account: Account): Promise<string[]> => {
    const answer = await logIn(service.client(), account);
    tally.tried();
    return answer.body.second_factor.methods;
  };
  for (const addOwner of Object.values(owners)) {
    const owner = await addOwner(service);
    const methods = await methodsOf(owner);
    assert.ok(methods.length === 2 && methods.at(-1) === 'recovery_code', String(methods));
    // The code that was used last does not move to the front.
    const client = service.client();
    const token = await beginSignIn(client, owner);
    await completeSignIn(client, token, { recovery_code: owner.recoveryCodes[0] });
    assert.deepEqual(await methodsOf(owner), methods);
    await service.sql('update recovery_codes set used_at = now() where user_id = $1', [owner.id]);
    assert.deepEqual(await methodsOf(owner), methods.slice(0, 1));
    tally.held(3);
  }
});

scenario(
  'a mark that says there is no factor lets nobody in: the factors themselves decide',
  async (tally) => {
    for (const [kind, addOwner] of Object.entries(owners)) {
      const owner = await addOwner(service);
      await service.sql('update users set has_factor = false where id = $1', [owner.id]);
      const before = await stateOf(service, owner);
      const answer = await logIn(service.client(), owner);
      tally.tried();
      assert.notEqual(answer.status, 200);
      assertLetsNobodyIn(answer, kind);
      assert.deepEqual(await stateOf(service, owner), before, kind);
      await service.sql('update users set has_factor = true where id = $1', [owner.id]);
      tally.held(3);
    }
  },
);

scenario(
  'a mailbox is no factor: no link starts a session, and none stands in for the factor',
  async (tally) => {
    const NEW_PASSWORD = 'Copper+Violin95Moss';
    for (const [kind, addOwner] of Object.entries(owners)) {
      const owner = await addOwner(service);
      const token = await resetLink(service, owner.email);
      const live = await liveSessionIds(service, owner.id);
      const client = service.client();
      const reset = await confirmReset(client, token, NEW_PASSWORD);
      assert.equal(reset.status, 200, reset.text);
      assertLetsNobodyIn(reset, kind);
      assert.notDeepEqual(live, []);
      assert.deepEqual(await liveSessionIds(service, owner.id), []);
      const now = { ...owner, password: NEW_PASSWORD };
      assert.equal(await passwordAlone(client, now), 'second_factor_required');
      const begun = await logIn(client, now);
      const mailed = await client.post(`${AUTH}/login/recovery-mail`, {
        token: begun.body.second_factor.token,
      });
      assertLetsNobodyIn(mailed, kind);
      await waitForEmptyOutbox(service);
      assert.deepEqual(
        mailsTo(service, owner.email, 'second_factor_reset'),
        [],
        'no recovery without a reset',
      );
      tally.tried(4);
      tally.held(7);
    }
    tally.held(await assertSound(service));
  },
);

scenario('a link that confirms an address, also with a new password, starts no session', async (tally) => {
  const visitor = service.client();
  for (const new_password of [undefined, 'Copper+Violin95Moss']) {
    const account = await addAppUser(service);
    await service.sql('update users set verified = false where id = $1', [account.id]);
    await visitor.post(`${AUTH}/resend-verification-email`, { email: account.email });
    const token = await linkTo(service, account.email, 'verification');
    const answer = await visitor.post(`${AUTH}/verify-email`, { token, new_password });
    tally.tried();
    assert.equal(answer.status, 200, answer.text);
    assertLetsNobodyIn(answer, String(new_password));
    const now = { ...account, password: new_password ?? account.password };
    assert.equal(await passwordAlone(visitor, now), 'second_factor_required');
    tally.held(3);
  }
});

scenario('without the CSRF token of the same browser no second step is looked at', async (tally) => {
  const user = await addAppUser(service);
  const [mine, other] = [service.client(), await otherBrowser()];
  const token = await beginSignIn(mine, user);
  const json = { token, totp: codeOf(user.secret) };
  const csrf = (await mine.prepare('POST')).headers.find(([name]) => name === 'x-csrf-token')?.[1] ?? '';
  for (const headers of [{ 'x-csrf-token': null }, { 'x-csrf-token': 'x' }, { cookie: null }]) {
    const answer = await mine.request('POST', `${AUTH}/login/second-factor`, { json, headers });
    assert.deepEqual([answer.status, answer.body.code], [403, 'csrf_invalid']);
  }
  const stolen = await other.request('POST', `${AUTH}/login/second-factor`, {
    json,
    headers: { 'x-csrf-token': csrf },
  });
  assert.equal(stolen.body.code, 'csrf_invalid');
  assert.equal((await completeSignIn(other, token, { totp: json.totp })).body.code, 'sign_in_expired');
  const [row] = await service.sql('select tries, failures from pending_sign_ins where user_id = $1', [
    user.id,
  ]);
  assert.deepEqual(row, { tries: 0, failures: 0 });
  assert.equal((await completeSignIn(mine, token, { totp: json.totp })).status, 200);
  tally.tried(6);
  tally.held(7);
});

async function otherBrowser(): Promise<TestClient> {
  const client = service.client();
  await client.post(`${AUTH}/verify-email`, {});
  return client;
}

scenario(
  'the second step and the passkey sign-in count per address, and not in the limit of the password',
  async (tally, t) => {
    const limited = await startTestService(t, {
      PUBLIC_URL: PASSKEY_URL,
      RATE_LIMIT_SECOND_FACTOR: '10/minute',
      RATE_LIMIT_LOGIN: '5/minute',
    });
    const user = await addAppUser(limited);
    const client = limited.client();
    const token = await beginSignIn(client, user);
    const statuses: number[] = [];
    for (let count = 0; count < 12; count += 1)
      statuses.push((await completeSignIn(client, token, { recovery_code: '0000-0000-0000-0000' })).status);
    assert.deepEqual(statuses, [...Array(10).fill(422), 429, 429]);
    assert.equal(
      (await client.post(`${AUTH}/login/passkey`, { passkey: {} })).status,
      422,
      'a window of its own',
    );
    assert.equal(await passwordAlone(client, user), 'second_factor_required', 'the limit of the password');
    tally.tried(14);
    tally.held(3);
  },
);
