// Whom a sign-in by a provider lets in: every row of what follows when the provider has said who somebody is, against every state of
// an account.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo } from '@castellan/testing/accounts/self-service';
import {
  ADMIN,
  newEmail,
  PASSWORD,
  signIn,
  startTestService,
  type TestService,
} from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { addPerson, addRole, roleNamed } from '@castellan/testing/users/people';
import { newId } from '../../../src/platform/ids.ts';
import {
  accountOf,
  addFactor,
  addProvider,
  begin,
  comeBack,
  entriesOf,
  type Provider,
  pageOf,
  signInThere,
  somebody,
} from './fixture.ts';

const service = await startTestService({ after }, { SIGN_IN_ALERTS: 'off', DEFAULT_ROLE: 'User' });
const issuer = await startIssuer({ after });
const provider = await addProvider(service, issuer);
const trusting = await addProvider(service, issuer, { connect: 'trusted' });
const lenient = await addProvider(service, issuer, { allow_superusers: true, connect: 'trusted' });

/** Connects an identity of the provider to the account, as it is after a sign-in. */
async function connected({ sql }: TestService, { id, issuer: at }: Provider, userId: string, sub = newId()) {
  const identity = newId();
  await sql(
    'insert into identities (id, user_id, provider_id, issuer, subject, email) values ($1, $2, $3, $4, $5, $6)',
    [identity, userId, id, at.issuer, sub, 'old@example.com'],
  );
  return { identity, sub };
}

const outcome = async (answer: Parameters<typeof pageOf>[0], client = service.client()) => {
  const { result, kind } = pageOf(answer);
  if (result !== 'pending') return kind ?? result;
  const { body } = await client.get('/api/v1/auth/pending-identity');
  return body.data.step;
};

const reasonOf = async (answer: Parameters<typeof pageOf>[0]) =>
  (await entriesOf(service, answer)).find(({ action }) => action === 'provider_sign_in_failed')?.details
    .reason;

const identitiesOf = async (userId: string): Promise<number> =>
  (await service.sql('select from identities where user_id = $1', [userId])).length;

test('a known identity signs its account in, whatever address the provider tells', async () => {
  const person = await addPerson(service);
  const { identity, sub } = await connected(service, provider, person.id);
  const client = service.client();
  const there = somebody({ sub, email_verified: false });
  const answer = await signInThere(client, provider, there);
  assert.equal(await outcome(answer), 'signed_in');
  assert.equal((await accountOf(client))?.email, person.email);
  const [entry] = await entriesOf(service, answer);
  assert.deepEqual(entry, {
    action: 'login_succeeded',
    actor_id: person.id,
    resource_id: person.id,
    details: {
      email: person.email,
      session_id: entry?.details.session_id,
      methods: ['provider'],
      method: 'provider',
      provider: provider.slug,
      email_differs: true,
    },
  });
  const [row] = await service.sql(
    `select s.identity_id, s.proof, i.email, i.last_used_at is not null as is_used from sessions s
     join identities i on i.id = s.identity_id where s.user_id = $1`,
    [person.id],
  );
  assert.deepEqual(row, { identity_id: identity, proof: 'provider', email: there.email, is_used: true });
  const [other] = await service.sql('select from users where email = $1', [there.email]);
  assert.equal(other, undefined);
});

test('an account that is not active or not verified, and a superuser, are told one sentence', async () => {
  for (const [state, reason] of [
    [{ active: false }, 'inactive'],
    [{ verified: false }, 'unverified'],
    [{ superuser: true }, 'superuser'],
  ] as const) {
    const person = await addPerson(service, state);
    const { sub } = await connected(service, provider, person.id);
    const client = service.client();
    const answer = await signInThere(client, provider, somebody({ sub }));
    assert.equal(await outcome(answer), 'not_allowed');
    assert.equal(await reasonOf(answer), reason);
    assert.equal(await accountOf(client), null);
  }
});

test('a provider that may sign superusers in does', async () => {
  const person = await addPerson(service, { superuser: true });
  const { sub } = await connected(service, lenient, person.id);
  const client = service.client();
  assert.equal(await outcome(await signInThere(client, lenient, somebody({ sub }))), 'signed_in');
  assert.equal((await accountOf(client))?.id, person.id);
});

test('the lock of an email stops passwords, not providers', async () => {
  const person = await addPerson(service);
  const { sub } = await connected(service, provider, person.id);
  for (let n = 0; n < 5; n += 1)
    await service.client().post('/api/v1/auth/login', { email: person.email, password: 'Wrong#Password99x' });
  const locked = await service.client().login(person);
  assert.equal(locked.body.code, 'account_locked');
  assert.equal(await outcome(await signInThere(service.client(), provider, somebody({ sub }))), 'signed_in');
});

test('an account with a factor is asked for it after the provider, on the sign-in page', async () => {
  const person = await addPerson(service);
  const { identity, sub } = await connected(service, provider, person.id);
  const code = await addFactor(service, person);
  const client = service.client();
  const there = somebody({ sub });
  const answer = await signInThere(client, provider, there, { next: '/account' });
  assert.deepEqual(pageOf(answer), { result: 'pending', next: '/account' });
  assert.equal(await accountOf(client), null);
  const { body } = await client.get('/api/v1/auth/pending-identity');
  assert.equal(body.data.step, 'second_factor');
  assert.equal(body.data.email, there.email);
  assert.deepEqual(body.data.second_factor.methods, ['totp', 'recovery_code']);
  const { token } = body.data.second_factor;
  // Another browser has neither the cookie, nor anything of the token.
  const stranger = service.client();
  assert.equal((await stranger.get('/api/v1/auth/pending-identity')).status, 404);
  const stolen = await stranger.post('/api/v1/auth/login/second-factor', { token, totp: code() });
  assert.equal(stolen.body.code, 'sign_in_expired');
  const done = await client.post('/api/v1/auth/login/second-factor', { token, totp: code() });
  assert.equal(done.status, 200, done.text);
  assert.equal((await accountOf(client))?.id, person.id);
  const [row] = await service.sql(
    'select identity_id, proof from sessions where user_id = $1 and identity_id is not null',
    [person.id],
  );
  assert.deepEqual(row, { identity_id: identity, proof: 'provider+totp' });
  const [entry] = (await entriesOf(service, done)).filter(({ action }) => action === 'login_succeeded');
  assert.deepEqual([entry?.details.method, entry?.details.provider], ['provider', provider.slug]);
  // What waits cannot be connected to somebody else.
  assert.equal((await entriesOf(service, answer))[0]?.action, 'second_factor_requested');
});

test('a second step is over when its identity or its provider ends, and for an account that became a superuser', async () => {
  const at = await addProvider(service, issuer);
  for (const end of [
    'update users set is_superuser = true where id in (select user_id from identities where provider_id = $1)',
    'delete from identities where provider_id = $1',
    'update identity_providers set is_active = false where id = $1',
  ]) {
    const person = await addPerson(service);
    const { sub } = await connected(service, at, person.id);
    const code = await addFactor(service, person);
    const client = service.client();
    await signInThere(client, at, somebody({ sub }));
    const { body } = await client.get('/api/v1/auth/pending-identity');
    await service.sql(end, [at.id]);
    const answer = await client.post('/api/v1/auth/login/second-factor', {
      token: body.data.second_factor.token,
      totp: code(),
    });
    assert.equal(answer.body.code, 'sign_in_expired');
  }
});

test('a provider whose second factor counts here takes the place of one', async () => {
  const at = await addProvider(service, issuer, { acr_mapping: '{"https://acme/mfa":"aal2","mfa":"aal2"}' });
  for (const [claims, proof] of [
    [{ acr: 'https://acme/mfa' }, 'provider+mfa'],
    [{ amr: ['pwd', 'mfa'] }, 'provider+mfa'],
    [{ acr: 'constructor', amr: ['pwd'] }, null],
  ] as const) {
    const person = await addPerson(service);
    const { sub } = await connected(service, at, person.id);
    await addFactor(service, person);
    const answer = await signInThere(service.client(), at, somebody({ sub, ...claims }));
    assert.equal(pageOf(answer).result, proof === null ? 'pending' : 'signed_in');
    const [row] = await service.sql<{ proof: string }>(
      'select proof from sessions where user_id = $1 and identity_id is not null',
      [person.id],
    );
    assert.equal(row?.proof ?? null, proof);
  }
});

test('somebody new with a trusted address gets an account: verified, without a password, with names and the default role', async () => {
  const client = service.client();
  const there = somebody();
  const answer = await signInThere(client, provider, there);
  assert.equal(await outcome(answer), 'signed_in');
  const me = await accountOf(client);
  const [row] = await service.sql(
    `select u.first_name, u.last_name, u.verified, u.password_hash, u.pending_registration,
       array(select r.name from user_roles h join roles r on r.id = h.role_id where h.user_id = u.id) as roles
     from users u where u.id = $1`,
    [me?.id],
  );
  assert.deepEqual(row, {
    first_name: 'Grace',
    last_name: 'Hopper',
    verified: true,
    password_hash: null,
    pending_registration: false,
    roles: ['User'],
  });
  assert.deepEqual(
    (await entriesOf(service, answer)).map(({ action, details }) => [
      action,
      details.automatic ?? details.method,
    ]),
    [
      ['user_registered', 'provider'],
      ['identity_connected', true],
      ['login_succeeded', 'provider'],
    ],
  );
  const mail = await service.mailTo(there.email);
  assert.equal(mail.kind, 'account_made');
  assert.equal(mail.token, null);
  // The same identity comes again.
  const again = service.client();
  assert.equal(await outcome(await signInThere(again, provider, there)), 'signed_in');
  assert.equal((await accountOf(again))?.id, me?.id);
});

test('names that break the rules for names are made of the address', async () => {
  const long = 'x'.repeat(101);
  for (const [claims, names] of [
    [{ given_name: '<b>Grace', family_name: long }, ['local.part', '']],
    [
      { given_name: undefined, family_name: undefined, name: 'Grace Brewster Hopper' },
      ['Grace Brewster', 'Hopper'],
    ],
    [{ given_name: 'Grace\u202e', family_name: 'Hopper' }, ['local.part', '']],
  ] as const) {
    const client = service.client();
    const email = `local.part@${newId()}.example.com`;
    const at = await addProvider(service, issuer, { domains: [email.slice(email.indexOf('@') + 1)] });
    await signInThere(client, at, somebody({ ...claims, email }));
    const [row] = await service.sql<{ first_name: string; last_name: string }>(
      'select first_name, last_name from users where email = $1',
      [email],
    );
    assert.deepEqual([row?.first_name, row?.last_name], names);
  }
});

test('whom the record makes no account for is told to ask for one, and nothing is made', async () => {
  for (const [fields, email, expected] of [
    [{ sign_up: 'none' }, newEmail('nobody'), 'sign_up'],
    [{ sign_up: 'domains' }, 'somebody@sub.example.com', 'email'],
    [{ sign_up: 'everyone', domains: ['other.example'] }, newEmail('untrusted'), 'email'],
    [{ sign_up: 'everyone', email_trust: 'none' }, newEmail('untrusted'), 'email'],
  ] as const) {
    const at = await addProvider(service, issuer, {
      ...fields,
      ...('domains' in fields ? { domains: [...fields.domains] } : {}),
    });
    const client = service.client();
    const answer = await signInThere(client, at, somebody({ email }));
    assert.equal(await outcome(answer, client), expected);
    assert.equal((await service.sql('select from users where email = $1', [email])).length, 0);
    assert.equal(await accountOf(client), null);
    const cookie = answer.headers.getSetCookie().find((one) => one.startsWith('castellan_provider='));
    assert.match(cookie ?? '', /Max-Age=1800/);
  }
});

test('an address that the provider does not call verified is not trusted', async () => {
  for (const claims of [
    { email_verified: false },
    { email_verified: undefined },
    { email_verified: 'yes' },
    { email: undefined },
    { email: 'nobody@example.com\u0000' },
    { email: 'not an address' },
  ]) {
    const client = service.client();
    assert.equal(await outcome(await signInThere(client, trusting, somebody(claims)), client), 'email');
  }
});

test('an account that nobody has verified goes to the person with the trusted address, and what let others in ends', async () => {
  const role = await addRole(service, 'audit_log.read');
  const person = await addPerson(service, { roles: [role] });
  const there = somebody({ email: person.email });
  // Whoever registered it has a password, a session, a link in a mailbox and an identity of their own.
  await connected(service, trusting, person.id);
  const attacker = await signIn(service, person);
  await service.sql('update users set verified = false, must_change_password = true where id = $1', [
    person.id,
  ]);
  await service.sql(
    `insert into one_time_tokens (token_hash, purpose, user_id, email, expires_at)
     values (sha256('token'), 'verify_email', $1, $2, now() + interval '1 day')`,
    [person.id, person.email],
  );
  const client = service.client();
  const answer = await signInThere(client, provider, there);
  assert.equal(await outcome(answer), 'signed_in');
  assert.equal((await accountOf(client))?.id, person.id);
  const [row] = await service.sql(
    `select u.verified, u.password_hash, u.must_change_password, u.has_factor,
       array(select subject from identities where user_id = u.id) as subjects,
       array(select role_id from user_roles where user_id = u.id) as roles,
       (select count(*)::integer from one_time_tokens where user_id = u.id and used_at is null) as links
     from users u where u.id = $1`,
    [person.id],
  );
  assert.deepEqual(row, {
    verified: true,
    password_hash: null,
    must_change_password: false,
    has_factor: false,
    subjects: [there.sub],
    roles: [role],
    links: 0,
  });
  assert.equal((await service.client().login(person)).body.code, 'invalid_credentials');
  assert.equal((await attacker.get('/api/v1/users/me')).status, 401);
  const [entry] = (await entriesOf(service, answer)).filter(({ action }) => action === 'identity_connected');
  assert.deepEqual([entry?.details.automatic, entry?.details.taken_over], [true, true]);
  const mail = await service.mailTo(person.email);
  assert.equal(mail.kind, 'account_taken_over');
  // Without the names that the account came with.
  assert.match(mail.text, /^Hello,$/m);
});

test('an account with a second factor is not taken over with its address: somebody has proved it before', async () => {
  const person = await addPerson(service, {});
  await addFactor(service, person);
  for (const recovery of [false, true]) {
    await service.sql('update users set verified = false, recovery_pending = $2 where id = $1', [
      person.id,
      recovery,
    ]);
    const answer = await signInThere(service.client(), provider, somebody({ email: person.email }));
    assert.equal(await outcome(answer), 'not_allowed');
    assert.equal(await identitiesOf(person.id), 0);
  }
  await service.sql('update users set verified = true, recovery_pending = false where id = $1', [person.id]);
  const owner = service.client();
  assert.equal((await owner.login(person)).body.code, 'second_factor_required');
});

test('an invited person who signs in with the trusted address has accepted, and the mailed link ends', async () => {
  const admin = await signIn(service, ADMIN);
  const email = newEmail('invited');
  const { data } = (await admin.post('/api/v1/users/invitations', { email })).body;
  const token = await linkTo(service, email, 'invitation');
  const client = service.client();
  const answer = await signInThere(client, provider, somebody({ email }));
  assert.equal(await outcome(answer), 'signed_in');
  assert.equal((await accountOf(client))?.id, data.id);
  const entries = await entriesOf(service, answer);
  assert.deepEqual(
    entries
      .map(({ action }) => action)
      .slice(0, 2)
      .sort(),
    ['identity_connected', 'invitation_accepted'],
  );
  assert.equal((await service.mailTo(email, 1)).kind, 'account_made');
  const state = await client.post('/api/v1/auth/links/check', { purpose: 'invitation', token });
  assert.equal(state.body.data.already_verified, true);
  const [row] = await service.sql('select verified, invited_at, first_name from users where id = $1', [
    data.id,
  ]);
  assert.deepEqual(row, { verified: true, invited_at: null, first_name: 'Grace' });
  const late = await service
    .client()
    .post('/api/v1/auth/accept-invitation', { token, password: PASSWORD, first_name: 'Eve', last_name: '' });
  assert.equal(late.body.code, 'invitation_token_invalid');
});

test('an invitation that has ended is accepted with a provider no more than by its link', async () => {
  const admin = await signIn(service, ADMIN);
  const ends: ((id: string) => Promise<unknown>)[] = [
    (id) =>
      service.sql("update users set invitation_expires_at = now() - interval '1 second' where id = $1", [id]),
    // What an administrator does to the access of an account ends its links.
    (id) => admin.delete(`/api/v1/users/${id}/sessions`),
  ];
  for (const end of ends) {
    const email = newEmail('late');
    const { id } = (await admin.post('/api/v1/users/invitations', { email, first_name: 'Ada' })).body.data;
    await linkTo(service, email, 'invitation');
    await end(id);
    const account = somebody({ email });
    const answer = await signInThere(service.client(), provider, account);
    assert.equal(await outcome(answer), 'invitation');
    const [entry] = await entriesOf(service, answer);
    assert.deepEqual(
      [entry?.action, entry?.resource_id, entry?.details.reason],
      ['provider_sign_in_failed', id, 'invitation_ended'],
    );
    assert.equal(await identitiesOf(id), 0);
    const [row] = await service.sql(
      'select invited_at is not null as invited, verified from users where id = $1',
      [id],
    );
    assert.deepEqual(row, { invited: true, verified: false });
    assert.equal((await admin.post(`/api/v1/users/${id}/invitation`)).status, 200);
    assert.equal(await outcome(await signInThere(service.client(), provider, account)), 'signed_in');
  }
});

test('neither an unverified account that is not active, nor that of a superuser, is taken over', async () => {
  for (const state of [
    { verified: false, active: false },
    { verified: false, superuser: true },
  ]) {
    const person = await addPerson(service, state);
    const answer = await signInThere(service.client(), provider, somebody({ email: person.email }));
    assert.equal(await outcome(answer), 'not_allowed');
    assert.equal(await identitiesOf(person.id), 0);
    const [row] = await service.sql(
      'select verified, password_hash is not null as has_password from users where id = $1',
      [person.id],
    );
    assert.deepEqual(row, { verified: false, has_password: true });
  }
});

test('a verified account is not connected without a sign-in to it, unless the record trusts the provider with that', async () => {
  const person = await addPerson(service, { roles: [await roleNamed(service, 'User')] });
  const there = somebody({ email: person.email.toUpperCase() });
  const client = service.client();
  assert.equal(await outcome(await signInThere(client, provider, there), client), 'connect');
  assert.equal(await identitiesOf(person.id), 0);
  const answer = await signInThere(client, trusting, there);
  assert.equal(await outcome(answer), 'signed_in');
  assert.equal((await accountOf(client))?.id, person.id);
  const [entry] = await entriesOf(service, answer);
  assert.deepEqual(entry, {
    action: 'identity_connected',
    actor_id: person.id,
    resource_id: person.id,
    details: { provider: trusting.slug, subject: there.sub, email: person.email, automatic: true },
  });
  assert.equal((await service.mailTo(person.email)).kind, 'identity_connected');
  // Its password is still there.
  assert.equal((await service.client().login(person)).status, 200);
});

test('an account with administrative permissions, and a superuser, are never connected without a sign-in to them', async () => {
  const cases: [state: Parameters<typeof addPerson>[1], expected: string][] = [
    [{ roles: [await addRole(service, 'audit_log.read')] }, 'connect'],
    [{ superuser: true }, 'connect'],
    [{ active: false }, 'not_allowed'],
  ];
  for (const [state, expected] of cases) {
    const person = await addPerson(service, state);
    const client = service.client();
    assert.equal(
      await outcome(await signInThere(client, lenient, somebody({ email: person.email })), client),
      expected,
    );
    assert.equal(await identitiesOf(person.id), 0);
  }
  const person = await addPerson(service, { superuser: true });
  const answer = await signInThere(service.client(), trusting, somebody({ email: person.email }));
  assert.equal(await outcome(answer), 'not_allowed');
});

test('two callbacks of one new person in parallel make one account', async () => {
  const there = somebody();
  const [one, two] = [service.client(), (await service.another()).client()];
  const cames = [];
  for (const client of [one, two]) {
    const url = await begin(client, provider);
    issuer.person = there;
    cames.push(issuer.approve(url));
  }
  const [first, second] = cames;
  assert.ok(first && second);
  const answers = await Promise.all([comeBack(one, provider, first), comeBack(two, provider, second)]);
  for (const answer of answers) assert.equal(await outcome(answer), 'signed_in');
  assert.equal((await accountOf(one))?.id, (await accountOf(two))?.id);
  assert.equal((await service.sql('select from users where email = $1', [there.email])).length, 1);
});

test('a record that changes while a sign-in waits for the account does not connect by what it said before', async () => {
  const at = await addProvider(service, issuer, { connect: 'trusted' });
  const person = await addPerson(service);
  const client = service.client();
  const answer = await changeUserWhileWaiting(
    service,
    person.id,
    `update identity_providers set connect = 'confirm' where id = '${at.id}' and $1::uuid is not null`,
    () => signInThere(client, at, somebody({ email: person.email })),
  );
  assert.equal(await outcome(answer), 'unavailable');
  assert.deepEqual([await accountOf(client), await identitiesOf(person.id)], [null, 0]);
  await signInThere(client, at, somebody({ email: person.email }));
  assert.equal((await client.get('/api/v1/auth/pending-identity')).body.data.step, 'connect');
});

test('sign-ups count against the limits of registrations, and sign-ins do not', async () => {
  const limited = await service.another({ REGISTRATION_ABUSE_LIMIT: '1/day' });
  const there = somebody();
  assert.equal(await outcome(await signInThere(limited.client(), provider, there)), 'signed_in');
  const answer = await signInThere(limited.client(), provider, somebody());
  assert.equal(await outcome(answer), 'limited');
  assert.equal(await reasonOf(answer), 'registration_limit');
  assert.equal(await outcome(await signInThere(limited.client(), provider, there)), 'signed_in');
  const mails = await service.another({ ACCOUNT_EMAIL_LIMIT: '1/day' });
  const email = newEmail('twice');
  assert.equal(await outcome(await signInThere(mails.client(), provider, somebody({ email }))), 'signed_in');
  await service.sql('delete from user_roles where user_id = (select id from users where email = $1)', [
    email,
  ]);
  await service.sql('delete from users where email = $1', [email]);
  assert.equal(await outcome(await signInThere(mails.client(), provider, somebody({ email }))), 'limited');
});

test('an ID token is kept, sealed, only where the provider is told of sign-outs', async () => {
  const telling = await addProvider(service, issuer, { logout: 'upstream' });
  for (const [at, isKept] of [
    [provider, false],
    [telling, true],
  ] as const) {
    const client = service.client();
    await signInThere(client, at, somebody({ sid: 'there-1' }));
    const me = await accountOf(client);
    const [row] = await service.sql<{ sealed: Buffer | null; identity_id: string; provider_sid: string }>(
      'select provider_id_token_sealed as sealed, identity_id, provider_sid from sessions where user_id = $1',
      [me?.id],
    );
    assert.equal(row?.provider_sid, 'there-1');
    assert.equal(row.sealed !== null, isKept);
    if (!row.sealed) continue;
    assert.equal(row.sealed.includes('eyJ'), false);
    const { providerSignIns } = service.service.deps;
    assert.match(providerSignIns.openIdToken(row.identity_id, row.sealed) ?? '', /^eyJ/);
    assert.equal(providerSignIns.openIdToken(newId(), row.sealed), null);
  }
});
