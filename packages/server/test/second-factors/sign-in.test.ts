// A right password of an account with a factor starts no session: the second step does, once, in the same browser.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  forgetStep,
  keepTokens,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { addUser, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const service = await startTestService({ after });

test('the right password answers 422 with a token, no session and no cookie but that of CSRF', async () => {
  const user = await addAppUser(service);
  const before = await liveSessionIds(service, user.id);
  const client = service.client();
  const answer = await client.post('/api/v1/auth/login', { email: user.email, password: user.password });
  assert.equal(answer.status, 422);
  assert.deepEqual(Object.keys(answer.body), ['detail', 'code', 'request_id', 'second_factor']);
  assert.match(answer.body.second_factor.token, /^[\w-]{43}$/);
  assert.deepEqual(answer.body.second_factor.methods, ['totp', 'recovery_code']);
  const minutes = (Date.parse(answer.body.second_factor.expires_at) - Date.now()) / 60_000;
  assert.ok(minutes > 9 && minutes <= 10.1, `${minutes} minutes`);
  assert.deepEqual([...client.cookies.keys()], ['csrf_token']);
  assert.deepEqual(await liveSessionIds(service, user.id), before);
  const [requested] = await eventsOf(service, 'second_factor_requested', user);
  assert.deepEqual(requested?.details.methods, ['totp', 'recovery_code']);
});

test('a code of the app completes the sign-in, as login answers, with aal2 in both tokens', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const answer = await completeSignIn(client, await beginSignIn(client, user), { totp: codeOf(user.secret) });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.user.email, user.email);
  keepTokens(client, answer);
  for (const token of [answer.body.data.access_token, answer.body.data.refresh_token]) {
    const { acr, amr, auth_time = 0, iat } = readToken(token).claims;
    assert.deepEqual([acr, amr], ['aal2', ['pwd', 'otp', 'mfa']]);
    assert.equal(auth_time, iat);
  }
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
  const [signedIn] = (await eventsOf(service, 'login_succeeded', user)).slice(-1);
  assert.deepEqual(signedIn?.details.methods, ['password', 'totp']);
});

test('blanks inside a code do not count', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const code = codeOf(user.secret);
  const spaced = ` ${code.slice(0, 3)} ${code.slice(3)} `;
  const answer = await completeSignIn(client, await beginSignIn(client, user), { totp: spaced });
  assert.equal(answer.status, 200, answer.text);
});

test('a code is accepted once, also the one that confirmed the app', async () => {
  const user = await addAppUser(service);
  const first = service.client();
  const totp = codeOf(user.secret);
  assert.equal((await completeSignIn(first, await beginSignIn(first, user), { totp })).status, 200);
  const second = service.client();
  const again = await completeSignIn(second, await beginSignIn(second, user), { totp });
  assert.deepEqual([again.status, again.body.code], [422, 'code_already_used']);
});

test('a recovery code signs in once, in any spelling, and leaves nine', async () => {
  const user = await addAppUser(service);
  const [code = ''] = user.recoveryCodes;
  const spelt = ` ${code.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')}`;
  const client = service.client();
  const answer = await completeSignIn(client, await beginSignIn(client, user), { recovery_code: spelt });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(readToken(answer.body.data.access_token).claims.amr, ['pwd', 'mfa']);
  const [used] = await eventsOf(service, 'recovery_code_used', user);
  assert.equal(used?.details.left, 9);
  const other = service.client();
  const again = await completeSignIn(other, await beginSignIn(other, user), { recovery_code: code });
  assert.deepEqual([again.status, again.body.code], [422, 'second_factor_invalid']);
});

test('the token belongs to one browser, and a new sign-in of it ends the one before', async () => {
  const user = await addAppUser(service);
  const [mine, stranger] = [service.client(), service.client()];
  const token = await beginSignIn(mine, user);
  const stolen = await completeSignIn(stranger, token, { totp: codeOf(user.secret) });
  assert.deepEqual([stolen.status, stolen.body.code], [422, 'sign_in_expired']);
  const newer = await beginSignIn(mine, user);
  const old = await completeSignIn(mine, token, { totp: codeOf(user.secret) });
  assert.equal(old.body.code, 'sign_in_expired');
  assert.equal((await completeSignIn(mine, newer, { totp: codeOf(user.secret) })).status, 200);
});

test('the fifth wrong code ends the sign-in; each answer tells how many are left', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const token = await beginSignIn(client, user);
  const left = [];
  for (let count = 0; count < 5; count += 1) {
    const answer = await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
    assert.equal(answer.body.code, 'second_factor_invalid');
    left.push(answer.body.attempts_left);
  }
  assert.deepEqual(left, [4, 3, 2, 1, 0]);
  const over = await completeSignIn(client, token, { recovery_code: user.recoveryCodes[0] });
  assert.equal(over.body.code, 'sign_in_expired');
});

test('five wrong codes in a row close the app, not the recovery codes; a right proof opens it', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const token = await beginSignIn(client, user);
  for (let count = 0; count < 5; count += 1)
    await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
  const [locked] = await eventsOf(service, 'second_factor_locked', user);
  assert.equal(locked?.details.failures, 5);
  const answer = await client.post('/api/v1/auth/login', { email: user.email, password: user.password });
  assert.deepEqual(answer.body.second_factor.methods, ['recovery_code']);
  const { token: next } = answer.body.second_factor;
  const closed = await completeSignIn(client, next, { totp: codeOf(user.secret) });
  assert.deepEqual([closed.status, closed.body.code], [422, 'second_factor_locked']);
  const seconds = Number(closed.headers.get('retry-after'));
  assert.ok(seconds > 890 && seconds <= 900, `${seconds}`);
  const opened = await completeSignIn(client, next, { recovery_code: user.recoveryCodes[1] });
  assert.equal(opened.status, 200, opened.text);
  const later = service.client();
  const right = await completeSignIn(later, await beginSignIn(later, user), { totp: codeOf(user.secret) });
  assert.equal(right.status, 200, right.text);
});

test('each further lock lasts twice as long, at most a day, and the hundredth wrong code suspends the app', async () => {
  const user = await addAppUser(service);
  const lockOf = async (): Promise<number> => {
    const client = service.client();
    const token = await beginSignIn(client, user);
    await service.sql('update factor_attempts set locked_until = null where user_id = $1', [user.id]);
    for (let count = 0; count < 5; count += 1)
      await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
    const [row] = await service.sql<{ minutes: number }>(
      `select round(extract(epoch from locked_until - now()) / 60)::int as minutes from factor_attempts
       where user_id = $1`,
      [user.id],
    );
    return row?.minutes ?? 0;
  };
  assert.deepEqual([await lockOf(), await lockOf(), await lockOf()], [15, 30, 60]);
  await service.sql('update factor_attempts set locks = 40, total = 95 where user_id = $1', [user.id]);
  assert.equal(await lockOf(), 24 * 60);
  assert.equal((await eventsOf(service, 'totp_suspended', user)).length, 1);
  await service.sql('delete from factor_attempts where user_id = $1', [user.id]);
  const client = service.client();
  const refused = await completeSignIn(client, await beginSignIn(client, user), {
    totp: codeOf(user.secret),
  });
  assert.equal(refused.body.code, 'second_factor_invalid');
});

for (const [what, change] of [
  ['a new password', 'update users set password_epoch = password_epoch + 1 where id = $1'],
  ['the end of all sessions', 'update users set session_epoch = session_epoch + 1 where id = $1'],
  ['a deactivation', 'update users set is_active = false where id = $1'],
  ['an address to verify again', 'update users set verified = false where id = $1'],
] as const)
  test(`${what} between the two steps ends the sign-in`, async () => {
    const user = await addAppUser(service);
    const client = service.client();
    const token = await beginSignIn(client, user);
    await service.sql(change, [user.id]);
    const answer = await completeSignIn(client, token, { totp: codeOf(user.secret) });
    assert.deepEqual([answer.status, answer.body.code], [422, 'sign_in_expired']);
  });

test('bad input is refused before a try is counted', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const token = await beginSignIn(client, user);
  const totp = codeOf(user.secret);
  for (const proof of [
    {},
    { totp, recovery_code: user.recoveryCodes[0] },
    { totp: '12345' },
    { totp: '1234567' },
    { totp: '１２３４５６' },
    { totp: '1'.repeat(1_000) },
    { totp: 123_456 },
  ]) {
    const answer = await completeSignIn(client, token, proof);
    assert.deepEqual([answer.status, answer.body.code], [422, 'validation_failed'], JSON.stringify(proof));
    assert.ok(answer.body.errors.length > 0);
  }
  const [row] = await service.sql<{ tries: number }>(
    'select tries from pending_sign_ins where user_id = $1',
    [user.id],
  );
  assert.equal(row?.tries, 0);
  const huge = await completeSignIn(client, token, { totp: '1'.repeat(1_000_000) });
  assert.equal(huge.status, 413);
  for (const other of ['x'.repeat(43), user.client.accessToken, user.client.refreshToken]) {
    const answer = await completeSignIn(client, String(other), { totp });
    assert.equal(answer.body.code, 'sign_in_expired');
  }
});

test('the tenth try of any kind is the last', async () => {
  const user = await addAppUser(service);
  const client = service.client();
  const token = await beginSignIn(client, user);
  await service.sql('update pending_sign_ins set tries = 9 where user_id = $1', [user.id]);
  await service.sql('update totp_factors set last_step = 1e12 where user_id = $1', [user.id]);
  const tenth = await completeSignIn(client, token, { totp: codeOf(user.secret) });
  assert.equal(tenth.body.code, 'code_already_used');
  await forgetStep(service, user);
  const eleventh = await completeSignIn(client, token, { totp: codeOf(user.secret) });
  assert.equal(eleventh.body.code, 'sign_in_expired');
});

test('of 100 sign-ins that wait, the oldest of an unknown device makes room', async () => {
  const user = await addAppUser(service);
  const known = service.client();
  const token = await beginSignIn(known, user);
  await service.sql('update pending_sign_ins set device_id = gen_random_uuid() where user_id = $1', [
    user.id,
  ]);
  await service.sql(
    `insert into pending_sign_ins (token_hash, user_id, browser_hash, network, session_epoch, password_epoch, expires_at)
     select sha256(n::text::bytea), $1, sha256(n::text::bytea), '', 0, 0, now() + interval '1 minute'
     from generate_series(1, 150) n`,
    [user.id],
  );
  await beginSignIn(service.client(), user);
  const [row] = await service.sql<{ count: number }>(
    'select count(*)::int as count from pending_sign_ins where user_id = $1',
    [user.id],
  );
  assert.equal(row?.count, 100);
  assert.equal((await completeSignIn(known, token, { totp: codeOf(user.secret) })).status, 200);
});

test('an account without a factor signs in as before: no claim, no cookie, no member more', async () => {
  const user = await addUser(service);
  const client = service.client();
  const answer = await client.post('/api/v1/auth/login', { email: user.email, password: user.password });
  assert.deepEqual(Object.keys(answer.body.data), ['access_token', 'token_type', 'refresh_token', 'user']);
  assert.deepEqual([...client.cookies.keys()], ['csrf_token', 'refresh_token']);
  const { claims } = readToken(answer.body.data.access_token);
  assert.deepEqual(
    [claims.acr, claims.amr, claims.auth_time, Object.keys(claims).at(-1)],
    [undefined, undefined, undefined, 'type'],
  );
});

test('the database refuses a session that an account with a factor begins by its password', async () => {
  const user = await addAppUser(service);
  for (const proof of [null, 'password', 'password+device'])
    await assert.rejects(
      service.sql(
        "insert into sessions (id, user_id, expires_at, proof) values (gen_random_uuid(), $1, now() + interval '1 day', $2)",
        [user.id, proof],
      ),
      { constraint: 'sessions_proof_check' },
    );
});
