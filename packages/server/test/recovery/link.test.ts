// The recovery link in the second step of a sign-in: once, for its own account, with the password, the newest only.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { mailsTo, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  beginSignIn,
  completeSignIn,
  enrol,
  keepTokens,
} from '@castellan/testing/second-factors/app';
import { liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson } from '@castellan/testing/users/people';
import { addResetUser, mailedToken, resetFactors } from './fixture.ts';

const service = await startTestService(
  { after },
  {
    RATE_LIMIT_SECOND_FACTOR: 'off',
    RATE_LIMIT_LOGIN: 'off',
    RATE_LIMIT_PASSWORD_RESET: 'off',
    ACCOUNT_EMAIL_LIMIT: '5/hour',
  },
);
const admin = await signIn(service, ADMIN);

const mailAgain = (client: TestClient, token: string) =>
  client.post('/api/v1/auth/login/recovery-mail', { token });
const recoveryMails = async ({ email }: { email: string }) => {
  await waitForEmptyOutbox(service);
  return mailsTo(service, email, 'second_factor_reset');
};

test('the link and the password start a session of aal1, and end the recovery', async () => {
  const { user, token } = await addResetUser(service, admin);
  const client = service.client();
  const pending = await beginSignIn(client, user);
  const answer = await completeSignIn(client, pending, { recovery_token: token });
  assert.equal(answer.status, 200, answer.text);
  keepTokens(client, answer);
  const { acr, amr } = readToken(answer.body.data.access_token).claims;
  assert.deepEqual([acr, amr], [undefined, undefined], 'as the tokens of a password alone');
  const own = await client.get('/api/v1/auth/factors');
  assert.equal(own.body.data.context.acr, 'aal1');
  const [session] = await service.sql<{ proof: string }>('select proof from sessions where id = any($1)', [
    await liveSessionIds(service, user.id),
  ]);
  assert.equal(session?.proof, 'password+recovery_link');
  assert.equal((await eventsOf(service, 'recovery_link_used', user)).length, 1);
  const [signedIn] = (await eventsOf(service, 'login_succeeded', user)).slice(-1);
  assert.deepEqual(signedIn?.details.methods, ['password', 'recovery_link']);
  const [state] = await service.sql(
    'select recovery_pending, recovery_handed_over from users where id = $1',
    [user.id],
  );
  assert.deepEqual(state, { recovery_pending: false, recovery_handed_over: false });

  // From here on the account is one without a factor: the password signs in, and an app can be set up.
  const later = await signIn(service, user);
  assert.equal((await enrol(later)).recoveryCodes.length, 10);
});

test('a link is used once, by 30 parallel requests too', async () => {
  const { user, token } = await addResetUser(service, admin);
  const started = await Promise.all(
    Array.from({ length: 30 }, async () => {
      const client = service.client();
      return { client, pending: await beginSignIn(client, user) };
    }),
  );
  const answers = await Promise.all(
    started.map(({ client, pending }) => completeSignIn(client, pending, { recovery_token: token })),
  );
  const signedIn = answers.filter(({ status }) => status === 200);
  assert.equal(signedIn.length, 1, answers.map(({ status, body }) => `${status} ${body.code}`).join(', '));
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
});

test('a newer link ends the older one', async () => {
  const { user, token: old } = await addResetUser(service, admin);
  await resetFactors(admin, user);
  const newer = await mailedToken(service, user);
  const client = service.client();
  const pending = await beginSignIn(client, user);
  const refused = await completeSignIn(client, pending, { recovery_token: old });
  assert.deepEqual([refused.status, refused.body.code], [422, 'second_factor_invalid']);
  assert.equal((await completeSignIn(client, pending, { recovery_token: newer })).status, 200);
});

test('the link of another account is refused and stays usable', async () => {
  const [mine, theirs] = [await addResetUser(service, admin), await addResetUser(service, admin)];
  const client = service.client();
  const pending = await beginSignIn(client, mine.user);
  const refused = await completeSignIn(client, pending, { recovery_token: theirs.token });
  assert.deepEqual([refused.status, refused.body.code], [422, 'second_factor_invalid']);
  assert.equal(refused.body.attempts_left, undefined);
  const other = service.client();
  const answer = await completeSignIn(other, await beginSignIn(other, theirs.user), {
    recovery_token: theirs.token,
  });
  assert.equal(answer.status, 200, answer.text);
});

test('a link after its day is refused, and one of another purpose', async () => {
  const { user, token } = await addResetUser(service, admin);
  const client = service.client();
  const pending = await beginSignIn(client, user);
  await service.sql(`update one_time_tokens set expires_at = now() where user_id = $1`, [user.id]);
  await client.post('/api/v1/auth/password-reset/request', { email: user.email });
  await waitForEmptyOutbox(service);
  const reset = mailsTo(service, user.email, 'password_reset').at(-1)?.token;
  for (const recovery_token of [token, reset]) {
    const answer = await completeSignIn(client, pending, { recovery_token });
    assert.deepEqual([answer.status, answer.body.code], [422, 'second_factor_invalid']);
  }
  assert.deepEqual(await liveSessionIds(service, user.id), []);
});

test('a wrong link is a try, not a wrong code: the tenth ends the sign-in', async () => {
  const { user } = await addResetUser(service, admin);
  const client = service.client();
  const pending = await beginSignIn(client, user);
  const codes = [];
  for (let count = 0; count < 11; count += 1)
    codes.push((await completeSignIn(client, pending, { recovery_token: 'wrong' })).body.code);
  assert.deepEqual(codes, [...Array(10).fill('second_factor_invalid'), 'sign_in_expired']);
  assert.deepEqual(await service.sql('select from factor_attempts where user_id = $1', [user.id]), []);
  const [failed] = await eventsOf(service, 'second_factor_failed', user);
  assert.deepEqual([failed?.details.method, failed?.details.reason], ['recovery_link', 'wrong_code']);
});

test('where the account awaits no recovery, or has no app, the proof is refused as a wrong one', async () => {
  const appUser = await addAppUser(service);
  const first = service.client();
  const link = await completeSignIn(first, await beginSignIn(first, appUser), { recovery_token: 'any' });
  assert.deepEqual([link.status, link.body.code], [422, 'second_factor_invalid']);
  const { user } = await addResetUser(service, admin);
  const second = service.client();
  const code = await completeSignIn(second, await beginSignIn(second, user), { totp: '123456' });
  assert.deepEqual([code.status, code.body.code], [422, 'second_factor_invalid']);
});

test('exactly one proof is taken', async () => {
  const { user, token } = await addResetUser(service, admin);
  const client = service.client();
  const pending = await beginSignIn(client, user);
  for (const proof of [{}, { totp: '123456', recovery_token: token }]) {
    const answer = await completeSignIn(client, pending, proof);
    assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed']);
    assert.ok(answer.body.errors.some(({ field }: { field: string }) => field === 'recovery_token'));
  }
});

test('a reset between the two steps, and one after the sign-in was begun anew, start no session', async () => {
  const { user, token } = await addResetUser(service, admin);
  const client = service.client();
  const pending = await beginSignIn(client, user);
  await resetFactors(admin, user);
  const answer = await completeSignIn(client, pending, { recovery_token: token });
  assert.deepEqual([answer.status, answer.body.code], [422, 'sign_in_expired']);
  assert.deepEqual(await liveSessionIds(service, user.id), []);
});

test('the database refuses a session without the link', async () => {
  const { user } = await addResetUser(service, admin);
  await assert.rejects(
    service.sql(
      `insert into sessions (id, user_id, expires_at, proof) values (gen_random_uuid(), $1, now() + interval '1 day', 'password')`,
      [user.id],
    ),
    /second factor/,
  );
});

test('the link is mailed again from the sign-in, and the earlier one ends', async () => {
  const user = await addAppUser(service);
  await resetFactors(admin, user);
  const old = await mailedToken(service, user);
  const client = service.client();
  const pending = await beginSignIn(client, user);
  const answer = await mailAgain(client, pending);
  assert.equal(answer.status, 200, answer.text);
  const newer = await mailedToken(service, user);
  assert.notEqual(newer, old);
  const refused = await completeSignIn(client, pending, { recovery_token: old });
  assert.equal(refused.body.code, 'second_factor_invalid');
  assert.equal((await completeSignIn(client, pending, { recovery_token: newer })).status, 200);
});

test('the answer is the same and nothing is mailed where no recovery is pending, or the link is handed over', async () => {
  const handedOver = await addResetUser(service, admin);
  const appUser = await addAppUser(service);
  const texts = [];
  for (const account of [handedOver.user, appUser]) {
    const client = service.client();
    const before = (await recoveryMails(account)).length;
    const answer = await mailAgain(client, await beginSignIn(client, account));
    assert.equal(answer.status, 200, answer.text);
    texts.push(answer.body.message);
    assert.equal((await recoveryMails(account)).length, before);
  }
  assert.equal(new Set(texts).size, 1);
  const client = service.client();
  const shown = await completeSignIn(client, await beginSignIn(client, handedOver.user), {
    recovery_token: handedOver.token,
  });
  assert.equal(shown.status, 200, 'the handed-over link still works');
});

test('mailing again takes an open sign-in of the same browser, and is limited per account', async () => {
  const user = await addAppUser(service);
  await resetFactors(admin, user);
  const [mine, stranger] = [service.client(), service.client()];
  const pending = await beginSignIn(mine, user);
  for (const [client, token] of [
    [stranger, pending],
    [mine, 'unknown'],
    [mine, (await signIn(service, await addPerson(service))).refreshToken as string],
  ] as const) {
    const answer = await mailAgain(client, token);
    assert.deepEqual([answer.status, answer.body.code], [422, 'sign_in_expired']);
  }
  for (let count = 0; count < 7; count += 1) assert.equal((await mailAgain(mine, pending)).status, 200);
  // ACCOUNT_EMAIL_LIMIT is 5 an hour; the mail of the reset itself is not one of them.
  assert.equal((await recoveryMails(user)).length, 6);
});
