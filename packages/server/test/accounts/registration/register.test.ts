// POST /auth/register: what is accepted, what is refused and why, and that an email has only one account.
// Rate limits and abuse counters are tested in abuse-limits.test.ts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { User } from '@castellan/contract/users';
import { entryOf } from '@castellan/testing/accounts/audit-trail';
import { paths, registerAccount, registration } from '@castellan/testing/accounts/self-service';
import { createVerifiedUser, newEmail, PASSWORD, startTestService } from '@castellan/testing/harness';
import { assertAnswered, assertFieldRefused, assertPasswordRefused, assertRefused } from '../answers.ts';

const service = await startTestService({ after });
const register = (over: Record<string, unknown> = {}) =>
  service.client().post(paths.register, registration(over));

test('registration answers 201 with the user, unverified and active, without internal attributes', async () => {
  const email = newEmail();
  const answer = await register({ email });
  const user = assertAnswered(answer, 201);
  assert.deepEqual(Object.keys(user).sort(), Object.keys(User.properties).sort());
  const { id, created_at, updated_at, roles } = user;
  assert.match(id, /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/);
  assert.equal(new Date(created_at).toISOString(), created_at);
  assert.equal(new Date(updated_at).toISOString(), updated_at);
  assert.deepEqual(
    roles.map((role: { name: string }) => role.name),
    ['User'],
  );
  assert.deepEqual(Object.keys(roles[0]).sort(), ['description', 'id', 'name']);
  assert.partialDeepStrictEqual(user, {
    email,
    first_name: 'Ada',
    last_name: 'Lovelace',
    is_active: true,
    is_superuser: false,
    verified: false,
    permissions: ['self.update_profile'],
  });
  assert.doesNotMatch(answer.text, /argon2|hash|failed|locked/);
});

test('fields that only administrators may set are ignored', async () => {
  const [admin] = await service.sql(`select id from roles where name = 'Admin'`);
  const answer = await register({
    id: admin!.id,
    is_superuser: true,
    verified: true,
    is_active: false,
    role_id: [admin!.id],
    roles: [admin!.id],
    permissions: ['users.delete'],
    created_at: '2001-01-01T00:00:00Z',
  });
  const user = assertAnswered(answer, 201);
  assert.notEqual(user.id, admin!.id);
  assert.equal(user.is_superuser, false);
  assert.equal(user.verified, false);
  assert.equal(user.is_active, true);
  assert.deepEqual(user.permissions, ['self.update_profile']);
  assert.ok(!user.created_at.startsWith('2001'));
});

for (const field of ['email', 'password', 'first_name', 'last_name']) {
  test(`without ${field} registration is 400 and names the field`, async () => {
    assertFieldRefused(await register({ [field]: undefined }), 400, 'invalid_input', field);
  });
  for (const value of [42, null, ['a'], { a: 1 }])
    test(`${field} as ${JSON.stringify(value)} is 400 and names the field`, async () => {
      assertFieldRefused(await register({ [field]: value }), 400, 'invalid_input', field);
    });
}

test('a body that is not a JSON object is refused according to its type', async () => {
  const client = service.client();
  const send = (raw: string, type = 'application/json') =>
    client.request('POST', paths.register, { raw, headers: { 'content-type': type } });
  assertRefused(await send('{"email":'), 400, 'malformed_json');
  assertRefused(await send(''), 400, 'malformed_json');
  assertRefused(await send('null'), 400, 'malformed_json');
  assertRefused(await send('[]'), 400, 'invalid_input');
  assertRefused(await send('"text"'), 400, 'invalid_input');
  assertRefused(
    await send('email=a@example.com', 'application/x-www-form-urlencoded'),
    415,
    'unsupported_media_type',
  );
  const tooLarge = JSON.stringify(registration({ first_name: 'a'.repeat(17_000) }));
  assertRefused(await send(tooLarge), 413, 'body_too_large');
  assertRefused(await register({ first_name: 'A\u0000da' }), 400, 'invalid_text');
  assertRefused(await register({ first_name: 'A\ud800da' }), 400, 'invalid_text');
});

test('without a CSRF token registration is 403 and nothing is written', async () => {
  const email = newEmail();
  const answer = await service.client().request('POST', paths.register, {
    json: registration({ email }),
    headers: { 'x-csrf-token': null },
  });
  assert.match(assertRefused(answer, 403, 'csrf_invalid').detail, /CSRF/);
  assert.deepEqual(await service.sql('select from users where email = $1', [email]), []);
  assert.equal((await entryOf(service, answer.headers, 'csrf_refused')).actor_id, null);
});

for (const email of [
  '',
  '   ',
  'plain',
  '@example.com',
  'ada@',
  'ada@example',
  'ada@@example.com',
  'ada@exa mple.com',
  'ada@127.0.0.1',
  'ada@[127.0.0.1]',
  'ada..b@example.com',
  '.ada@example.com',
  '"ada"@example.com',
  'ada@example.com, eve@example.com',
  'Ada <ada@example.com>',
  'ada@example.com\nBcc: eve@example.com',
  'adа@example.com',
  `${'a'.repeat(65)}@example.com`,
  `ada@${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(63)}.com`,
  `${'a'.repeat(5_000)}@example.com`,
])
  test(`${JSON.stringify(email.slice(0, 40))} (${email.length}) is 400: not an email`, async () => {
    const answer = await register({ email });
    assert.equal(answer.status, 400, answer.text);
    assert.deepEqual(
      answer.body.errors.map((one: { field: string }) => one.field),
      ['email'],
    );
    assert.ok(['invalid_email', 'invalid_input'].includes(answer.body.code), answer.text);
  });

test('an email is stored trimmed and in lower case, and every spelling is the same account', async () => {
  const email = newEmail('Mixed.Case+tag');
  const answer = await register({ email: `  ${email.toUpperCase()} ` });
  assert.equal(assertAnswered(answer, 201).email, email.toLowerCase());
  for (const spelling of [email, email.toLowerCase(), `\u00a0${email} `])
    assertRefused(await register({ email: spelling }), 409, 'email_taken');
});

test('a taken email is 409, verified or not, and the account stays unchanged', async () => {
  const verified = await createVerifiedUser(service);
  const unverified = await registerAccount(service);
  for (const { id, email, password } of [verified, unverified]) {
    const before = await service.sql('select * from users where id = $1', [id]);
    const answer = await register({ email, password: 'Thicket!Orbit47Jade', first_name: 'Eve' });
    assertRefused(answer, 409, 'email_taken');
    assert.deepEqual(await service.sql('select * from users where id = $1', [id]), before);
    const entry = await entryOf(service, answer.headers, 'registration_refused');
    assert.equal(entry.details.reason, 'email_taken');
    assert.equal(entry.details.email, email);
    assert.equal(entry.actor_id, null);
    assert.equal(password, PASSWORD);
  }
});

test('a password is refused with every broken rule at once, as detail = {message, errors}', async () => {
  const errors = assertPasswordRefused(await register({ password: 'aaa123' }));
  for (const rule of [
    /at least 12/,
    /upper-case/,
    /special/,
    /sequence/,
    /same character/,
    /harder to guess/,
  ])
    assert.equal(errors.filter((one) => rule.test(one)).length, 1, `${rule} in ${errors.join(' | ')}`);
});

for (const [password, rule] of [
  ['Vexing#Quartz82Lime'.slice(0, 11), /at least 12/],
  ['vexing#quartz82lime', /upper-case/],
  ['VEXING#QUARTZ82LIME', /lower-case/],
  ['Vexing#QuartzFoLime', /digit/],
  ['VexingzQuartz82Lime', /special/],
  ['Vexing#Quartz82abc', /sequence/],
  ['Vexing#Quartz82CbA', /sequence/],
  ['Vexing#Quartz987', /sequence/],
  ['Vexing###Quartz82', /same character/],
  ['Password2031!!', /less common/],
  ['SecurePassword123!', /sequence/],
  ['password', /less common/],
  ['Short1!', /at least 12/],
  [`Vexing#Quartz82Lime${'xY7?'.repeat(28)}`, /at most 128/],
  [`Vexing#Quartz82Lime${'xY7?'.repeat(3_000)}`, /at most 128/],
  ['', /at least 12/],
] as [string, RegExp][])
  test(`the password ${JSON.stringify(password.slice(0, 24))} (${password.length}) is refused: ${rule.source}`, async () => {
    const errors = assertPasswordRefused(await register({ password }));
    assert.ok(
      errors.some((one) => rule.test(one)),
      errors.join(' | '),
    );
  });

for (const password of [
  'QaRegisterPass!47',
  'ReplacementPassword!42',
  'Vexing#Quartz82Lime',
  'Vexing Quartz #82 Lime 🦊',
  `Vexing#Quartz82Lime${'xY7?'.repeat(28)}`.slice(0, 128),
])
  test(`the password ${JSON.stringify(password.slice(0, 30))} (${password.length}) is accepted`, async () => {
    assertAnswered(await register({ password }), 201);
  });

test("a password made of the user's own name and email is too easy to guess", async () => {
  const password = 'Grzegorzewski#61';
  const own = await register({ first_name: 'Grzegorzewski', last_name: 'Grzegorz', password });
  const errors = assertPasswordRefused(own);
  assert.equal(errors.length, 1, errors.join(' | '));
  assert.match(errors[0]!, /harder to guess/);
  assertAnswered(await register({ password }), 201);
});

test('a registration is in the audit log, with address, email and the new user as actor and resource', async () => {
  const email = newEmail();
  const answer = await register({ email });
  const entry = await entryOf(service, answer.headers, 'user_registered');
  assert.equal(entry.actor_id, answer.body.data.id);
  assert.equal(entry.resource_id, answer.body.data.id);
  assert.equal(entry.details.email, email);
  const mail = await entryOf(service, answer.headers, 'verification_email_sent');
  assert.equal(mail.resource_id, answer.body.data.id);
  assert.equal(mail.details.outcome, 'queued');
});
