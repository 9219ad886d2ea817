// What happens to passwords when several things happen at once: links, changes, logins.
// Every assertion must hold whichever request comes first.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '../client.ts';
import { createVerifiedUser, PASSWORD, signIn, startTestService } from '../harness.ts';
import { assertMessageOnly, assertRefused } from './answers.ts';
import { atOnce, confirmReset, linkTo, paths, resetLink, strongPasswords, tally } from './self-service.ts';

// No lock and no cap: here neither may decide a race.
const service = await startTestService(
  { after },
  {
    ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
    CONCURRENT_SESSION_LIMIT: '0',
  },
);
const [NEW] = strongPasswords;

/** That the tokens of this login open nothing, neither here nor by a refresh. */
async function assertDead(login: Answer): Promise<void> {
  const { access_token, refresh_token } = login.body.data;
  const client = service.client();
  const me = await client.get(paths.me, { headers: { authorization: `Bearer ${access_token}` } });
  assertRefused(me, 401, 'token_revoked');
  assertRefused(await client.post(paths.refresh, { refresh_token }), 401, 'refresh_token_invalid');
}

test('of 16 resets by one link at once exactly one is 200, the others 400, and its password is the one that holds', async () => {
  const user = await createVerifiedUser(service);
  const token = await resetLink(service, user.email);
  const passwordOf = (index: number) => strongPasswords[index % strongPasswords.length]!;
  const answers = await atOnce(service, 16, (client, index) =>
    confirmReset(client, token, passwordOf(index)),
  );
  assert.deepEqual(tally(answers), { 200: 1, 400: 15 });
  for (const answer of answers) if (answer.status === 400) assertRefused(answer, 400, 'reset_token_invalid');

  const set = passwordOf(answers.findIndex((answer) => answer.status === 200));
  for (const password of strongPasswords) {
    const { status } = await service.client().login({ email: user.email, password });
    assert.equal(status, password === set ? 200 : 422);
  }
  const events = await service.sql(
    `select from audit_logs where action = 'password_reset' and resource_id = $1`,
    [user.id],
  );
  assert.equal(events.length, 1);
});

/** 10 browsers do this over and over while the link is used; answers all that they were answered. */
async function whileReset(token: string, act: (client: TestClient, index: number) => Promise<Answer>) {
  const answers: Answer[] = [];
  let done = false;
  await atOnce(service, 11, async (client, index) => {
    if (index === 10) {
      assertMessageOnly(await confirmReset(client, token, NEW));
      done = true;
    } else while (!done) answers.push(await act(client, index));
  });
  return answers;
}

for (const round of [1, 2])
  test(`after a reset amid logins no session of the old password lives (round ${round})`, async () => {
    const user = await createVerifiedUser(service);
    const token = await resetLink(service, user.email);
    const answers = await whileReset(token, (client) => client.login(user));
    for (const answer of answers)
      if (answer.status !== 200) assertRefused(answer, 422, 'invalid_credentials');
    await Promise.all(answers.filter((answer) => answer.status === 200).map(assertDead));
    const live = await service.sql('select from sessions where user_id = $1 and revoked_at is null', [
      user.id,
    ]);
    assert.equal(live.length, 0);
    assertRefused(await service.client().login(user), 422, 'invalid_credentials');
    assert.equal((await service.client().login({ email: user.email, password: NEW })).status, 200);
  });

test('after a reset amid refreshes no token of the old sessions lives', async () => {
  const user = await createVerifiedUser(service);
  const sessions = await Promise.all(Array.from({ length: 10 }, () => signIn(service, user)));
  const token = await resetLink(service, user.email);
  const answers = await whileReset(token, async (client, index) => {
    const session = sessions[index]!;
    const answer = await client.post(paths.refresh, { refresh_token: session.refreshToken });
    if (answer.status === 200) session.refreshToken = answer.body.data.refresh_token;
    return answer;
  });
  for (const answer of answers)
    if (answer.status !== 200) assertRefused(answer, 401, 'refresh_token_invalid');
  const refreshed = answers.filter((answer) => answer.status === 200);
  assert.ok(refreshed.length > 0);
  await Promise.all(refreshed.slice(-32).map(assertDead));
  const live = await service.sql('select from session_tokens where user_id = $1', [user.id]);
  assert.equal(live.length, 0);
});

test('of 16 changes from one password at once exactly one is 200; one session lives, the one it answered', async () => {
  const user = await createVerifiedUser(service);
  const { accessToken } = await signIn(service, user);
  const headers = { authorization: `Bearer ${accessToken}` };
  const answers = await atOnce(service, 16, (client, index) => {
    const body = { current_password: PASSWORD, new_password: strongPasswords[index % 8] };
    return client.post(paths.changePassword, body, { headers });
  });
  const winners = answers.filter((answer) => answer.status === 200);
  assert.equal(winners.length, 1, JSON.stringify(tally(answers)));
  const losers = answers.filter((answer) => answer.status !== 200).map((answer) => answer.body.code);
  const expected = ['conflict', 'token_revoked', 'wrong_current_password', 'password_rejected'];
  for (const code of losers) assert.ok(expected.includes(code), code);
  const live = await service.sql('select from sessions where user_id = $1 and revoked_at is null', [user.id]);
  assert.equal(live.length, 1);
  const own = { authorization: `Bearer ${winners[0]!.body.data.access_token}` };
  assert.equal((await service.client().get(paths.me, { headers: own })).status, 200);
});

test('of a change and a reset at once one wins, and the password in force is the one that was answered last', async () => {
  const user = await createVerifiedUser(service);
  const session = await signIn(service, user);
  const token = await resetLink(service, user.email);
  const [changed, reset] = await Promise.all([
    session.post(paths.changePassword, { current_password: PASSWORD, new_password: strongPasswords[1] }),
    confirmReset(service.client(), token, strongPasswords[2]),
  ]);
  const works = async (password: string) =>
    (await service.client().login({ email: user.email, password })).status === 200;
  assert.equal(await works(PASSWORD), changed.status !== 200 && reset.status !== 200);
  assert.equal(Number(changed.status === 200) + Number(reset.status === 200), 1);
  assert.equal(await works(strongPasswords[1]), changed.status === 200);
  assert.equal(await works(strongPasswords[2]), reset.status === 200);
});

for (const round of [1, 2, 3])
  test(`of the links of 30 requests at once only the newest works (round ${round})`, async () => {
    const user = await createVerifiedUser(service);
    const answers = await atOnce(service, 30, (client) =>
      client.post(paths.requestReset, { email: user.email }),
    );
    assert.deepEqual(tally(answers), { 200: 30 });
    const tokens = await Promise.all(
      answers.map((_, index) => linkTo(service, user.email, 'password_reset', index)),
    );
    assert.equal(new Set(tokens).size, 30);
    const pending = await service.sql('select from one_time_tokens where user_id = $1 and used_at is null', [
      user.id,
    ]);
    assert.equal(pending.length, 1);
    // A password that the policy refuses: only a link that is good gets as far as that.
    const codes = [];
    for (const token of tokens) codes.push((await confirmReset(service.client(), token, 'short')).body.code);
    assert.deepEqual(
      codes.filter((code) => code !== 'reset_token_invalid'),
      ['password_rejected'],
    );
  });
