// Replacing a password while others sign in with the old one, refresh, replace it too, or end the sessions.
// Every statement must hold whichever request comes first.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { confirmReset, paths, strongPasswords } from '../../accounts/self-service.ts';
import type { Answer, TestClient } from '../../client.ts';
import { signIn, type TestService } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { type Account, addUser, liveSessionIds } from '../../sessions/accounts.ts';
import { changeUserUnder } from '../../sessions/hold-user.ts';
import { readToken } from '../../sessions/own-tokens.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  assertAmong,
  assertNothingOpens,
  type Blank,
  fire,
  fireAmid,
  fireAmong,
  firstResetLink,
  login,
  newAccessToken,
  openRange,
  opens,
  refresh,
  refreshes,
  times,
  underTableLock,
} from './shots.ts';

const scenario = scenariosOf('races');
// No lock and no cap: here neither may decide a race.
const range = await openRange({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '1000', CONCURRENT_SESSION_LIMIT: '0' });
const { service, twin, visitor, admin } = range;
const [NEW] = strongPasswords;

const worksAs = async (where: TestService, email: string, password: string): Promise<boolean> =>
  (await where.client().login({ email, password })).status === 200;

const change = (client: TestClient, current: string, next: string | undefined): Blank => ({
  client,
  path: paths.changePassword,
  json: { current_password: current, new_password: next },
});

/** The only live session is this answer's, and its tokens work at both instances. */
async function assertOnlySession(user: Account, answer: Answer): Promise<number> {
  const { data } = answer.body;
  assert.deepEqual(await liveSessionIds(service, user.id), [readToken(data.access_token).claims.sid]);
  assert.ok(await opens(range, data.access_token));
  assert.ok(await refreshes(range, data.refresh_token));
  return 3;
}

scenario(
  'after a reset amid logins no session of the old password lives, and the new one signs in',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addUser(service);
      const token = await firstResetLink(range, user.email);
      const where = visitor.at((round % 2 ? service : twin).url);
      const [reset, answers] = await fireAmid(
        range,
        () => confirmReset(where, token, NEW),
        () => times(10, () => login(user.email, user.password)),
      );
      tally.tried(answers.length + 1);
      assert.equal(reset.status, 200, reset.text);
      tally.held(assertAmong(answers, [200, 'invalid_credentials']));
      tally.held(await assertNothingOpens(range, answers));
      assert.deepEqual(await liveSessionIds(service, user.id), []);
      assert.equal(await worksAs(twin, user.email, user.password), false);
      assert.ok(await worksAs(service, user.email, NEW));
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

scenario('after a reset amid refreshes no token of the old sessions lives', async (tally) => {
  for (let round = 0; round < rounds(1, 8); round += 1) {
    const user = await addUser(service);
    const clients = await Promise.all(times(10, () => signIn(service, user)));
    const token = await firstResetLink(range, user.email);
    const [reset, answers] = await fireAmid(
      range,
      () => confirmReset(visitor, token, NEW),
      () => clients.map(({ refreshToken }, index) => (index % 3 ? refresh : newAccessToken)(refreshToken)),
    );
    tally.tried(answers.length + 1);
    assert.equal(reset.status, 200, reset.text);
    tally.held(assertAmong(answers, [200, 'refresh_token_invalid']));
    assert.ok(answers.some(({ status }) => status === 200));
    // The last ones are those that met the reset; the allowlist below speaks for all.
    tally.held(await assertNothingOpens(range, answers.filter(({ status }) => status === 200).slice(-32)));
    assert.deepEqual(await service.sql('select from session_tokens where user_id = $1', [user.id]), []);
    tally.held(2);
  }
  tally.held(await assertSound(service));
});

scenario(
  'of many changes from one password at once one succeeds; only the session it answered lives',
  async (tally) => {
    const lost = ['conflict', 'token_revoked', 'wrong_current_password', 'password_rejected'];
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const user = await addUser(service);
      const clients = await Promise.all(times(4, () => signIn(service, user)));
      const shots = times(24, (index) =>
        change(clients[index % 4] as TestClient, user.password, strongPasswords[index % 8]),
      );
      const answers = await fire(range, shots, round);
      tally.tried(answers.length);
      tally.held(assertAmong(answers, [200, ...lost]));
      const [winner, ...more] = answers.filter(({ status }) => status === 200);
      assert.ok(winner && more.length === 0, `${more.length} more`);
      tally.held(await assertOnlySession(user, winner));
      const set = strongPasswords[answers.indexOf(winner) % 8];
      for (const password of [user.password, ...strongPasswords])
        assert.equal(await worksAs(twin, user.email, password), password === set);
      tally.held(1 + strongPasswords.length);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'after a change of password amid logins and refreshes only the session of the change lives',
  async (tally) => {
    for (let round = 0; round < rounds(4, 25); round += 1) {
      const user = await addUser(service);
      const client = await signIn(service, user);
      const others = await Promise.all(times(3, () => signIn(service, user)));
      const shots = times(18, (index) => {
        const { refreshToken } = others[(index >> 1) % 3] as TestClient;
        if (index % 2) return login(user.email, user.password);
        return (index % 4 ? refresh : newAccessToken)(refreshToken);
      });
      const [changed, answers] = await fireAmong(range, round, change(client, user.password, NEW), shots);
      tally.tried(19);
      assert.equal(changed.status, 200, changed.text);
      tally.held(assertAmong(answers, [200, 'invalid_credentials', 'refresh_token_invalid']));
      tally.held(await assertNothingOpens(range, answers));
      tally.held(await assertOnlySession(user, changed));
      assert.ok(await worksAs(twin, user.email, NEW));
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'of a change and a reset at once one wins, and the password in force is the one that was answered',
  async (tally) => {
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const user = await addUser(service);
      const session = await signIn(service, user);
      const token = await firstResetLink(range, user.email);
      const answers = await fire(
        range,
        [
          change(session, user.password, strongPasswords[1]),
          { path: paths.confirmReset, json: { token, new_password: strongPasswords[2] } },
        ],
        round,
      );
      const [changed, reset] = answers as [Answer, Answer];
      tally.tried(2);
      assert.equal(Number(changed.status === 200) + Number(reset.status === 200), 1);
      assert.equal(await worksAs(twin, user.email, user.password), false);
      assert.equal(await worksAs(service, user.email, strongPasswords[1]), changed.status === 200);
      assert.equal(await worksAs(twin, user.email, strongPasswords[2]), reset.status === 200);
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

type Replacing = { name: string; act(user: Account, client: TestClient): Promise<Answer> };
const replacings: readonly Replacing[] = [
  {
    name: 'a reset',
    act: async (user) => confirmReset(visitor, await firstResetLink(range, user.email), NEW),
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

for (const { name, act } of replacings)
  scenario(
    `logins that verified the old password before ${name} is committed open nothing after`,
    async (tally) => {
      for (let round = 0; round < rounds(1, 8); round += 1) {
        const user = await addUser(service);
        const client = await signIn(service, user);
        const [replaced, answers] = await underTableLock(service, 'password_history', async (waiting) => {
          const replacing = act(user, client);
          await waiting('insert into password_history');
          const logins = fire(
            range,
            times(8, () => login(user.email, user.password)),
            round,
          );
          // Every one of them has verified the password and asks for the user's row.
          await waiting('select password_epoch, is_active', 8);
          return () => Promise.all([replacing, logins]);
        });
        tally.tried(9);
        assert.equal(replaced.status, 200, replaced.text);
        assert.equal(assertAmong(answers, ['invalid_credentials']), 8);
        const sid = replaced.body.data?.access_token && readToken(replaced.body.data.access_token).claims.sid;
        assert.deepEqual(await liveSessionIds(service, user.id), sid ? [sid] : []);
        assert.equal(await opens(range, client.accessToken as string), false);
        tally.held(10);
      }
      tally.held(await assertSound(service));
    },
  );

for (const [what, statement] of [
  ['a deactivation', 'update users set is_active = false where id = $1'],
  ['a logout everywhere', 'update sessions set revoked_at = now() where user_id = $1'],
] as const)
  scenario(`${what} while the password is changed is not answered with a new session`, async (tally) => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const answer = await changeUserUnder(service, user.id, statement, () =>
      client.at(twin.url).post(paths.changePassword, { current_password: user.password, new_password: NEW }),
    );
    tally.tried();
    assert.equal(answer.status, 401, answer.text);
    assert.equal(answer.body.code, 'token_revoked');
    const live = await service.sql(
      `select s.id from sessions s join users u on u.id = s.user_id
       where s.user_id = $1 and s.revoked_at is null and u.is_active`,
      [user.id],
    );
    assert.deepEqual(live, []);
    assert.equal(await opens(range, client.accessToken as string), false);
    tally.held(3);
  });
