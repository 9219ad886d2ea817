// A password is replaced while other requests sign in with the old one, refresh, replace it too, or end the sessions.
// Every statement must hold whichever request comes first.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { confirmReset, paths, strongPasswords } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn, type TestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Account, addUser, countLiveTokens, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import {
  assertAmong,
  assertNothingOpens,
  firstResetLink,
  login,
  newAccessToken,
  openInstances,
  opens,
  type RequestSpec,
  refresh,
  refreshes,
  sendAmong,
  sendAtOnce,
  sendDuring,
  times,
  whileTableIsLocked,
} from './requests.ts';

const scenario = scenariosOf('races');
// The lockout and the session limit are off, so that neither can decide a race.
const instances = await openInstances(
  { after },
  { ACCOUNT_LOCKOUT_ATTEMPTS: '1000', CONCURRENT_SESSION_LIMIT: '0' },
);
const { service, twin, visitor, admin } = instances;
const [NEW] = strongPasswords;

const canSignIn = async (where: TestService, email: string, password: string): Promise<boolean> =>
  (await where.client().login({ email, password })).status === 200;

const change = (client: TestClient, current: string, next: string | undefined): RequestSpec => ({
  client,
  path: paths.changePassword,
  json: { current_password: current, new_password: next },
});

/** Checks that the session of this answer is the only live one, and that both instances accept its tokens. */
async function assertOnlySession(user: Account, answer: Answer): Promise<number> {
  const { data } = answer.body;
  assert.deepEqual(await liveSessionIds(service, user.id), [readToken(data.access_token).claims.sid]);
  assert.ok(await opens(instances, data.access_token));
  assert.ok(await refreshes(instances, data.refresh_token));
  return 3;
}

scenario(
  'after a reset during sign-ins no session of the old password is live, and the new password signs in',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addUser(service);
      const token = await firstResetLink(instances, user.email);
      const where = visitor.at((round % 2 ? service : twin).url);
      const [reset, answers] = await sendDuring(
        instances,
        () => confirmReset(where, token, NEW),
        () => times(10, () => login(user.email, user.password)),
      );
      tally.tried(answers.length + 1);
      assert.equal(reset.status, 200, reset.text);
      tally.held(assertAmong(answers, [200, 'invalid_credentials']));
      tally.held(await assertNothingOpens(instances, answers));
      assert.deepEqual(await liveSessionIds(service, user.id), []);
      assert.equal(await canSignIn(twin, user.email, user.password), false);
      assert.ok(await canSignIn(service, user.email, NEW));
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

scenario('after a reset during refreshes no token of the old sessions is live', async (tally) => {
  for (let round = 0; round < rounds(1, 8); round += 1) {
    const user = await addUser(service);
    const clients = await Promise.all(times(10, () => signIn(service, user)));
    const token = await firstResetLink(instances, user.email);
    const requests = () =>
      clients.map(({ refreshToken }, index) => (index % 3 ? refresh : newAccessToken)(refreshToken));
    // Some tokens are issued before the reset, however fast it is.
    const earlier = await sendAtOnce(instances, requests());
    const [reset, later] = await sendDuring(instances, () => confirmReset(visitor, token, NEW), requests);
    const answers = [...earlier, ...later];
    tally.tried(answers.length + 1);
    assert.equal(reset.status, 200, reset.text);
    tally.held(assertAmong(answers, [200, 'refresh_token_invalid']));
    assert.ok(answers.some(({ status }) => status === 200));
    // Only the last answers can have raced with the reset; the count of live tokens below covers all.
    tally.held(
      await assertNothingOpens(instances, answers.filter(({ status }) => status === 200).slice(-32)),
    );
    assert.equal(await countLiveTokens(service, user.id), 0);
    tally.held(2);
  }
  tally.held(await assertSound(service));
});

scenario(
  'of many changes of one password at once one succeeds, and only the session in its answer is live',
  async (tally) => {
    const lost = ['conflict', 'token_revoked', 'wrong_current_password', 'password_rejected'];
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const user = await addUser(service);
      const clients = await Promise.all(times(4, () => signIn(service, user)));
      const requests = times(24, (index) =>
        change(clients[index % 4] as TestClient, user.password, strongPasswords[index % 8]),
      );
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(answers.length);
      tally.held(assertAmong(answers, [200, ...lost]));
      const [winner, ...more] = answers.filter(({ status }) => status === 200);
      assert.ok(winner && more.length === 0, `${more.length} more`);
      tally.held(await assertOnlySession(user, winner));
      const set = strongPasswords[answers.indexOf(winner) % 8];
      for (const password of [user.password, ...strongPasswords])
        assert.equal(await canSignIn(twin, user.email, password), password === set);
      tally.held(1 + strongPasswords.length);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'after a change of password during sign-ins and refreshes only the session of the change is live',
  async (tally) => {
    for (let round = 0; round < rounds(2, 25); round += 1) {
      const user = await addUser(service);
      const client = await signIn(service, user);
      const others = await Promise.all(times(3, () => signIn(service, user)));
      const requests = times(18, (index) => {
        const { refreshToken } = others[(index >> 1) % 3] as TestClient;
        if (index % 2) return login(user.email, user.password);
        return (index % 4 ? refresh : newAccessToken)(refreshToken);
      });
      const [changed, answers] = await sendAmong(
        instances,
        round,
        change(client, user.password, NEW),
        requests,
      );
      tally.tried(19);
      assert.equal(changed.status, 200, changed.text);
      tally.held(assertAmong(answers, [200, 'invalid_credentials', 'refresh_token_invalid']));
      tally.held(await assertNothingOpens(instances, answers));
      tally.held(await assertOnlySession(user, changed));
      assert.ok(await canSignIn(twin, user.email, NEW));
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'of a change and a reset at once one wins, and its password is the one that signs in',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const session = await signIn(service, user);
      const token = await firstResetLink(instances, user.email);
      const answers = await sendAtOnce(
        instances,
        [
          change(session, user.password, strongPasswords[1]),
          { path: paths.confirmReset, json: { token, new_password: strongPasswords[2] } },
        ],
        round,
      );
      const [changed, reset] = answers as [Answer, Answer];
      tally.tried(2);
      assert.equal(Number(changed.status === 200) + Number(reset.status === 200), 1);
      assert.equal(await canSignIn(twin, user.email, user.password), false);
      assert.equal(await canSignIn(service, user.email, strongPasswords[1]), changed.status === 200);
      assert.equal(await canSignIn(twin, user.email, strongPasswords[2]), reset.status === 200);
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

type Replacement = { name: string; act(user: Account, client: TestClient): Promise<Answer> };
const replacements: readonly Replacement[] = [
  {
    name: 'a reset',
    act: async (user) => confirmReset(visitor, await firstResetLink(instances, user.email), NEW),
  },
  {
    name: 'a change of password',
    act: ({ password }, client) =>
      client.post(paths.changePassword, { current_password: password, new_password: NEW }),
  },
  {
    name: 'a password set by an administrator',
    act: ({ id }) => admin.put(`/api/v1/users/${id}`, { password: NEW }),
  },
];

for (const { name, act } of replacements)
  scenario(
    `sign-ins that verified the old password before ${name} was committed get no session`,
    async (tally) => {
      for (let round = 0; round < rounds(1, 8); round += 1) {
        const user = await addUser(service);
        const client = await signIn(service, user);
        const [replaced, answers] = await whileTableIsLocked(service, 'password_history', async (waiting) => {
          const replacing = act(user, client);
          await waiting('insert into password_history');
          const logins = sendAtOnce(
            instances,
            // The most attempts that may run for one account beside the change, on two instances.
            times(6, () => login(user.email, user.password)),
            round,
          );
          // All have verified the password and wait for the user's row.
          await waiting('select email, password_epoch', 6);
          return () => Promise.all([replacing, logins]);
        });
        tally.tried(7);
        assert.equal(replaced.status, 200, replaced.text);
        assert.equal(assertAmong(answers, ['invalid_credentials']), 6);
        const sid = replaced.body.data?.access_token && readToken(replaced.body.data.access_token).claims.sid;
        assert.deepEqual(await liveSessionIds(service, user.id), sid ? [sid] : []);
        assert.equal(await opens(instances, client.accessToken as string), false);
        tally.held(8);
      }
      tally.held(await assertSound(service));
    },
  );

for (const [what, statement] of [
  ['a deactivation', 'update users set is_active = false where id = $1'],
  ['a logout everywhere', 'update users set session_epoch = session_epoch + 1 where id = $1'],
  ['the end of its session', 'update sessions set revoked_at = now() where user_id = $1'],
] as const)
  scenario(`a change of password during ${what} is answered with no new session`, async (tally) => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const answer = await changeUserWhileWaiting(service, user.id, statement, () =>
      client.at(twin.url).post(paths.changePassword, { current_password: user.password, new_password: NEW }),
    );
    tally.tried();
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.body.code, 'token_revoked');
    assert.deepEqual(await liveSessionIds(service, user.id), []);
    assert.equal(await opens(instances, client.accessToken as string), false);
    tally.held(3);
  });
