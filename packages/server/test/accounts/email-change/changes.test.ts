// Changes of one's own email address: the request, the link to the new address, and what the change leaves.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  changeEmail,
  confirmReset,
  linkTo,
  mailsTo,
  paths,
  requestEmailChange,
  resetLink,
  strongPasswords,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addIdentity, addProvider } from '@castellan/testing/openid/providers';
import { addAppUser, codeOf, forgetStep, keepTokens } from '@castellan/testing/second-factors/app';
import { isAccepted } from '@castellan/testing/sessions/accounts';
import { addPerson, eventsOf } from '@castellan/testing/users/people';

const service = await startTestService({ after }, { ACCOUNT_EMAIL_LIMIT: '4/hour' });
const admin = await signIn(service, ADMIN);
const visitor = service.client();
const [NEW_PASSWORD] = strongPasswords;
const NO_TOKEN = 'x'.repeat(43);

async function signedIn() {
  const person = await addPerson(service);
  return { ...person, client: await signIn(service, person) };
}
const ask = (client: TestClient, body: Record<string, unknown>): Promise<Answer> =>
  client.post(paths.changeEmail, body);
const confirm = (token: string, client = visitor): Promise<Answer> =>
  client.post(paths.confirmEmail, { token });
const check = async (token: string, purpose = 'change_email') =>
  (await visitor.post(paths.check, { purpose, token })).body.data;
const emailOf = async (id: string): Promise<string | undefined> =>
  (await service.sql<{ email: string }>('select email from users where id = $1', [id]))[0]?.email;
/** Makes the sign-in of the client older than any proof may be. */
const grow = (id: string) =>
  service.sql(`update sessions set created_at = created_at - interval '1 day' where user_id = $1`, [id]);

test('a change is a request, a mail with a link to the new address and a warning without one to the present address', async () => {
  const { id, email, client } = await signedIn();
  const to = newEmail('new');
  const asked = await ask(client, { new_email: ` ${to.toUpperCase()} `, current_password: PASSWORD });
  assert.equal(asked.status, 202, asked.text);
  assert.deepEqual(Object.keys(asked.body), ['message']);
  assert.deepEqual(
    (await eventsOf(service, asked)).map(({ action, actor_id, details }) => [
      action,
      actor_id,
      details.email,
      details.new_email,
      details.outcome,
    ]),
    [['email_change_requested', id, email, to, 'queued']],
  );
  const token = await linkTo(service, to, 'email_change');
  const [mail] = mailsTo(service, to, 'email_change');
  assert.match(mail?.text ?? '', /for 24 hours/);
  assert.doesNotMatch(mail?.text ?? '', /Hello Ada|Lovelace/, 'the mailbox may be a stranger’s');
  assert.doesNotMatch(mail?.text ?? '', new RegExp(email));
  const warning = await eventually(() => mailsTo(service, email, 'email_change_requested')[0], 'the warning');
  assert.equal(warning.token, null);
  assert.ok(warning.text.includes(to));
  assert.equal(await emailOf(id), email, 'nothing has changed yet');

  for (let checked = 0; checked < 2; checked += 1)
    assert.deepEqual(await check(token), {
      valid: true,
      already_verified: false,
      declinable: false,
      email: to,
    });
  assert.equal((await check(token, 'verify_email')).valid, false);
  const confirmed = await confirm(token);
  assert.equal(confirmed.status, 200, confirmed.text);
  assert.equal(confirmed.headers.get('set-cookie'), null, 'it starts no session');
  const [event] = await eventsOf(service, confirmed);
  assert.deepEqual(
    [event?.action, event?.actor_id, event?.details.before, event?.details.after],
    ['email_changed', id, { email }, { email: to }],
  );
  const me = await client.get(paths.me);
  assert.deepEqual([me.body.data.email, me.body.data.verified], [to, true]);
  assertRefused(
    await visitor.post('/api/v1/auth/login', { email, password: PASSWORD }),
    422,
    'invalid_credentials',
  );
  await signIn(service, { email: to, password: PASSWORD });

  assert.deepEqual(await check(token), { valid: false, already_verified: true, declinable: false });
  assertRefused(await confirm(token), 400, 'email_change_token_invalid');
  const undo = await linkTo(service, email, 'email_changed');
  const [told] = mailsTo(service, email, 'email_changed');
  assert.match(told?.text ?? '', /for 7 days/);
  assert.ok(told?.text.includes(to));
  assert.equal((await check(undo, 'revert_email')).email, email);
});

test('every session ends but the one that asked, with trust, sign-ins that wait, and mailed links', async () => {
  const { id, email, client } = await signedIn();
  const other = await signIn(service, { email, password: PASSWORD });
  const reset = await resetLink(service, email);
  await changeEmail(service, client, email, newEmail('new'));
  assert.equal(await isAccepted(service, client.accessToken ?? ''), true);
  const refreshed = await client.post(paths.refresh, { refresh_token: client.refreshToken });
  assert.equal(refreshed.status, 200, refreshed.text);
  assert.equal(await isAccepted(service, other.accessToken ?? ''), false);
  assert.equal((await client.get('/api/v1/auth/sessions')).body.data.length, 1);
  assertRefused(await confirmReset(visitor, reset, NEW_PASSWORD), 400, 'reset_token_invalid');
  const [epoch] = await service.sql<{ session_epoch: number }>(
    'select session_epoch from users where id = $1',
    [id],
  );
  assert.equal(epoch?.session_epoch, 1, 'what hangs on the epoch has ended');
});

test('no session stays where the one that asked has ended', async () => {
  const { email, client } = await signedIn();
  const other = await signIn(service, { email, password: PASSWORD });
  const token = await requestEmailChange(service, client, newEmail('new'));
  await client.post('/api/v1/auth/logout');
  assert.equal((await confirm(token)).status, 200);
  assert.equal(await isAccepted(service, other.accessToken ?? ''), false);
});

test('a taken address answers alike, and its owner is told of the attempt without a link', async () => {
  const { id, client } = await signedIn();
  const owner = await addPerson(service, { firstName: 'Grace' });
  const free = await ask(client, { new_email: newEmail('new'), current_password: PASSWORD });
  const taken = await ask(client, { new_email: owner.email, current_password: PASSWORD });
  assert.equal(taken.status, 202, taken.text);
  assert.deepEqual(taken.body, free.body);
  const mail = await eventually(() => mailsTo(service, owner.email, 'email_change')[0], 'the mail');
  assert.match(mail.text, /^Hello Grace,$/m);
  assert.equal(mail.token, null);
  assert.deepEqual(
    await service.sql(`select from one_time_tokens where user_id = $1 and used_at is null`, [id]),
    [],
    'the newer request ended the link of the one before, and has none',
  );
  const inactive = await addPerson(service, { active: false });
  assert.equal((await ask(client, { new_email: inactive.email, current_password: PASSWORD })).status, 202);
  await waitForEmptyOutbox(service);
  assert.deepEqual(mailsTo(service, inactive.email, 'email_change'), []);
});

test('an address that somebody takes before the confirmation is refused, and the link works when it is free again', async () => {
  const { id, email, client } = await signedIn();
  const to = newEmail('new');
  const token = await requestEmailChange(service, client, to);
  const rival = await addPerson(service, { email: to });
  assertRefused(await confirm(token), 409, 'email_taken');
  assert.equal(await emailOf(id), email);
  assert.equal(await isAccepted(service, client.accessToken ?? ''), true);
  await service.sql('delete from users where id = $1', [rival.id]);
  assert.equal((await confirm(token)).status, 200);
});

test('what is no other address is refused', async () => {
  const { email, client } = await signedIn();
  for (const new_email of ['nobody', 'a@b', `${email},b@example.com`])
    assertRefused(await ask(client, { new_email, current_password: PASSWORD }), 400, 'invalid_email');
  const same = await ask(client, { new_email: email.toUpperCase(), current_password: PASSWORD });
  assertRefused(same, 400, 'invalid_input');
  assert.deepEqual(
    same.body.errors.map(({ field, code }: Record<string, string>) => [field, code]),
    [['new_email', 'unchanged']],
  );
  assertRefused(await ask(client, { current_password: PASSWORD }), 400, 'invalid_input');
  assertRefused(await ask(visitor, { new_email: newEmail() }), 401, 'token_missing');
});

test('a link of another purpose, an expired one and none at all are refused alike', async () => {
  const { id, email, client } = await signedIn();
  const token = await requestEmailChange(service, client, newEmail('new'));
  const reset = await resetLink(service, email);
  for (const wrong of [NO_TOKEN, reset, ''])
    assertRefused(await confirm(wrong), 400, 'email_change_token_invalid');
  assertRefused(await visitor.post(paths.verify, { token }), 400, 'verification_token_invalid');
  assertRefused(await visitor.post(paths.undoEmail, { token }), 400, 'email_undo_token_invalid');
  await service.sql(`update one_time_tokens set expires_at = now() where user_id = $1`, [id]);
  const expired = await confirm(token);
  assertRefused(expired, 400, 'email_change_token_invalid');
  assert.deepEqual(
    (await eventsOf(service, await confirm(NO_TOKEN))).every(
      ({ action }) => action === 'verification_refused',
    ),
    true,
  );
});

test('the caller proves who they are: by the password, by a recent sign-in, or by a factor where there is one', async () => {
  const { id, client } = await signedIn();
  const new_email = newEmail('new');
  assert.equal((await ask(client, { new_email })).status, 202, 'the sign-in was a moment ago');
  await grow(id);
  const old = await ask(client, { new_email });
  assertRefused(old, 403, 'step_up_required');
  assert.equal(old.body.step_up.required_acr, 'aal1');
  assertRefused(await ask(client, { new_email, current_password: 'wrong' }), 400, 'wrong_current_password');
  assert.equal((await ask(client, { new_email, current_password: PASSWORD })).status, 202);
  const stepped = await client.post('/api/v1/auth/step-up', { password: PASSWORD });
  keepTokens(client, stepped);
  assert.equal((await ask(client, { new_email })).status, 202);
  const [refusal] = await service.sql<{ details: Record<string, unknown> }>(
    `select details from audit_logs where action = 'password_refused' and actor_id = $1`,
    [id],
  );
  assert.equal(refusal?.details.attempted, 'email_change_requested');

  const user = await addAppUser(service);
  await service.sql(`update session_tokens set auth_time = auth_time - interval '1 day' where user_id = $1`, [
    user.id,
  ]);
  for (const body of [{ new_email }, { new_email, current_password: PASSWORD }]) {
    const answer = await ask(user.client, body);
    assertRefused(answer, 403, 'step_up_required');
    assert.equal(answer.body.step_up.required_acr, 'aal2');
  }
  await forgetStep(service, user);
  keepTokens(user.client, await user.client.post('/api/v1/auth/step-up', { totp: codeOf(user.secret) }));
  assertRefused(
    await ask(user.client, { new_email, current_password: 'wrong' }),
    400,
    'wrong_current_password',
  );
  assert.equal((await ask(user.client, { new_email })).status, 202);
});

test('an account without a password has none to send, and proves itself by its sign-in', async () => {
  const { id, client } = await signedIn();
  await addIdentity(service, await addProvider(service), id);
  await service.sql('update users set password_hash = null where id = $1', [id]);
  const new_email = newEmail('new');
  assertRefused(await ask(client, { new_email, current_password: PASSWORD }), 400, 'no_password');
  assert.equal((await ask(client, { new_email })).status, 202);
  await grow(id);
  assertRefused(await ask(client, { new_email }), 403, 'step_up_required');
});

test('wrong passwords count for the lock of the account', async () => {
  const { client } = await signedIn();
  const wrong = { new_email: newEmail('new'), current_password: 'wrong' };
  for (let tried = 0; tried < 5; tried += 1)
    assertRefused(await ask(client, wrong), 400, 'wrong_current_password');
  assertRefused(await ask(client, { ...wrong, current_password: PASSWORD }), 422, 'account_locked');
});

test('the newest request counts, also where the mail of an earlier one is sent late', async () => {
  const { id, client } = await signedIn();
  const first = newEmail('first');
  const earlier = await requestEmailChange(service, client, first);
  const [late] = await service.sql<{ kind: string; payload: object }>(
    `select kind, payload from outbox where kind = 'email_change' and payload->>'change' in (
       select id::text from email_changes where user_id = $1)`,
    [id],
  );
  const newest = await requestEmailChange(service, client, newEmail('second'));
  assertRefused(await confirm(earlier), 400, 'email_change_token_invalid');
  await service.sql('insert into outbox (kind, payload) values ($1, $2)', [late?.kind, late?.payload]);
  service.service.deps.accountMail.wake();
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, first, 'email_change').length, 1, 'the late mail was dropped');
  assert.equal((await confirm(newest)).status, 200);
});

for (const [what, act] of Object.entries<(client: TestClient, id: string, email: string) => Promise<Answer>>({
  'a new password': (client) =>
    client.post(paths.changePassword, { current_password: PASSWORD, new_password: NEW_PASSWORD }),
  'signing out everywhere': (client) => client.post('/api/v1/auth/logout/all'),
  'a reset password': async (_client, _id, email) =>
    confirmReset(visitor, await resetLink(service, email), NEW_PASSWORD),
  'an administrator who ends the sessions': (_client, id) => admin.delete(`/api/v1/users/${id}/sessions`),
  'an administrator who sets the address': (_client, id) =>
    admin.put(`/api/v1/users/${id}`, { email: newEmail() }),
}))
  test(`${what} ends the request, with its link and with a mail that waits`, async () => {
    const { id, email, client } = await signedIn();
    const to = newEmail('new');
    const token = await requestEmailChange(service, client, to);
    const [row] = await service.sql<{ kind: string; payload: object }>(
      `select kind, payload from outbox where kind = 'email_change' and payload->>'change' in (
         select id::text from email_changes where user_id = $1)`,
      [id],
    );
    const answer = await act(client, id, email);
    assert.equal(answer.status, 200, answer.text);
    await service.sql('update users set email = $2 where id = $1', [id, email]);
    assertRefused(await confirm(token), 400, 'email_change_token_invalid');
    assert.equal((await check(token)).valid, false);
    await service.sql('insert into outbox (kind, payload) values ($1, $2)', [row?.kind, row?.payload]);
    service.service.deps.accountMail.wake();
    await waitForEmptyOutbox(service);
    assert.equal(mailsTo(service, to, 'email_change').length, 1);
  });

test('beyond ACCOUNT_EMAIL_LIMIT further requests of the account are refused, and a new address gets no further mail', async () => {
  const { client } = await signedIn();
  for (let asked = 0; asked < 4; asked += 1)
    assert.equal((await ask(client, { new_email: newEmail('new'), current_password: PASSWORD })).status, 202);
  const refused = await ask(client, { new_email: newEmail('new'), current_password: PASSWORD });
  assertRefused(refused, 429, 'rate_limited');
  assert.ok(Number(refused.headers.get('retry-after')) > 0);

  const wanted = newEmail('wanted');
  const answers: Answer[] = [];
  for (let asked = 0; asked < 5; asked += 1)
    answers.push(await ask((await signedIn()).client, { new_email: wanted, current_password: PASSWORD }));
  for (const answer of answers) assert.deepEqual([answer.status, answer.body], [202, answers[0]?.body]);
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, wanted, 'email_change').length, 4);
  const [last] = await eventsOf(service, answers.at(-1) ?? assert.fail());
  assert.equal(last?.details.outcome, 'limited');
});

test('a domain that requires a provider is neither left nor entered by a mail', async () => {
  await addProvider(service, { domains: ['required.example'], required_for_domains: true });
  const { requiredProviders } = service.service.deps;
  const [inside, outside] = [await signedIn(), await signedIn()];
  const entering = await requestEmailChange(service, outside.client, `late-${outside.id}@required.example`);
  await service.sql('update users set email = $2 where id = $1', [
    inside.id,
    `${inside.id}@required.example`,
  ]);
  await requiredProviders.load();
  for (const [client, new_email] of [
    [inside.client, newEmail()],
    [outside.client, 'ada@required.example'],
  ] as const)
    assertRefused(await ask(client, { new_email, current_password: PASSWORD }), 422, 'provider_required');
  assertRefused(await confirm(entering), 422, 'provider_required');
  assert.equal(await emailOf(outside.id), outside.email);
});

test('a mail that waits is about its account, also where another one has the address by then', async () => {
  const { id, email, client } = await signedIn();
  const to = newEmail('new');
  await requestEmailChange(service, client, to);
  const [row] = await service.sql<{ kind: string; payload: object }>(
    `select kind, payload from outbox where kind = 'email_change' and payload->>'change' in (
       select id::text from email_changes where user_id = $1)`,
    [id],
  );
  await service.sql('update users set email = $2 where id = $1', [id, newEmail()]);
  const victim = await addPerson(service, { email });
  await service.sql('insert into outbox (kind, payload) values ($1, $2)', [row?.kind, row?.payload]);
  service.service.deps.accountMail.wake();
  await waitForEmptyOutbox(service);
  assert.deepEqual(await service.sql('select from one_time_tokens where user_id = $1', [victim.id]), []);
  assert.equal(mailsTo(service, to, 'email_change').length, 1);
});
