// That what ends sessions wins over whatever would make or prolong one at the same moment.
// Each race runs many rounds, with either side first by a little more every time.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import type { Answer } from '../client.ts';
import { signIn, startTestService, type TestService } from '../harness.ts';
import { type Account, addUser, isAccepted, isRefreshable, liveSessionIds, readyClient } from './accounts.ts';
import { atOnce, race } from './at-once.ts';
import { logIn } from './attempts.ts';
import { hashOf } from './own-tokens.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const NEW_PASSWORD = 'ReplacementPassword!42';

async function assertNothingOpens(where: TestService, answers: Answer[]): Promise<void> {
  for (const { status, body, text } of answers) {
    if (status !== 200) {
      assert.ok(status === 401 || status === 422, text);
      continue;
    }
    assert.equal(await isAccepted(where, body.data.access_token), false, 'a new access token lives on');
    if (body.data.refresh_token)
      assert.equal(
        await isRefreshable(where, body.data.refresh_token),
        false,
        'a new refresh token lives on',
      );
  }
}

for (const [path, way] of [
  ['/api/v1/auth/refresh', 'logout'],
  ['/api/v1/auth/new_access_token', 'logout'],
  ['/api/v1/auth/refresh', 'logout/all'],
] as const)
  test(`after ${way} against ${path} in flight no token of the session is accepted`, async () => {
    const user = await addUser(service);
    for (let round = 0; round < 10; round += 1) {
      const client = await signIn(service, user);
      const other = client.at(twin.url);
      const refresh = () =>
        atOnce(3, (index) => (index % 2 ? client : other).post(path, { refresh_token: client.refreshToken }));
      const [logout, refreshed] = await race(round, () => client.post(`/api/v1/auth/${way}`), refresh);
      assert.equal(logout.status, 200, logout.text);
      await assertNothingOpens(twin, refreshed);
      assert.equal(await isAccepted(service, client.accessToken as string), false);
      assert.deepEqual(await liveSessionIds(service, user.id), []);
    }
    const left = await service.sql('select from session_tokens where user_id = $1', [user.id]);
    assert.equal(left.length, 0, 'tokens of ended sessions stay on the allowlist');
  });

test('after revoking a session against its refresh in flight no token of it is accepted', async () => {
  const user = await addUser(service);
  const owner = await signIn(service, user);
  for (let round = 0; round < 8; round += 1) {
    const client = await signIn(service, user);
    const [sessionId] = (await liveSessionIds(service, user.id)).slice(-1);
    const [revoked, refreshed] = await race(
      round,
      () => owner.delete(`/api/v1/auth/sessions/${sessionId}`),
      () => client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken }),
    );
    assert.equal(revoked.status, 200, revoked.text);
    await assertNothingOpens(service, [refreshed]);
  }
});

/** A reset link's token, as if it had just been mailed. */
async function mailedToken(user: Account): Promise<string> {
  const token = randomBytes(32).toString('base64url');
  await service.sql(
    `insert into one_time_tokens (token_hash, purpose, user_id, email, expires_at)
     values ($1, 'reset_password', $2, $3, now() + interval '10 minutes')`,
    [hashOf(token), user.id, user.email],
  );
  return token;
}

test('a login with the old password against a reset in flight leaves no session behind', async () => {
  for (let round = 0; round < 4; round += 1) {
    const user = await addUser(service);
    const token = await mailedToken(user);
    const [one, other] = [await readyClient(service), await readyClient(twin)];
    const logins = async (): Promise<Answer[]> => {
      const answers: Answer[] = [];
      // Keeps coming until the old password is refused, so that some login always meets the commit.
      for (let status = 200; status === 200; status = answers.at(-1)?.status ?? 0)
        answers.push(...(await atOnce(3, () => logIn(one, user.email, user.password))));
      return answers;
    };
    const [reset, answers] = await race(
      round,
      () => other.post('/api/v1/auth/password-reset/confirm', { token, new_password: NEW_PASSWORD }),
      logins,
    );
    assert.equal(reset.status, 200, reset.text);
    await assertNothingOpens(service, answers);
    assert.deepEqual(await liveSessionIds(service, user.id), []);
    assert.equal((await logIn(other, user.email, NEW_PASSWORD)).status, 200);
  }
});

test('a login with the old password against change_password leaves only the session of the change', async () => {
  for (let round = 0; round < 3; round += 1) {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const other = await readyClient(twin);
    const [changed, answers] = await race(
      round,
      () =>
        client.post('/api/v1/auth/change_password', {
          current_password: user.password,
          new_password: NEW_PASSWORD,
        }),
      () => atOnce(3, () => logIn(other, user.email, user.password)),
    );
    assert.equal(changed.status, 200, changed.text);
    await assertNothingOpens(service, answers);
    assert.equal((await liveSessionIds(service, user.id)).length, 1);
    assert.ok(await isAccepted(service, changed.body.data.access_token));
  }
});

test('logins, refreshes and every kind of logout of one user at once answer no error', async () => {
  const capped = await service.another({ CONCURRENT_SESSION_LIMIT: '3' });
  for (let round = 0; round < 2; round += 1) {
    const user = await addUser(service);
    const clients = await Promise.all(Array.from({ length: 6 }, () => signIn(service, user)));
    const other = await readyClient(capped);
    const answers = await Promise.all(
      clients.flatMap((client, index) => [
        logIn(other, user.email, user.password),
        client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken }),
        client.at(twin.url).post('/api/v1/auth/new_access_token'),
        client.post(index % 3 === 0 ? '/api/v1/auth/logout/all' : '/api/v1/auth/logout'),
      ]),
    );
    for (const answer of answers) assert.ok([200, 401].includes(answer.status), answer.text);
    const live = await liveSessionIds(service, user.id);
    assert.ok(live.length <= 3, `${live.length} live sessions`);
  }
});
