// Emails with an internationalized domain: one account, one lock and one subject however the domain is typed, stored in ASCII,
// shown with its letters. Which spellings are the same is tested in platform/security/email.test.ts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { paths, registration } from '@castellan/testing/accounts/self-service';
import { ADMIN, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import { loadSettings } from '../../src/settings.ts';
import { asking, question } from '../access/authzen.ts';

const ATTEMPTS = 3;
const service = await startTestService(
  { after },
  {
    ACCOUNT_LOCKOUT_ATTEMPTS: String(ATTEMPTS),
    CONCURRENT_SESSION_LIMIT: '0',
  },
);
const admin = await signIn(service, ADMIN);
const ask = asking(service, admin.accessToken);

/** The three spellings of one email: with letters, in ASCII, and with the letters as macOS writes them. */
const spellings = (name: string): [letters: string, ascii: string, decomposed: string] => [
  `${name}@münchen.example`,
  `${name}@xn--mnchen-3ya.example`,
  `${name}@MU\u0308NCHEN.example`,
];
const stored = (email: string) => service.sql('select id from users where email = $1', [email]);

test('an account that is registered in one spelling is found in the others, and shown with letters', async () => {
  const [letters, ascii, decomposed] = spellings('register');
  const client = service.client();
  const made = await client.post(paths.register, registration({ email: letters }));
  assert.equal(made.status, 201, made.text);
  assert.equal(made.body.data.email, letters);
  assert.equal((await stored(ascii)).length, 1);
  for (const email of [ascii, decomposed, letters]) {
    const again = await service.client().post(paths.register, registration({ email }));
    assert.equal(again.status, 409, email);
  }
  // The mail goes to the ASCII form, which every server takes, and shows the letters.
  const mail = await service.mailTo(ascii);
  const resent = await client.post(paths.resend, { email: decomposed });
  assert.equal(resent.status, 200);
  const second = await service.mailTo(ascii, 1);
  assert.equal(mail.to, second.to);
});

test('people sign in and reset their password in each spelling', async () => {
  const [letters, ascii, decomposed] = spellings('login');
  await addPerson(service, { email: ascii });
  for (const email of [letters, ascii, decomposed]) {
    const answer = await service.client().login({ email, password: PASSWORD });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.body.data.user.email, letters);
  }
  assert.equal((await service.client().post(paths.requestReset, { email: letters })).status, 200);
  assert.ok((await service.mailTo(ascii)).text.includes(letters));
});

test('failures in different spellings lock one email', async () => {
  const [letters, ascii, decomposed] = spellings('lock');
  await addPerson(service, { email: ascii });
  for (const email of [letters, ascii, decomposed])
    await service.client().login({ email, password: 'Wrong-Password!47' });
  for (const email of [letters, ascii, decomposed]) {
    const answer = await service.client().login({ email, password: PASSWORD });
    assert.equal(answer.body.code, 'account_locked', email);
  }
});

test('administrators create, change, find and ask about an account in each spelling', async () => {
  const [letters, ascii, decomposed] = spellings('admin');
  const names = { first_name: 'Jörg', last_name: 'Huber', password: PASSWORD };
  const made = await admin.post('/api/v1/users', { email: ascii, ...names });
  assert.equal(made.body.data.email, letters);
  const { id } = made.body.data;
  for (const email of [letters, ascii, decomposed]) {
    assert.equal((await admin.post('/api/v1/users', { email, ...names })).status, 409);
    const found = await admin.get(`/api/v1/users/list?email=${encodeURIComponent(email)}`);
    assert.deepEqual(
      found.body.data.items.map((user: { id: string; email: string }) => [user.id, user.email]),
      [[id, letters]],
    );
    const decision = await ask('evaluation', question('user', email, 'self.update_profile'));
    assert.equal(decision.body.context?.reason, 'not_granted', decision.text);
  }
  const moved = await admin.put(`/api/v1/users/${id}`, { email: 'admin@bücher.example' });
  assert.equal(moved.body.data.email, 'admin@bücher.example');
  assert.equal((await stored('admin@xn--bcher-kva.example')).length, 1);
  const log = await admin.get(`/api/v1/audit-logs?resource_id=${id}&action=user_updated`);
  const [entry] = log.body.data;
  assert.equal(entry.resource_name, 'admin@bücher.example');
  assert.deepEqual(entry.details.before, { email: letters });
  assert.deepEqual(entry.details.after, { email: 'admin@bücher.example' });
});

test('lists show the letters, and a session, a holder and the dashboard too', async () => {
  const [letters, ascii] = spellings('shown');
  const [role] = await service.sql<{ id: string }>(`select id from roles where name = 'Manager'`);
  const person = await addPerson(service, { email: ascii, roles: [role!.id] });
  await signIn(service, person);
  const answers = await Promise.all([
    admin.get(`/api/v1/sessions?user_id=${person.id}`),
    admin.get(`/api/v1/roles/${role!.id}/holders`),
    admin.get(`/api/v1/roles/${role!.id}/holders/export?format=csv`),
    admin.get('/api/v1/dashboard'),
    admin.get(`/api/v1/audit-logs/export?actor_id=${person.id}`),
  ]);
  for (const answer of answers) {
    assert.equal(answer.status, 200, answer.text);
    assert.ok(answer.text.includes(letters), answer.text);
    assert.ok(!answer.text.includes(ascii), answer.text);
  }
});

test('settings take letters', () => {
  const read = (environment: Record<string, string>) => loadSettings({ NODE_ENV: 'test', ...environment });
  assert.equal(
    read({ FIRST_SUPERUSER_EMAIL: 'chef@zürich.example' }).firstSuperuserEmail,
    'chef@xn--zrich-kva.example',
  );
  assert.throws(() => read({ FIRST_SUPERUSER_EMAIL: 'chef@ｚürich.example' }), /FIRST_SUPERUSER_EMAIL/);
  assert.throws(() => read({ MAIL_FROM: 'no-reply@ﬁn.example' }), /MAIL_FROM/);
});
