// POST /auth/resend-verification-email: the answer is always the same; only an unverified account gets a mail.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { entryOf } from '@castellan/testing/accounts/audit-trail';
import {
  linkTo,
  mailsTo,
  paths,
  registerAccount,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import { createVerifiedUser, newEmail, startTestService } from '@castellan/testing/harness';
import { assertAnswered, assertFieldRefused, assertMessageOnly, assertRefused } from '../answers.ts';

const service = await startTestService({ after });
const resend = (email: unknown) => service.client().post(paths.resend, { email });

const unverified = await registerAccount(service);
const verified = await createVerifiedUser(service);
const inactive = await registerAccount(service);
await service.sql('update users set is_active = false where id = $1', [inactive.id]);
const unknown = newEmail('nobody');

test('unknown, verified, inactive and unverified emails get the same status, text and headers', async () => {
  const answers = [];
  for (const email of [unverified.email, verified.email, inactive.email, unknown])
    answers.push(await resend(email));
  const texts = new Set(answers.map(assertMessageOnly));
  assert.equal(texts.size, 1);
  const shapes = answers.map(({ headers }) => [...headers.keys()].sort().join());
  assert.equal(new Set(shapes).size, 1, shapes.join('\n'));
});

test('an unverified account gets a new link, which works', async () => {
  const account = await registerAccount(service);
  assertMessageOnly(await resend(account.email));
  const token = await linkTo(service, account.email, 'verification', 1);
  assertAnswered(await service.client().post(paths.verify, { token }));
});

test('every spelling of the email finds the stored one', async () => {
  const account = await registerAccount(service);
  assertMessageOnly(await resend(`  ${account.email.toUpperCase()} `));
  const token = await linkTo(service, account.email, 'verification', 1);
  assertAnswered(await service.client().post(paths.verify, { token }));
});

test('verified, inactive and unknown emails get no mail', async () => {
  const before = [verified.email, inactive.email].map(
    (email) => mailsTo(service, email, 'verification').length,
  );
  for (const email of [verified.email, inactive.email, unknown]) assertMessageOnly(await resend(email));
  await waitForEmptyOutbox(service);
  assert.deepEqual(
    [verified.email, inactive.email].map((email) => mailsTo(service, email, 'verification').length),
    before,
  );
  assert.deepEqual(
    service.mails().filter((mail) => mail.to === unknown),
    [],
  );
});

test('a request is in the audit log before the answer, with the account if there is one', async () => {
  for (const [email, outcome, resource] of [
    [unverified.email, 'queued', unverified.id],
    [verified.email, 'already_verified', verified.id],
    [unknown, 'no_account', ''],
  ] as const) {
    const answer = await resend(email);
    const entry = await entryOf(service, answer.headers, 'verification_email_sent');
    assert.equal(entry.actor_id, null);
    assert.equal(entry.resource_id, resource);
    assert.equal(entry.details.outcome, outcome);
    assert.equal(entry.details.email, email);
  }
});

for (const email of [
  '',
  'plain',
  'ada@',
  'ada@example',
  '<ada@example.com>',
  'a\u0000da@example.com',
  'x'.repeat(9_000),
])
  test(`${JSON.stringify(email.slice(0, 30))} (${email.length}) is 400: not an email`, async () => {
    const answer = await resend(email);
    assertRefused(answer, 400, email.includes('\0') ? 'invalid_text' : 'invalid_email');
  });

test('an email of a wrong type, or a missing one, is 422 and names the field', async () => {
  for (const email of [undefined, null, 7, [unverified.email]])
    assertFieldRefused(await resend(email), 422, 'validation_failed', 'email');
});

test('without a CSRF token it is 403 and no mail is sent', async () => {
  const account = await registerAccount(service);
  const answer = await service
    .client()
    .post(paths.resend, { email: account.email }, { headers: { 'x-csrf-token': null } });
  assertRefused(answer, 403, 'csrf_invalid');
  await waitForEmptyOutbox(service);
  assert.equal(mailsTo(service, account.email, 'verification').length, 1);
});
