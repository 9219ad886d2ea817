// In which language a mail is written, and which requests may change the language of an account.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo, mailsTo, paths, registration } from '@castellan/testing/accounts/self-service';
import {
  eventually,
  newEmail,
  PASSWORD,
  startTestService,
  type TestMail,
  type TestService,
} from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import { assertAnswered, assertMessageOnly, assertRefused } from '../answers.ts';

const service = await startTestService({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '2' });

const speaking = (language: string) => ({ headers: { 'accept-language': language } });
const languageOf = async (email: string): Promise<unknown> =>
  (await service.sql('select language from users where email = $1', [email]))[0]?.language;

/** Registers and verifies an account with this header. */
async function account(acceptLanguage: string): Promise<string> {
  const email = newEmail('speaker');
  const answer = await service
    .client()
    .post(paths.register, registration({ email }), speaking(acceptLanguage));
  assertAnswered(answer, 201);
  const token = await linkTo(service, email, 'verification');
  assertAnswered(await service.client().post(paths.verify, { token }));
  return email;
}

const signIn = (email: string, acceptLanguage: string, password = PASSWORD) =>
  service.client().post('/api/v1/auth/login', { email, password }, speaking(acceptLanguage));

/** Requests a reset mail with this header and returns the mail. */
async function resetMail(on: TestService, email: string, acceptLanguage: string): Promise<TestMail> {
  const before = mailsTo(on, email, 'password_reset').length;
  assertMessageOnly(await on.client().post(paths.requestReset, { email }, speaking(acceptLanguage)));
  return eventually(() => mailsTo(on, email, 'password_reset')[before], `a reset mail to ${email}`);
}

test('the three mails are German for an account that registered in German', async () => {
  const email = await account('de-AT, de;q=0.9, en;q=0.8');
  const verification = mailsTo(service, email, 'verification')[0];
  assert.equal(verification?.subject, 'Bestätigen Sie Ihre E-Mail-Adresse für Castellan');
  assert.match(verification?.text ?? '', /^Guten Tag,$/m);
  assert.match(verification?.text ?? '', /ist 24 Stunden gültig\./);
  const reset = await resetMail(service, email, 'de');
  assert.equal(reset.subject, 'Neues Passwort für Castellan festlegen');
  assert.match(reset.text, /^Guten Tag Ada Lovelace,$/m);
  assert.match(reset.text, /ist 30 Minuten gültig\./);
  for (let attempt = 0; attempt < 2; attempt += 1) await signIn(email, 'en', 'Wrong#Quartz82Lime');
  const locked = await eventually(() => mailsTo(service, email, 'account_locked')[0], 'the lock mail');
  assert.equal(locked.subject, 'Ihr Konto bei Castellan ist für 15 Minuten gesperrt');
  assert.match(locked.text, /Ein neues Passwort hebt die Sperre sofort auf:/);
});

test('nothing but registration and a sign-in with the right password changes the language', async () => {
  const email = await account('de');
  const reset = await resetMail(service, email, 'en');
  assert.match(reset.subject, /^Neues Passwort/, 'a stranger asked in English');
  assertMessageOnly(await service.client().post(paths.resend, { email }, speaking('en')));
  assertRefused(
    await service.client().post(paths.register, registration({ email }), speaking('en')),
    409,
    'email_taken',
  );
  assertRefused(await signIn(email, 'en', 'Wrong#Quartz82Lime'), 422, 'invalid_credentials');
  assert.equal(await languageOf(email), 'de');

  assertAnswered(await signIn(email, 'en-US,en;q=0.5'));
  assert.equal(await languageOf(email), 'en');
  assert.match((await resetMail(service, email, 'de')).subject, /^Set a new password/);
});

test('a sign-in that names no language we have keeps the stored one', async () => {
  const email = await account('de');
  for (const header of ['*', 'fr', '', 'de;q=0', ';;;,,,', `${'x-'.repeat(3_000)},`])
    assertAnswered(await signIn(email, header));
  assert.equal(await languageOf(email), 'de');
});

test('an account whose language is unknown gets LANGUAGE, and a request for a mail does not set it', async () => {
  const german = await service.another({ LANGUAGE: 'de' });
  const person = await addPerson(service);
  assert.equal(await languageOf(person.email), null);
  // Both instances send mails of the one outbox, so the other one must not.
  await service.service.deps.outbox.stop();
  try {
    assert.match((await resetMail(german, person.email, 'en')).subject, /^Neues Passwort/);
    assert.equal(await languageOf(person.email), null);
    // A later version may have stored a language that this one has no texts for.
    await service.sql(`update users set language = 'fr' where id = $1`, [person.id]);
    assert.match((await resetMail(german, person.email, 'en')).subject, /^Neues Passwort/);
    await service.sql(`update users set language = 'en' where id = $1`, [person.id]);
    assert.match((await resetMail(german, person.email, 'de')).subject, /^Set a new password/);
  } finally {
    await german.stop();
    service.service.deps.outbox.start();
  }
});

test('a mail is in the language that the account has when the mail is sent', async () => {
  const email = await account('en');
  await service.service.deps.outbox.stop();
  try {
    assertMessageOnly(await service.client().post(paths.requestReset, { email }));
    const [row] = await service.sql<{ payload: object }>(
      `select payload from outbox where sent_at is null and payload->>'email' = $1`,
      [email],
    );
    assert.deepEqual(Object.keys(row?.payload ?? {}).sort(), ['email', 'link_epoch']);
    assertAnswered(await signIn(email, 'de'));
  } finally {
    service.service.deps.outbox.start();
  }
  const mail = await eventually(() => mailsTo(service, email, 'password_reset')[0], 'the reset mail');
  assert.match(mail.subject, /^Neues Passwort/);
});

test('the language is in no record, and changing it leaves the version of the record alone', async () => {
  const email = await account('en');
  const client = service.client();
  await client.login({ email, password: PASSWORD });
  const before = await client.get(paths.me);
  assert.ok(!Object.keys(before.body.data).includes('language'));
  assertAnswered(await signIn(email, 'de'));
  assert.equal(await languageOf(email), 'de');
  assert.equal((await client.get(paths.me)).headers.get('etag'), before.headers.get('etag'));
});

test('the database refuses what is not a primary language tag', async () => {
  const person = await addPerson(service);
  for (const language of ['', 'DE', 'de-AT', 'german', 'd'])
    await assert.rejects(
      service.sql('update users set language = $1 where id = $2', [language, person.id]),
      /users_language_check/,
    );
});
