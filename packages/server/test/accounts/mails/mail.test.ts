// The mails about an account: their text, recipients and links, and what happens while the mail server is unavailable.
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { entriesAbout } from '@castellan/testing/accounts/audit-trail';
import {
  mailsTo,
  paths,
  registerAccount,
  registration,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import {
  ADMIN,
  createVerifiedUser,
  eventually,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { type SmtpSink, startSmtpSink } from '@castellan/testing/smtp-sink';
import { greetableName } from '../../../src/modules/auth/mails/greetable-name.ts';
import { assertAnswered, assertMessageOnly, assertRefused } from '../answers.ts';

const PUBLIC_URL = 'https://id.example.org/castellan';
const service = await startTestService({ after }, { PUBLIC_URL, ACCOUNT_LOCKOUT_ATTEMPTS: '2' });
const linkPattern = /https?:\/\/\S+/g;

test('the verification mail repeats nothing that was registered, and has one link, under PUBLIC_URL, with the token in its fragment', async () => {
  const { email, token } = await registerAccount(service, { first_name: "Zoë O'Brien" });
  const [mail] = mailsTo(service, email, 'verification');
  assert.equal(mail!.subject, 'Confirm your email address for Castellan');
  assert.match(mail!.text, /^From: Castellan <no-reply@localhost>$/m);
  assert.ok(mail!.text.includes(`with the email address ${email}.`));
  assert.match(mail!.text, /say that it was not you/);
  assert.match(mail!.text, /^Hello,$/m);
  assert.doesNotMatch(mail!.text, /Zoë|O'Brien/);
  assert.match(mail!.text, /24 hours/);
  assert.deepEqual(mail!.text.match(linkPattern), [`${PUBLIC_URL}/verify-email#token=${token}`]);
  assert.ok(Buffer.from(token, 'base64url').length >= 32, '256 random bits');
});

test('the reset mail has one link, under PUBLIC_URL, with the token in its fragment', async () => {
  const { email } = await createVerifiedUser(service);
  assertMessageOnly(await service.client().post(paths.requestReset, { email }));
  const mail = await eventually(() => mailsTo(service, email, 'password_reset')[0], 'the reset mail');
  assert.equal(mail.subject, 'Set a new password for Castellan');
  assert.match(mail.text, /^Hello Ada,$/m);
  assert.ok(mail.text.includes(`account ${email}.`));
  assert.match(mail.text, /30 minutes/);
  assert.deepEqual(mail.text.match(linkPattern), [`${PUBLIC_URL}/reset#token=${mail.token}`]);
});

test('a mail greets by no name that looks like an address, in no language and with neither name', async () => {
  const { email } = await createVerifiedUser(service);
  await service.sql(
    "update users set first_name = 'www．evil.example', last_name = 'https://evil.example', language = 'de' where email = $1",
    [email],
  );
  assertMessageOnly(await service.client().post(paths.requestReset, { email }));
  const mail = await eventually(() => mailsTo(service, email, 'password_reset')[0], 'the reset mail');
  assert.match(mail.text, /^Guten Tag,$/m);
  assert.doesNotMatch(mail.text, /evil/);
  for (const name of [
    'evil.example',
    'Win at evil.co now',
    'ada@evil.example',
    'a:b',
    'evil/path',
    'evil\\path',
    'evil．example',
    'evil。example',
    'evil｡example',
    'evil.\u00adexample',
    'evil․example',
    'ｅｖｉｌ：８０',
    '192.0.2.1',
    'evil.рф',
  ])
    assert.equal(greetableName(name), '', name);
  for (const name of [
    'Ada',
    'J.R.',
    'J. R.',
    'Martin Luther jr.',
    "O'Brien",
    'Zoë-Ann',
    '李',
    'Wednesday 2.',
  ])
    assert.equal(greetableName(name), name);
});

test('no request header can change the host of a link', async () => {
  const email = newEmail();
  const headers = {
    host: 'evil.example',
    'x-forwarded-host': 'evil.example',
    'x-forwarded-proto': 'http',
    forwarded: 'host=evil.example',
    origin: 'https://evil.example',
    referer: 'https://evil.example/',
  };
  assertAnswered(await service.client().post(paths.register, registration({ email }), { headers }), 201);
  const mail = await eventually(() => mailsTo(service, email, 'verification')[0], 'the mail');
  assert.ok(mail.text.includes(`${PUBLIC_URL}/verify-email#token=`));
  assert.doesNotMatch(mail.text, /evil/);
});

test('a lock is reported to the owner by one mail without a token; an email without an account gets none', async () => {
  const user = await createVerifiedUser(service);
  const stranger = newEmail('nobody');
  const inactive = await createVerifiedUser(service);
  await service.sql('update users set is_active = false where id = $1', [inactive.id]);
  for (const email of [user.email, stranger, inactive.email]) {
    for (let attempt = 0; attempt < 2; attempt += 1)
      await service.client().login({ email, password: 'Wrong#Quartz82Lime' });
    for (let attempt = 0; attempt < 3; attempt += 1)
      assertRefused(await service.client().login({ email, password: PASSWORD }), 422, 'account_locked');
  }
  const locks = (await entriesAbout(service, user.email)).filter(
    (entry) => entry.action === 'account_locked',
  );
  assert.equal(locks.length, 1);
  assert.equal(locks[0]!.resource_id, user.id);
  await waitForEmptyOutbox(service);
  const [mail, ...more] = mailsTo(service, user.email, 'account_locked');
  assert.equal(more.length, 0);
  assert.match(mail!.subject, /locked/);
  assert.match(mail!.text, /15 minutes/);
  assert.deepEqual(mail!.text.match(linkPattern), [`${PUBLIC_URL}/forgot`]);
  for (const email of [stranger, inactive.email])
    assert.deepEqual(mailsTo(service, email, 'account_locked'), []);
});

test('configured links, names and texts replace the defaults', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'castellan-mails-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, 'password-reset.subject.txt'), 'Neues Kennwort für {{email}}');
  const own = await startTestService(t, {
    SERVICE_NAME: 'Acme Accounts',
    APP_URL: 'https://app.example.com',
    VERIFY_URL: 'https://app.example.com/confirm/{token}?lang=de',
    RESET_URL: 'com.example.app:/reset#token={token}',
    INVITE_URL: 'https://app.example.com/welcome?token={token}',
    INVITATION_EXPIRE_HOURS: '5',
    CHANGE_EMAIL_URL: 'https://app.example.com/new-address?token={token}',
    UNDO_EMAIL_URL: 'https://app.example.com/undo/{token}',
    FORGOT_URL: 'https://app.example.com/forgot-password',
    MAIL_TEMPLATES_DIR: folder,
    ACCOUNT_LOCKOUT_ATTEMPTS: '1',
  });
  const email = newEmail();
  assertAnswered(await own.client().post(paths.register, registration({ email })), 201);
  const confirm = await own.mailTo(email);
  assert.match(confirm.text, /^From: Acme Accounts <no-reply@localhost>$/m);
  assert.equal(confirm.subject, 'Confirm your email address for Acme Accounts');
  const token = /^https:\/\/app\.example\.com\/confirm\/([\w-]{43})\?lang=de$/m.exec(confirm.text)?.[1];
  assert.match(confirm.text, /^Acme Accounts: https:\/\/app\.example\.com\/$/m);
  assertAnswered(await own.client().post(paths.verify, { token }));

  assertMessageOnly(await own.client().post(paths.requestReset, { email }));
  const reset = await own.mailTo(email, 1);
  assert.equal(reset.subject, `Neues Kennwort für ${email}`);
  assert.match(reset.text, /^com\.example\.app:\/reset#token=[\w-]{43}$/m);

  const admin = await signIn(own, ADMIN);
  const invited = newEmail('invited');
  assertAnswered(await admin.post('/api/v1/users/invitations', { email: invited }), 201);
  const invitation = await own.mailTo(invited);
  assert.equal(invitation.subject, 'Your invitation to Acme Accounts');
  assert.match(invitation.text, /^https:\/\/app\.example\.com\/welcome\?token=[\w-]{43}$/m);
  assert.match(invitation.text, /works once, for 5 hours/);

  const to = newEmail('new');
  assert.equal((await admin.post(paths.changeEmail, { new_email: to })).status, 202);
  const change = await own.mailTo(to);
  const changing = /^https:\/\/app\.example\.com\/new-address\?token=([\w-]{43})$/m.exec(change.text)?.[1];
  assertMessageOnly(await own.client().post(paths.confirmEmail, { token: changing }));
  const changed = await eventually(() => mailsTo(own, ADMIN.email, 'email_changed')[0], 'the undo mail');
  assert.match(changed.text, /^https:\/\/app\.example\.com\/undo\/[\w-]{43}$/m);

  await own.client().login({ email, password: 'Wrong#Quartz82Lime' });
  const locked = await own.mailTo(email, 2);
  assert.match(locked.text, /^https:\/\/app\.example\.com\/forgot-password$/m);
});

/** Makes pending retries due, which wait by the database's clock. */
const retryNow = (on: TestService) => on.sql('update outbox set run_at = now() where sent_at is null');

const received = (sink: SmtpSink, email: string) =>
  eventually(() => sink.mails.find((mail) => mail.to.includes(email)), `a mail to ${email}`);

/** Decodes quoted-printable text (RFC 2045). */
const decoded = (raw: string): string =>
  Buffer.from(
    raw
      .replace(/=\r?\n/g, '')
      .replace(/=([\dA-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString('utf8');

test('a mail sent by SMTP has sender, recipient, text and HTML; a name is escaped in HTML', async (t) => {
  const sink = await startSmtpSink();
  t.after(() => sink.close());
  const mailing = await startTestService(t, {
    SMTP_URL: sink.url(),
    MAIL_FROM: 'Castellan <id@example.org>',
  });
  const email = newEmail();
  const body = registration({ email: ` ${email.toUpperCase()} `, first_name: 'Tom & "Jé" <3' });
  assertAnswered(await mailing.client().post(paths.register, body), 201);
  const mail = await received(sink, email);
  const text = decoded(mail.raw);
  assert.deepEqual(mail.to, [email], 'the stored address');
  assert.match(text, /^From: Castellan <id@example\.org>\r$/m);
  assert.match(text, new RegExp(`^To: <?${email}>?\r$`, 'm'));
  assert.match(text, /^Subject: Confirm your email address for Castellan\r$/m);
  assert.match(text, /^Auto-Submitted: auto-generated\r$/m);
  assert.match(text, /^Content-Type: text\/plain; charset=utf-8\r$/m);
  assert.match(text, /^Content-Type: text\/html; charset=utf-8\r$/m);
  const tokens = new Set(text.match(/#token=[\w-]+/g));
  assert.equal(tokens.size, 1, 'the same link in both');
  assert.deepEqual(mailing.mails(), [], 'nothing is printed if a mail server is set');
  const [link] = tokens;
  assertAnswered(await mailing.client().post(paths.verify, { token: link!.slice('#token='.length) }));

  // The email is verified by now, so the mail may contain the owner's name.
  assertMessageOnly(await mailing.client().post(paths.requestReset, { email }));
  const second = await eventually(() => sink.mails[1], 'the reset mail');
  const greeting = decoded(second.raw);
  assert.ok(greeting.includes('Hello Tom & "Jé" <3,'), greeting);
  assert.ok(greeting.includes('Hello Tom &amp; &quot;Jé&quot; &lt;3,'), greeting);
});

test('registration answers 201 while the mail server is down, and the mail is sent when it is up', async (t) => {
  const port = await freePort();
  const mailing = await startTestService(t, { SMTP_URL: `smtp://127.0.0.1:${port}` });
  const email = newEmail();
  const client = mailing.client();
  assertAnswered(await client.post(paths.register, registration({ email })), 201);
  assertMessageOnly(await client.post(paths.requestReset, { email }));
  await eventually(async () => {
    const failed = await mailing.sql('select from outbox where attempts > 0 and last_error is not null');
    return failed.length === 2 || undefined;
  }, 'two attempts that failed');

  const sink = await startSmtpSink({}, port);
  t.after(() => sink.close());
  await retryNow(mailing);
  await eventually(() => (sink.mails.length === 2 ? true : undefined), 'both mails');
  const tokens = sink.mails.map((mail) => /#token=([\w-]+)/.exec(decoded(mail.raw))?.[1]);
  const answers = [];
  for (const token of tokens) answers.push((await client.post(paths.verify, { token })).status);
  assert.deepEqual(answers.sort(), [200, 400], 'the link of the late mail works');
  await waitForEmptyOutbox(mailing);
  assert.equal(sink.mails.length, 2, 'each mail is sent once');
});

test('a mail that waited is not sent if the account no longer needs it', async (t) => {
  const port = await freePort();
  const mailing = await startTestService(t, { SMTP_URL: `smtp://127.0.0.1:${port}` });
  const [verified, gone, waiting] = [newEmail(), newEmail(), newEmail()];
  for (const email of [verified, gone, waiting])
    assertAnswered(await mailing.client().post(paths.register, registration({ email })), 201);
  await mailing.sql('update users set verified = true where email = $1', [verified]);
  await mailing.sql('delete from user_roles where user_id = (select id from users where email = $1)', [gone]);
  await mailing.sql('delete from users where email = $1', [gone]);
  const sink = await startSmtpSink({}, port);
  t.after(() => sink.close());
  await retryNow(mailing);
  await received(sink, waiting);
  await waitForEmptyOutbox(mailing);
  assert.deepEqual(
    sink.mails.flatMap((mail) => mail.to),
    [waiting],
  );
});

test('a mail server that hangs delays no answer', async (t) => {
  const sink = await startSmtpSink({ onConnect: () => {} });
  t.after(async () => {
    sink.dropConnections();
    await sink.close();
  });
  const mailing = await startTestService(t, { SMTP_URL: sink.url() });
  assertAnswered(await mailing.client().post(paths.register, registration()), 201);
  // The answer came before the connection to the mail server was given up; that server never answers.
  assert.deepEqual(await mailing.sql('select last_error, sent_at from outbox'), [
    { last_error: null, sent_at: null },
  ]);
  sink.dropConnections();
});
