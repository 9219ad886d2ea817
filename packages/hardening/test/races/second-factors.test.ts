// Second steps of sign-ins and changes of factors that meet others of the same account, or an act that ends them.
// Every statement must hold whichever request comes first.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { confirmReset, paths, strongPasswords } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import {
  beginSecondStep,
  newAuthenticator,
  PASSKEY_URL,
  register,
  signInOptions,
} from '@castellan/testing/passkeys/own';
import { rounds, scenariosOf, type Tally } from '@castellan/testing/scenario';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  forgetStep,
  keepTokens,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { addStrong, requireOfRole } from '@castellan/testing/second-factors/requirements';
import { addUser, liveSessionIds, readyClient } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import {
  assertAmong,
  assertNothingOpens,
  firstResetLink,
  openInstances,
  opens,
  type RequestSpec,
  sendAmong,
  sendAtOnce,
  times,
} from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances(
  { after },
  { PUBLIC_URL: PASSKEY_URL, CONCURRENT_SESSION_LIMIT: '0', ACCOUNT_LOCKOUT_ATTEMPTS: '1000' },
);
const { service, twin, admin, visitor } = instances;
const AUTH = '/api/v1/auth';
const [NEW] = strongPasswords;

const secondStep = (client: TestClient, token: string, proof: object): RequestSpec => ({
  client,
  path: `${AUTH}/login/second-factor`,
  json: { token, ...proof },
});

/** Opens a sign-in in a browser of its own. */
async function opened(user: AppUser): Promise<{ client: TestClient; token: string }> {
  const client = await readyClient(service);
  return { client, token: await beginSignIn(client, user) };
}

/** Returns right second steps of different sign-ins, one with each recovery code of the user. */
const rightSteps = (user: AppUser): Promise<RequestSpec[]> =>
  Promise.all(
    user.recoveryCodes.map(async (recovery_code) => {
      const { client, token } = await opened(user);
      return secondStep(client, token, { recovery_code });
    }),
  );

type Proofs = { user: AppUser; proofAt: (index: number) => Promise<RequestSpec>; lost: string[] };
/** What can be sent many times, and what those get that come too late. */
const once: Record<string, () => Promise<Proofs>> = {
  'one code of an app': async () => {
    const user = await addAppUser(service);
    // That of the next step is accepted for longest.
    const totp = codeOf(user.secret, 1);
    const proofAt = async () => {
      const { client, token } = await opened(user);
      return secondStep(client, token, { totp });
    };
    return { user, proofAt, lost: ['code_already_used'] };
  },
  'one recovery code': async () => {
    const user = await addAppUser(service);
    const proofAt = async () => {
      const { client, token } = await opened(user);
      return secondStep(client, token, { recovery_code: user.recoveryCodes[3] });
    };
    return { user, proofAt, lost: ['second_factor_invalid'] };
  },
  'one sign-in that waits': async () => {
    const user = await addAppUser(service);
    const { client, token } = await opened(user);
    const proofAt = async (index: number) =>
      secondStep(client, token, { recovery_code: user.recoveryCodes[index % 10] });
    return { user, proofAt, lost: ['sign_in_expired'] };
  },
  'one answer of a passkey': async () => {
    const user = await addAppUser(service);
    const authenticator = newAuthenticator();
    await register(user.client, authenticator);
    const client = await readyClient(service);
    const passkey = authenticator.assert(await signInOptions(client));
    const request = { client, path: `${AUTH}/login/passkey`, json: { passkey } };
    return { user, proofAt: async () => request, lost: ['sign_in_expired'] };
  },
};

for (const [what, prepare] of Object.entries(once))
  scenario(`${what}, sent by 30 requests at once, starts one session`, async (tally) => {
    for (let round = 0; round < rounds(1, 12); round += 1) {
      const { user, proofAt, lost } = await prepare();
      const before = await liveSessionIds(service, user.id);
      const requests = await Promise.all(times(30, proofAt));
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(answers.length);
      assert.equal(codesOf(answers).ok, 1, JSON.stringify(codesOf(answers)));
      tally.held(assertAmong(answers, [200, ...lost]));
      assert.equal((await liveSessionIds(service, user.id)).length, before.length + 1);
      tally.held(2);
    }
    tally.held(await assertSound(service));
  });

type Ending = {
  request(user: AppUser): Promise<RequestSpec> | RequestSpec;
  /** Whether its answer has the only session that lives on. */
  startsAnew?: true;
};
const endings: Record<string, Ending> = {
  'a reset of the password': {
    request: async ({ email }) => ({
      path: paths.confirmReset,
      json: { token: await firstResetLink(instances, email), new_password: NEW },
    }),
  },
  'a change of the password': {
    request: ({ client, password }) => ({
      client,
      path: paths.changePassword,
      json: { current_password: password, new_password: NEW },
    }),
    startsAnew: true,
  },
  'a deactivation': {
    request: ({ id }) => ({
      client: admin,
      method: 'PUT',
      path: `/api/v1/users/${id}`,
      json: { is_active: false },
    }),
  },
  'a deletion': {
    request: ({ id }) => ({ client: admin, method: 'DELETE', path: `/api/v1/users/${id}` }),
  },
  'signing out everywhere': { request: ({ client }) => ({ client, path: `${AUTH}/logout/all` }) },
  'a reset of the factors': {
    request: ({ id }) => ({ client: admin, path: `/api/v1/users/${id}/factors/reset`, json: {} }),
  },
  'the removal of the factor': {
    request: ({ client }) => ({ client, method: 'DELETE', path: `${AUTH}/factors/totp` }),
    startsAnew: true,
  },
};

/** Checks that no session lives on but that of the answer, if it has one. */
async function assertOnly(user: AppUser, { body }: Answer): Promise<void> {
  const token: string | undefined = body.data?.access_token;
  const live = await liveSessionIds(service, user.id);
  assert.deepEqual(live, token ? [readToken(token).claims.sid] : []);
  if (token) assert.ok(await opens(instances, token));
}

for (const [what, { request, startsAnew = false }] of Object.entries(endings))
  scenario(`after ${what} among right second steps none of their sessions is live`, async (tally) => {
    for (let round = 0; round < rounds(1, 12); round += 1) {
      const user = await addAppUser(service);
      const steps = await rightSteps(user);
      const [ended, answers] = await sendAmong(instances, round, await request(user), steps);
      tally.tried(answers.length + 1);
      assert.equal(ended.status, 200, ended.text);
      assert.equal(ended.body.data?.access_token !== undefined, startsAnew);
      tally.held(assertAmong(answers, [200, 'sign_in_expired', 'second_factor_invalid']));
      tally.held(await assertNothingOpens(instances, answers));
      await assertOnly(user, ended);
      tally.held();
    }
    tally.held(await assertSound(service));
  });

/** Changes that are committed while a second step whose proof was verified waits for the row. */
const changes: Record<string, string> = {
  'a new password': 'update users set password_epoch = password_epoch + 1 where id = $1',
  'the end of all sessions': 'update users set session_epoch = session_epoch + 1 where id = $1',
  'a deactivation': 'update users set is_active = false where id = $1',
  'an address to verify again': 'update users set verified = false where id = $1',
  'the removal of the row': 'delete from users where id = $1',
};
const proofsOf: Record<string, (user: AppUser & { passkey: unknown }) => object> = {
  'a code of the app': ({ secret }) => ({ totp: codeOf(secret) }),
  'a recovery code': ({ recoveryCodes }) => ({ recovery_code: recoveryCodes[0] }),
  'a passkey': ({ passkey }) => ({ passkey }),
};

for (const [proved, proofOf] of Object.entries(proofsOf))
  scenario(
    `a second step by ${proved} that waited while the account was changed starts no session`,
    async (tally) => {
      for (const [what, change] of Object.entries(changes)) {
        const user = await addAppUser(service);
        const authenticator = newAuthenticator();
        await register(user.client, authenticator);
        const client = (await readyClient(service)).at(twin.url);
        const { token, passkey: options } = await beginSecondStep(client, user);
        const proof = proofOf({ ...user, passkey: authenticator.assert(options) });
        const before = await service.sql('select id from sessions where user_id = $1', [user.id]);
        const answer = await changeUserWhileWaiting(service, user.id, change, () =>
          completeSignIn(client, token, { ...proof }),
        );
        tally.tried();
        assert.deepEqual(
          [answer.status, answer.body.code],
          [422, 'sign_in_expired'],
          `${what}: ${answer.text}`,
        );
        assert.deepEqual(
          answer.headers.getSetCookie().filter((one) => /^(refresh_token|device)=./.test(one)),
          [],
        );
        const now = await service.sql('select id from sessions where user_id = $1', [user.id]);
        assert.deepEqual(now, before, what);
        tally.held(3);
        // The statement alone does not do what an operation does.
        for (const rows of ['session_tokens where user_id', 'sessions where user_id', 'users where id'])
          await service.sql(`delete from ${rows} = $1`, [user.id]);
      }
      tally.held(await assertSound(service));
    },
  );

/** Signs the user in once more, by a recovery code. */
async function anotherSession(user: AppUser, at: number): Promise<TestClient> {
  const { client, token } = await opened(user);
  keepTokens(client, await completeSignIn(client, token, { recovery_code: user.recoveryCodes[at] }));
  return client;
}

scenario('of two removals of the only two factors at once, a requirement lets one through', async (tally) => {
  for (let round = 0; round < rounds(2, 30); round += 1) {
    const user = await addStrong(service);
    const { passkey } = await register(user.client, newAuthenticator());
    const other = await anotherSession(user, 0);
    await requireOfRole(service, user.role, 'aal2');
    const answers = await sendAtOnce(
      instances,
      [
        { client: user.client, method: 'DELETE', path: `${AUTH}/factors/totp` },
        { client: other, method: 'DELETE', path: `${AUTH}/factors/passkeys/${passkey.id}` },
      ],
      round,
    );
    tally.tried(2);
    tally.held(assertAmong(answers, [200, 'token_revoked']));
    assert.equal(codesOf(answers).ok, 1);
    const [left] = await service.sql(
      `select (select count(*) from totp_factors where user_id = $1)
        + (select count(*) from passkeys where user_id = $1) as factors`,
      [user.id],
    );
    assert.deepEqual(left, { factors: '1' });
    tally.held(2);
  }
  tally.held(await assertSound(service));
});

/** Checks that exactly these recovery codes work. */
async function assertCodesWork(user: AppUser, codes: readonly string[]): Promise<void> {
  const [row] = await service.sql('select count(*)::int as count from recovery_codes where user_id = $1', [
    user.id,
  ]);
  assert.deepEqual(row, { count: 10 });
  for (const recovery_code of [codes[0], codes.at(-1)]) {
    const { client, token } = await opened(user);
    assert.equal((await completeSignIn(client, token, { recovery_code })).status, 200);
  }
}

scenario(
  'an app and a passkey, each the first factor, confirmed at once: one of them is the first',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const account = await addUser(service);
      const [mine, other] = [await signIn(service, account), await signIn(service, account)];
      const { secret } = (await mine.post(`${AUTH}/factors/totp`)).body.data;
      const options = await other.post(`${AUTH}/factors/passkeys/options`, { kind: 'passkey' });
      const passkey = newAuthenticator().register(options.body.data.passkey);
      const answers = await sendAtOnce(
        instances,
        [
          { client: mine, path: `${AUTH}/factors/totp/confirm`, json: { totp: codeOf(secret) } },
          { client: other, path: `${AUTH}/factors/passkeys`, json: { kind: 'passkey', passkey } },
        ],
        round,
      );
      tally.tried(2);
      const [won, ...more] = answers.filter(({ status }) => status < 300);
      assert.ok(won && more.length === 0, answers.map(({ status, text }) => `${status} ${text}`).join('\n'));
      const lost = answers.find((answer) => answer !== won);
      assert.ok(['token_revoked', 'conflict'].includes(lost?.body.code), lost?.text);
      const codes: string[] = won.body.data.recovery_codes;
      assert.deepEqual(await liveSessionIds(service, account.id), [
        readToken(won.body.data.access_token).claims.sid,
      ]);
      await assertCodesWork({ ...account, client: mine, secret, recoveryCodes: codes }, codes);
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

scenario('of many new sets of recovery codes at once, the last one works and no other', async (tally) => {
  for (let round = 0; round < rounds(2, 12); round += 1) {
    const user = await addAppUser(service);
    const answers = await sendAtOnce(
      instances,
      times(6, () => ({ client: user.client, path: `${AUTH}/factors/recovery-codes` })),
      round,
    );
    tally.tried(answers.length);
    const sets = answers.map(({ status, body, text }): string[] => {
      assert.equal(status, 201, text);
      return body.data.recovery_codes;
    });
    const working = [];
    for (const [code] of [...sets, user.recoveryCodes]) {
      const { client, token } = await opened(user);
      const { status } = await completeSignIn(client, token, { recovery_code: code });
      if (status === 200) working.push(code);
    }
    assert.equal(working.length, 1);
    tally.held(answers.length + 1);
  }
  tally.held(await assertSound(service));
});

scenario('one code of the app, sent as 20 step-ups at once, makes one pair of tokens', async (tally) => {
  for (let round = 0; round < rounds(1, 12); round += 1) {
    const user = await addAppUser(service);
    const json = { totp: codeOf(user.secret) };
    const requests = times(20, () => ({ client: user.client, path: `${AUTH}/step-up`, json }));
    const answers = await sendAtOnce(instances, requests, round);
    tally.tried(answers.length);
    assert.deepEqual(codesOf(answers), { ok: 1, code_already_used: 19 });
    tally.held();
  }
  tally.held(await assertSound(service));
});

scenario(
  'wrong codes of many sign-ins at once are counted exactly, and close the app to the right one',
  async (tally) => {
    const strict = await service.another({ ACCOUNT_LOCKOUT_ATTEMPTS: '5' });
    for (let round = 0; round < rounds(1, 12); round += 1) {
      const user = await addAppUser(service);
      const steps = await Promise.all(times(24, () => opened(user)));
      const wrong = wrongCodeOf(user.secret);
      const answers = await Promise.all(
        steps.map(({ client, token }) => completeSignIn(client.at(strict.url), token, { totp: wrong })),
      );
      tally.tried(answers.length);
      assert.deepEqual(codesOf(answers), { second_factor_invalid: 5, second_factor_locked: 19 });
      assert.deepEqual(await countOf(user), { failures: 0, locks: 1, total: 5 });
      await forgetStep(service, user);
      const { client, token } = await opened(user);
      const right = await completeSignIn(client.at(strict.url), token, { totp: codeOf(user.secret) });
      assert.equal(right.body.code, 'second_factor_locked');
      tally.held(3);
    }
    await assertVisitorIsNobody(tally);
  },
);

async function countOf({ id }: AppUser): Promise<unknown> {
  const [row] = await service.sql('select failures, locks, total from factor_attempts where user_id = $1', [
    id,
  ]);
  return row;
}

/** The races leave nothing behind in a browser that never signed in. */
async function assertVisitorIsNobody(tally: Tally): Promise<void> {
  assert.deepEqual([...visitor.cookies.keys()], ['csrf_token']);
  assert.equal((await confirmReset(visitor, 'none', NEW)).body.code, 'reset_token_invalid');
  tally.held(2);
}
