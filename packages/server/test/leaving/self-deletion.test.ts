// DELETE /users/me and the link that undoes it: what ends at once, what comes back, and what removes the account.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  atOnce,
  linkTo,
  mailsTo,
  paths,
  tally,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import {
  ADMIN,
  PASSWORD,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import {
  addPerson,
  addRole,
  eventsOf,
  isSignedIn,
  type Person,
  signedInWith,
} from '@castellan/testing/users/people';
import { settleRestored } from '../../src/modules/backup/after-restore.ts';
import { removeDueAccounts } from '../../src/modules/leaving/due-deletions.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';

const service = await startTestService({ after }, { SELF_DELETION_DAYS: '14', RATE_LIMIT_LINK_CHECK: 'off' });
const admin = await signIn(service, ADMIN);
const visitor = service.client();
const NO_TOKEN = 'x'.repeat(43);

const leave = (client: TestClient, password = PASSWORD) =>
  client.delete(paths.me, { current_password: password });
const undo = (token: string, client = service.client()) => client.post(paths.undoDeletion, { token });
const isValid = async (token: string): Promise<boolean> =>
  (await visitor.post(paths.check, { purpose: 'undo_deletion', token })).body.data.valid;
const update = (id: string, body: Record<string, unknown>) => admin.put(`/api/v1/users/${id}`, body);
const stateOf = async (id: string) =>
  (
    await service.sql<{ is_active: boolean; deletion_due_at: Date | null }>(
      'select is_active, deletion_due_at from users where id = $1',
      [id],
    )
  )[0];
const makeDue = (id: string) =>
  service.sql("update users set deletion_due_at = now() - interval '1 minute' where id = $1", [id]);
const runJob = (of: TestService = service) => removeDueAccounts(of.service.deps);

/** Somebody who has deleted their account, with the token of the mail. */
async function leaving(state: Parameters<typeof addPerson>[1] = {}): Promise<Person & { token: string }> {
  const person = await addPerson(service, state);
  const answer = await leave(await signIn(service, person));
  assert.equal(answer.status, 202, answer.text);
  return { ...person, token: await linkTo(service, person.email, 'deletion_planned') };
}

test('the account ends at once, is due in SELF_DELETION_DAYS, and its owner gets a mail', async () => {
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [role] });
  const browser = await signIn(service, person);
  const other = await signIn(service, person);
  await visitor.post(paths.requestReset, { email: person.email });
  const reset = await linkTo(service, person.email, 'password_reset');
  const answer = await leave(browser);
  assert.equal(answer.status, 202, answer.text);
  const due = Date.parse(answer.body.data.deletion_due_at);
  assert.ok(Math.abs(due - Date.now() - 14 * 86_400_000) < 60_000);
  assert.match(answer.headers.get('set-cookie') ?? '', /refresh_token=;/);
  for (const client of [browser, other]) assert.equal(await isSignedIn(client), false);
  assertRefused(await visitor.login(person), 422, 'invalid_credentials');
  assertRefused(
    await visitor.post(paths.confirmReset, { token: reset, new_password: 'Marble?Tundra61Fox' }),
    400,
    'reset_token_invalid',
  );
  const events = await eventsOf(service, answer);
  assert.deepEqual(
    events.map((event) => [event.action, event.actor_id, event.resource_id, event.details.sessions_ended]),
    [['self_deletion_requested', person.id, person.id, 2]],
  );
  const token = await linkTo(service, person.email, 'deletion_planned');
  assert.doesNotMatch(JSON.stringify(events), new RegExp(token));
  const [mail] = mailsTo(service, person.email, 'deletion_planned');
  assert.match(mail?.text ?? '', new RegExp(`removed on .*${new Date(due).getUTCFullYear()}`));
  const shown = (await admin.get(`/api/v1/users/${person.id}`)).body.data;
  assert.deepEqual([shown.is_active, Date.parse(shown.deletion_due_at)], [false, due]);
});

test('the link brings the account back once, with its roles and without a session', async () => {
  const role = await addRole(service, 'role.read');
  const { token, ...person } = await leaving({ roles: [role] });
  assert.ok(await isValid(token));
  const client = service.client();
  const undone = await undo(token, client);
  assert.equal(undone.status, 200, undone.text);
  assert.doesNotMatch(undone.headers.get('set-cookie') ?? '', /refresh_token/);
  assert.deepEqual(
    (await eventsOf(service, undone)).map((event) => [event.action, event.actor_id]),
    [['self_deletion_undone', person.id]],
  );
  assertRefused(await undo(token), 400, 'undo_token_invalid');
  assert.equal(await isValid(token), false);
  const back = await signIn(service, person);
  const me = (await back.get(paths.me)).body.data;
  assert.deepEqual([me.deletion_due_at, me.permissions], [null, ['role.read']]);
  await makeDue(person.id).then(() => runJob());
  assert.equal(await isSignedIn(back), true, 'an active account is never due');
  assertRefused(await undo(NO_TOKEN), 400, 'undo_token_invalid');
});

test('a link of another purpose undoes nothing, and that of a deletion does nothing else', async () => {
  const { token, email } = await leaving();
  const [password] = ['Marble?Tundra61Fox'];
  assertRefused(await visitor.post(paths.verify, { token }), 400, 'verification_token_invalid');
  assertRefused(
    await visitor.post(paths.confirmReset, { token, new_password: password }),
    400,
    'reset_token_invalid',
  );
  assertRefused(
    await visitor.post(paths.acceptInvitation, { token, password }),
    400,
    'invitation_token_invalid',
  );
  await visitor.post(paths.requestReset, { email });
  await visitor.post(paths.resend, { email });
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, email, 'password_reset').length, 0, 'nobody gets a link to such an account');
  assert.ok(await isValid(token), 'the link stays usable');
});

test('the wrong password, none, and a session that ended change nothing', async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  assertRefused(await leave(browser, 'Wrong?Tundra61Fox'), 400, 'wrong_current_password');
  for (const body of [{}, { current_password: 1 }]) {
    const answer = await browser.delete(paths.me, body);
    assertRefused(answer, 400, 'invalid_input');
    assert.equal(answer.body.errors[0].field, 'current_password');
  }
  const noToken = service.client();
  assert.equal((await noToken.delete(paths.me, { current_password: PASSWORD })).status, 401);
  assert.equal(await isSignedIn(browser), true);
  const wrong = await service.sql(
    `select from audit_logs where action = 'password_refused' and actor_id = $1
       and details ->> 'attempted' = 'self_deletion_requested'`,
    [person.id],
  );
  assert.equal(wrong.length, 1);
});

test('an account without a password needs a fresh proof', async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  await service.sql('update users set password_hash = null where id = $1', [person.id]);
  await service.sql("update session_tokens set auth_time = now() - interval '1 hour' where user_id = $1", [
    person.id,
  ]);
  await service.sql("update sessions set created_at = now() - interval '1 hour' where user_id = $1", [
    person.id,
  ]);
  assertRefused(await browser.delete(paths.me, {}), 403, 'step_up_required');
  await service.sql('update sessions set created_at = now() where user_id = $1', [person.id]);
  await service.sql('update session_tokens set auth_time = now() where user_id = $1', [person.id]);
  const answer = await browser.delete(paths.me, {});
  assert.equal(answer.status, 202, answer.text);
});

test('a user who must change their password cannot', async () => {
  const person = await addPerson(service);
  const browser = await signIn(service, person);
  await service.sql('update users set must_change_password = true where id = $1', [person.id]);
  assertRefused(await leave(browser), 403, 'password_change_required');
});

test('an administrator who activates the account ends the plan, and with it the link', async () => {
  const { id, token } = await leaving();
  const answer = await update(id, { is_active: true });
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual([answer.body.data.is_active, answer.body.data.deletion_due_at], [true, null]);
  const [event] = await eventsOf(service, answer);
  assert.deepEqual(event?.details.after, { is_active: true, deletion_due_at: null });
  assertRefused(await undo(token), 400, 'undo_token_invalid');
  await makeDue(id).then(() => runJob());
  assert.equal((await stateOf(id))?.is_active, true);
});

test('an account that an administrator deactivates stays so: nobody undoes it, and no job removes it', async () => {
  const { id, token } = await leaving();
  const answer = await update(id, { is_active: false });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.body.data.deletion_due_at, null);
  const [event] = await eventsOf(service, answer);
  assert.equal(event?.action, 'user_updated');
  assert.deepEqual(Object.keys(event?.details.after ?? {}), ['deletion_due_at']);
  assertRefused(await undo(token), 400, 'undo_token_invalid');
  await runJob();
  assert.deepEqual(await stateOf(id), { is_active: false, deletion_due_at: null });
});

test('what an administrator does to the access of the account ends the link, and the plan goes on', async () => {
  const acts: [string, (id: string) => Promise<{ status: number }>][] = [
    ['email', (id) => update(id, { email: `moved-${id}@example.com` })],
    ['verified', (id) => update(id, { verified: false })],
    ['password', (id) => update(id, { password: 'Copper+Violin95Moss' })],
    ['sessions', (id) => admin.delete(`/api/v1/users/${id}/sessions`)],
  ];
  for (const [name, act] of acts) {
    const { id, token } = await leaving();
    assert.equal((await act(id)).status, 200, name);
    assertRefused(await undo(token), 400, 'undo_token_invalid');
    const state = await stateOf(id);
    assert.deepEqual([state?.is_active, state?.deletion_due_at !== null], [false, true], name);
  }
  const { id, token } = await leaving();
  assert.equal((await update(id, { first_name: 'Grace' })).status, 200);
  assert.ok(await isValid(token), 'a name is no access');
});

test('the job removes the account with its roles; what it did and made stays without its name', async () => {
  const { client, person } = await signedInWith(service, 'role.create', 'role.read');
  const role = await client.post('/api/v1/roles', { name: `Made by ${person.id}` });
  assert.equal((await leave(client)).status, 202);
  const token = await linkTo(service, person.email, 'deletion_planned');
  await runJob();
  assert.ok(await stateOf(person.id), 'it is not due yet');
  await makeDue(person.id);
  assert.ok(await isValid(token), 'until the job, also after the account is due');
  assert.ok((await runJob()) >= 1);
  assert.equal(await stateOf(person.id), undefined);
  assertRefused(await undo(token), 400, 'undo_token_invalid');
  const made = await admin.get(`/api/v1/roles/${role.body.data.id}`);
  assert.deepEqual([made.status, made.body.data.created_by_id], [200, null]);
  const [deleted] = await service.sql<{ actor_id: string | null; reason: string }>(
    "select actor_id, details ->> 'reason' as reason from audit_logs where action = 'user_deleted' and resource_id = $1",
    [person.id],
  );
  assert.deepEqual(deleted, { actor_id: null, reason: 'self_deletion' });
  const own = await service.sql('select from audit_logs where actor_id = $1', [person.id]);
  assert.ok(own.length > 1, 'entries keep the id of the actor');
});

test('of 20 uses of one link, one undoes', async () => {
  const { token } = await leaving();
  assert.deepEqual(tally(await atOnce(service, 20, (client) => undo(token, client))), { 200: 1, 400: 19 });
});

test('when a due account is kept and removed at once, it is either there and active, or gone', async () => {
  for (let round = 0; round < 8; round += 1) {
    const { id, token } = await leaving();
    await makeDue(id);
    const client = service.client();
    await client.post('/api/v1/auth/verify-email', { token: 'none' });
    const [answer] = await Promise.all([undo(token, client), runJob(), runJob()]);
    const state = await stateOf(id);
    if (answer.status === 200) assert.equal(state?.is_active, true);
    else {
      assertRefused(answer, 400, 'undo_token_invalid');
      assert.equal(state, undefined);
    }
  }
});

test('of two superusers who leave at once, the last one stays', async () => {
  const own = await startTestService({ after }, { SELF_DELETION_DAYS: '0' });
  const people = [await addPerson(own, { superuser: true }), await addPerson(own, { superuser: true })];
  await own.sql('update users set is_superuser = false where email = $1', [ADMIN.email]);
  const clients = await Promise.all(people.map((person) => signIn(own, person)));
  const answers = await Promise.all(clients.map((client) => leave(client)));
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409]);
  assertRefused(answers.find(({ status }) => status === 409) ?? assert.fail(), 409, 'last_superuser');
  const left = await own.sql('select from users where is_superuser and is_active');
  assert.equal(left.length, 1);
  const [gone] = people.filter((_, index) => answers[index]?.status === 202);
  assert.ok(gone);
  const token = await linkTo(own, gone.email, 'deletion_planned');
  assert.equal(
    (await own.client().post(paths.undoDeletion, { token })).status,
    200,
    'with 0 days, the link works until the next job',
  );
  assert.equal(await runJob(own), 0);
});

test('without SELF_DELETION_DAYS it is 403, before the body is judged', async () => {
  const off = await startTestService({ after });
  const person = await addPerson(off);
  const browser = await signIn(off, person);
  assertRefused(await browser.delete(paths.me, { current_password: 1 }), 403, 'self_deletion_off');
  assertRefused(await leave(browser), 403, 'self_deletion_off');
  assert.equal(await isSignedIn(browser), true);
});

test('a restore that ends links removes nobody for seven days, and changes no later plan', async () => {
  const restored = await startTestService({ after }, { SELF_DELETION_DAYS: '14' });
  const [due, later, active] = [
    await addPerson(restored),
    await addPerson(restored),
    await addPerson(restored),
  ];
  const plan = (id: string, when: string) =>
    restored.sql(`update users set is_active = false, deletion_due_at = now() ${when} where id = $1`, [id]);
  await plan(due.id, "- interval '1 hour'");
  await plan(later.id, "+ interval '14 days'");
  const { db, log } = restored.service.deps;
  const restore = (sessions: 'end' | { secretKey: Buffer }) =>
    inTransaction(db, (tx) =>
      settleRestored(tx, log, { sessions, revokeApiKeys: false }, new Date().toISOString()),
    );
  assert.equal((await restore('end')).plannedDeletions, 2);
  assert.equal(await runJob(restored), 0);
  const days = await restored.sql<{ id: string; days: number | null }>(
    `select id, round(extract(epoch from deletion_due_at - now()) / 86400)::integer as days from users where id = any($1::uuid[])`,
    [[due.id, later.id, active.id]],
  );
  const daysOf = new Map(days.map((one) => [one.id, one.days]));
  assert.deepEqual(
    [due, later, active].map(({ id }) => daysOf.get(id)),
    [7, 14, null],
  );
  await plan(due.id, "- interval '1 hour'");
  assert.equal((await restore({ secretKey: Buffer.from(TEST_SECRET_KEY) })).plannedDeletions, 0);
  assert.equal(await runJob(restored), 1);
});
