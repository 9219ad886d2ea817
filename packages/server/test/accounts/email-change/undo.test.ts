// Undoing a change of an email address: what the link to the former address restores and ends, and that no further change, undo or
// registration of a hijacker takes it from the owner.
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
import type { Answer } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addIdentity, addProvider } from '@castellan/testing/openid/providers';
import { beginSecondStep, newAuthenticator, PASSKEY_URL, register } from '@castellan/testing/passkeys/own';
import { addAppUser, completeSignIn, enrol } from '@castellan/testing/second-factors/app';
import { isAccepted } from '@castellan/testing/sessions/accounts';
import { addPerson, eventsOf } from '@castellan/testing/users/people';

const service = await startTestService(
  { after },
  { PUBLIC_URL: PASSKEY_URL, ACCOUNT_EMAIL_LIMIT: 'off', SELF_DELETION_DAYS: '0' },
);
const admin = await signIn(service, ADMIN);
const visitor = service.client();
const [NEW_PASSWORD] = strongPasswords;

const undo = (token: string): Promise<Answer> => visitor.post(paths.undoEmail, { token });
const emailOf = async (id: string): Promise<string | undefined> =>
  (await service.sql<{ email: string }>('select email from users where id = $1', [id]))[0]?.email;

async function signedIn() {
  const person = await addPerson(service);
  return { ...person, client: await signIn(service, person) };
}

/** An account whose address somebody else has changed. */
async function hijacked() {
  const person = await signedIn();
  const theirs = newEmail('theirs');
  return { ...person, theirs, token: await changeEmail(service, person.client, person.email, theirs) };
}

test('the former address is back, everybody is signed out, and a mail leads to a new password', async () => {
  const { id, email, theirs, client, token } = await hijacked();
  const reset = await resetLink(service, theirs);
  const answer = await undo(token);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.headers.get('set-cookie'), null);
  assert.equal(await emailOf(id), email);
  assert.equal(await isAccepted(service, client.accessToken ?? ''), false);
  assertRefused(await confirmReset(visitor, reset, NEW_PASSWORD), 400, 'reset_token_invalid');
  for (const address of [email, theirs])
    assertRefused(
      await visitor.post('/api/v1/auth/login', { email: address, password: PASSWORD }),
      422,
      'invalid_credentials',
    );
  const [event] = await eventsOf(service, answer);
  assert.deepEqual(
    [
      event?.action,
      event?.actor_id,
      event?.details.before,
      event?.details.after,
      event?.details.sessions_ended,
    ],
    ['email_change_reverted', id, { email: theirs }, { email }, 1],
  );
  const own = await linkTo(service, email, 'password_reset');
  assert.equal((await confirmReset(visitor, own, NEW_PASSWORD)).status, 200);
  await signIn(service, { email, password: NEW_PASSWORD });
  assertRefused(await undo(token), 400, 'email_undo_token_invalid');
});

test('factors, identities and devices that came since the request go, and older ones stay', async () => {
  const user = await addAppUser(service);
  const provider = await addProvider(service);
  const own = await addIdentity(service, provider, user.id);
  const token = await changeEmail(service, user.client, user.email, newEmail('theirs'));
  await register(user.client, newAuthenticator());
  await addIdentity(service, await addProvider(service), user.id);
  await service.sql(
    `insert into devices (id, user_id, token_hash, network, user_agent)
     values (gen_random_uuid(), $1, sha256('device'), '', '')`,
    [user.id],
  );
  const waiting = service.client();
  const pending = await beginSecondStep(waiting, {
    ...user,
    email: (await emailOf(user.id)) ?? '',
  });
  const answer = await undo(token);
  assert.equal(answer.status, 200, answer.text);
  const [event] = await eventsOf(service, answer);
  const { devices, ...removed } = (event ?? assert.fail()).details.removed as Record<string, unknown>;
  assert.deepEqual(removed, { totp: false, passkeys: 1, recovery_codes: 0, identities: 1 });
  assert.ok(Number(devices) >= 1);
  assertRefused(
    await completeSignIn(waiting, pending.token, { recovery_code: user.recoveryCodes[0] }),
    422,
    'sign_in_expired',
  );
  assert.deepEqual(await service.sql('select id from identities where user_id = $1', [user.id]), [
    { id: own.id },
  ]);
  assert.equal((await service.sql('select from totp_factors where user_id = $1', [user.id])).length, 1);
  assert.equal((await service.sql('select from recovery_codes where user_id = $1', [user.id])).length, 10);
});

test('an account whose first factor came since the request has none afterwards', async () => {
  const { id, email, client } = await signedIn();
  const theirs = newEmail('theirs');
  const token = await changeEmail(service, client, email, theirs);
  await enrol(client);
  assert.equal((await undo(token)).status, 200);
  for (const table of ['totp_factors', 'passkeys', 'recovery_codes', 'totp_enrolments', 'pending_sign_ins'])
    assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [id]), [], table);
  const own = await linkTo(service, email, 'password_reset');
  await confirmReset(visitor, own, NEW_PASSWORD);
  await signIn(service, { email, password: NEW_PASSWORD });
});

test('the oldest link restores its address after any further change, and ends the links of those', async () => {
  const { id, email, client, theirs, token } = await hijacked();
  const third = newEmail('third');
  const later = await changeEmail(service, client, theirs, third);
  assert.equal((await undo(token)).status, 200);
  assert.equal(await emailOf(id), email);
  assertRefused(await undo(later), 400, 'email_undo_token_invalid');
  assert.deepEqual(await service.sql('select from email_changes where user_id = $1', [id]), []);
});

test('an undo of a later change does not end the link of an earlier one', async () => {
  const { id, email, client, theirs, token } = await hijacked();
  const later = await changeEmail(service, client, theirs, newEmail('third'));
  assert.equal((await undo(later)).status, 200);
  assert.equal(await emailOf(id), theirs);
  assert.equal((await undo(token)).status, 200, 'the owner still gets the account back');
  assert.equal(await emailOf(id), email);
});

const leave = ({ client }: Pick<Awaited<ReturnType<typeof hijacked>>, 'client'>) =>
  client.delete(paths.me, { current_password: PASSWORD });

test('an account that was deleted since stays as long as the link works, and the undo keeps it', async () => {
  const account = await hijacked();
  const left = await leave(account);
  assert.equal(left.status, 202, left.text);
  const [link] = await service.sql<{ expires_at: Date }>(
    "select expires_at from one_time_tokens where user_id = $1 and purpose = 'revert_email'",
    [account.id],
  );
  assert.ok(link && Date.parse(left.body.data.deletion_due_at) >= link.expires_at.getTime());
  const keeping = await linkTo(service, account.theirs, 'deletion_planned');
  const answer = await undo(account.token);
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(
    await service.sql('select email, is_active, deletion_due_at from users where id = $1', [account.id]),
    [{ email: account.email, is_active: true, deletion_due_at: null }],
  );
  assert.deepEqual((await eventsOf(service, answer)).map(({ action }) => action).sort(), [
    'email_change_reverted',
    'self_deletion_undone',
  ]);
  assertRefused(await visitor.post(paths.undoDeletion, { token: keeping }), 400, 'undo_token_invalid');
  const own = await linkTo(service, account.email, 'password_reset');
  assert.equal((await confirmReset(visitor, own, NEW_PASSWORD)).status, 200);
  await signIn(service, { email: account.email, password: NEW_PASSWORD });
});

test('the mail to the former address comes although the account was deleted before it was sent', async () => {
  const account = await hijacked();
  const [row] = await service.sql<{ kind: string; payload: object }>(
    `select kind, payload from outbox where kind = 'email_changed' and payload->>'change' in (
       select id::text from email_changes where user_id = $1)`,
    [account.id],
  );
  assert.equal((await leave(account)).status, 202);
  await service.sql('insert into outbox (kind, payload) values ($1, $2)', [row?.kind, row?.payload]);
  service.service.deps.accountMail.wake();
  const late = await linkTo(service, account.email, 'email_changed', 1);
  assert.equal((await undo(late)).status, 200);
  assert.equal(await emailOf(account.id), account.email);
});

test('an account that an administrator deactivated stays so, and its link ends', async () => {
  const account = await hijacked();
  assert.equal((await leave(account)).status, 202);
  assert.equal((await admin.put(`/api/v1/users/${account.id}`, { is_active: false })).status, 200);
  assertRefused(await undo(account.token), 400, 'email_undo_token_invalid');
  assert.deepEqual(
    await service.sql('select is_active, deletion_due_at from users where id = $1', [account.id]),
    [{ is_active: false, deletion_due_at: null }],
  );
});

test('a request under way ends with the undo, also where its mail is sent late', async () => {
  const { id, client, token } = await hijacked();
  const next = newEmail('next');
  const pending = await requestEmailChange(service, client, next);
  const [row] = await service.sql<{ kind: string; payload: object }>(
    `select kind, payload from outbox where kind = 'email_change' and payload->>'change' in (
       select id::text from email_changes where user_id = $1 and confirmed_at is null)`,
    [id],
  );
  assert.equal((await undo(token)).status, 200);
  assertRefused(
    await visitor.post(paths.confirmEmail, { token: pending }),
    400,
    'email_change_token_invalid',
  );
  await service.sql('insert into outbox (kind, payload) values ($1, $2)', [row?.kind, row?.payload]);
  service.service.deps.accountMail.wake();
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, next, 'email_change').length, 1);
});

test('what a hijacker does to the account does not end the link', async () => {
  for (const act of [
    async ({ client }: Awaited<ReturnType<typeof hijacked>>) =>
      client.post(paths.changePassword, { current_password: PASSWORD, new_password: NEW_PASSWORD }),
    async ({ theirs }: Awaited<ReturnType<typeof hijacked>>) =>
      confirmReset(visitor, await resetLink(service, theirs), NEW_PASSWORD),
    async ({ client }: Awaited<ReturnType<typeof hijacked>>) => client.post('/api/v1/auth/logout/all'),
    async (account: Awaited<ReturnType<typeof hijacked>>) => {
      assert.equal((await leave(account)).status, 202);
      const token = await linkTo(service, account.theirs, 'deletion_planned');
      return visitor.post(paths.undoDeletion, { token });
    },
  ]) {
    const account = await hijacked();
    const done = await act(account);
    assert.equal(done.status, 200, done.text);
    assert.equal((await undo(account.token)).status, 200);
    assert.equal(await emailOf(account.id), account.email);
    assertRefused(
      await visitor.post('/api/v1/auth/login', { email: account.email, password: NEW_PASSWORD }),
      422,
      'invalid_credentials',
    );
  }
});

test('a change of the address by an administrator ends the link, also of a mail that waits', async () => {
  const { id, email, token } = await hijacked();
  const [row] = await service.sql<{ kind: string; payload: object }>(
    `select kind, payload from outbox where kind = 'email_changed' and payload->>'change' in (
       select id::text from email_changes where user_id = $1)`,
    [id],
  );
  const set = newEmail('set');
  assert.equal((await admin.put(`/api/v1/users/${id}`, { email: set })).status, 200);
  assertRefused(await undo(token), 400, 'email_undo_token_invalid');
  await service.sql('insert into outbox (kind, payload) values ($1, $2)', [row?.kind, row?.payload]);
  service.service.deps.accountMail.wake();
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, email, 'email_changed').length, 1);
  assert.equal(await emailOf(id), set);
});

test('an address that another account has taken is refused, and an unverified registration gives way', async () => {
  const { id, email, token } = await hijacked();
  const rival = await addPerson(service, { email });
  assertRefused(await undo(token), 409, 'email_taken');
  await service.sql('delete from users where id = $1', [rival.id]);
  const registered = await visitor.post(paths.register, {
    email,
    password: NEW_PASSWORD,
    first_name: 'Mallory',
    last_name: '',
  });
  assert.equal(registered.status, 201, registered.text);
  const answer = await undo(token);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(await emailOf(id), email);
  assert.equal(await emailOf(registered.body.data.id), undefined);
  const events = await eventsOf(service, answer);
  assert.deepEqual(
    events.map(({ action }) => action),
    ['registration_declined', 'email_change_reverted'],
  );
});

test('the link ends after seven days, and with the account', async () => {
  const { id, token } = await hijacked();
  const [row] = await service.sql<{ days: number }>(
    `select extract(epoch from expires_at - created_at)::float8 / 86400 as days from one_time_tokens
     where user_id = $1 and purpose = 'revert_email'`,
    [id],
  );
  assert.equal(row?.days, 7);
  await service.sql(`update users set is_active = false where id = $1`, [id]);
  assertRefused(await undo(token), 400, 'email_undo_token_invalid');
  await service.sql(`update users set is_active = true where id = $1`, [id]);
  await service.sql(`update one_time_tokens set expires_at = now() where user_id = $1`, [id]);
  assertRefused(await undo(token), 400, 'email_undo_token_invalid');
});

test('where the domain requires a provider, the undo sends no reset mail', async () => {
  const person = await signedIn();
  const email = `${person.id}@company.example`;
  await service.sql('update users set email = $2 where id = $1', [person.id, email]);
  const token = await changeEmail(service, person.client, email, newEmail('theirs'));
  await addProvider(service, { domains: ['company.example'], required_for_domains: true });
  await service.service.deps.requiredProviders.load();
  assert.equal((await undo(token)).status, 200);
  await waitForEmptyOutbox(service);
  assert.deepEqual(mailsTo(service, email, 'password_reset'), []);
});
