// Identities as their owner and administrators see and end them: what ends with one, who may, and that a way to sign in stays.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { mailsTo } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { type AddedIdentity, addIdentity, addProvider, beginWith } from '@castellan/testing/openid/providers';
import { codeOf, enrol, forgetStep } from '@castellan/testing/second-factors/app';
import { isAccepted, isRefreshable } from '@castellan/testing/sessions/accounts';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { addPerson, addRole, eventsOf, type Person, signedInWith } from '@castellan/testing/users/people';
import { volley } from '@castellan/testing/volley';

const environment = { CONCURRENT_SESSION_LIMIT: '0', PUBLIC_URL: 'http://localhost:8000' };
const service = await startTestService({ after }, environment);
const twin = await service.another();
const admin = await signIn(service, ADMIN);
const OWN = '/api/v1/users/me/identities';
const ofUser = ({ id }: { id: string }): string => `/api/v1/users/${id}/identities`;

const acme = await addProvider(service, { name: 'Acme', position: 1 });
const other = await addProvider(service, { name: 'Other', position: 2 });
const hidden = await addProvider(service, { name: 'Hidden', is_shown: false });
const inactive = await addProvider(service, { name: 'Inactive', is_active: false });

type Connected = { person: Person; client: TestClient; identity: AddedIdentity };

/** Returns a signed-in user with an identity at Acme. */
async function connected(
  state: Parameters<typeof addPerson>[1] & { password?: false } = {},
): Promise<Connected> {
  const { password, ...rest } = state;
  const person = await addPerson(service, rest);
  const client = await signIn(service, person);
  const identity = await addIdentity(service, acme, person.id);
  if (password === false) await takePassword(person);
  return { person, client, identity };
}

const takePassword = ({ id }: Person) =>
  service.sql('update users set password_hash = null where id = $1', [id]);
const age = ({ id }: Person) =>
  service.sql("update sessions set created_at = created_at - interval '1 hour' where user_id = $1", [id]);
const idsOf = async ({ id }: { id: string }): Promise<string[]> =>
  (
    await service.sql<{ id: string }>(
      'select id from identities where user_id = $1 order by created_at, id',
      [id],
    )
  ).map((row) => row.id);
const entriesOf = ({ id }: Person) =>
  service.sql<{ actor_id: string; details: Record<string, unknown> }>(
    `select actor_id, details from audit_logs where action = 'identity_disconnected' and resource_id = $1
     order by "timestamp"`,
    [id],
  );

async function addPasskey({ id }: Person, fields: { kind?: string; rp_id?: string } = {}): Promise<void> {
  await service.sql(
    `insert into passkeys (id, user_id, kind, name, rp_id, credential_id, public_key, sign_count, backup_eligible, backed_up)
     values ($1::uuid, $2, $3, 'Key', $4, sha256($1::text::bytea), '\\x00', 0, false, false)`,
    [randomUUID(), id, fields.kind ?? 'passkey', fields.rp_id ?? 'localhost'],
  );
}

test('people see their identities and what they can still connect', async () => {
  const { client, person, identity } = await connected();
  await addIdentity(service, inactive, person.id);
  await addIdentity(service, acme, (await addPerson(service)).id);
  const { data } = (await client.get(OWN)).body;
  const [first, second] = data.identities;
  assert.deepEqual(first, {
    id: identity.id,
    provider: { slug: acme.slug, name: 'Acme' },
    subject: identity.subject,
    email: `${identity.subject}@there.example`,
    display_name: 'Ada',
    created_at: first.created_at,
    last_used_at: null,
  });
  assert.equal(second.provider.name, 'Inactive');
  assert.equal(data.identities.length, 2);
  assert.equal(data.has_password, true);
  assert.deepEqual(data.providers, [{ slug: other.slug, name: 'Other', kind: 'oidc' }]);
  await takePassword(person);
  assert.equal((await client.get(OWN)).body.data.has_password, false);
  assert.deepEqual((await admin.get(ofUser(person))).body.data, data.identities);
  assert.ok(hidden.id);
});

test('an identity ends with the sessions that began with it, on every instance, and with no others', async () => {
  const { person, client, identity } = await connected();
  await beginWith(service, identity);
  const elsewhere = await signIn(service, person);
  const answer = await elsewhere.delete(`${OWN}/${identity.id}`);
  assert.deepEqual([answer.status, answer.body.data], [200, { sessions: 1, signed_out: false }], answer.text);
  assert.equal(await isAccepted(twin, client.accessToken ?? ''), false);
  assert.equal(await isRefreshable(twin, client.refreshToken ?? ''), false);
  assert.equal(await isAccepted(twin, elsewhere.accessToken ?? ''), true);
  assert.deepEqual(await idsOf(person), []);
  const [entry] = await entriesOf(person);
  assert.equal(entry?.actor_id, person.id);
  const { provider, subject, sessions } = entry?.details ?? {};
  assert.deepEqual([provider, subject, sessions], [acme.slug, identity.subject, 1]);
  const mail = await eventually(() => mailsTo(service, person.email, 'identity_disconnected')[0], 'the mail');
  assert.match(mail.text, /Provider: Acme/);
  assertRefused(await elsewhere.delete(`${OWN}/${identity.id}`), 404, 'identity_not_found');
});

test('who disconnects what they are signed in with is signed out', async () => {
  const { client, identity } = await connected();
  await beginWith(service, identity);
  const answer = await client.delete(`${OWN}/${identity.id}`);
  assert.deepEqual(answer.body.data, { sessions: 1, signed_out: true }, answer.text);
  assert.match(answer.headers.getSetCookie().join('\n'), /^refresh_token=; .*Max-Age=0/m);
  assertRefused(await client.get(OWN), 401, 'token_revoked');
});

test('a session that took the place of one that began with it ends, too', async () => {
  const { client, person, identity } = await connected();
  await beginWith(service, identity);
  await enrol(client);
  const renewed = client.accessToken ?? '';
  assert.equal(await isAccepted(twin, renewed), true);
  assert.equal((await admin.delete(`${ofUser(person)}/${identity.id}`)).body.data.sessions, 1);
  assert.equal(await isAccepted(twin, renewed), false);
});

test('it takes a recent proof: of the factor, where there is one', async () => {
  const { client, person, identity } = await connected();
  await age(person);
  assertRefused(await client.delete(`${OWN}/${identity.id}`), 403, 'step_up_required');
  const strong = await connected();
  const { secret } = await enrol(strong.client);
  await forgetStep(service, strong.person);
  await service.sql(
    "update session_tokens set auth_time = auth_time - interval '1 hour' where user_id = $1",
    [strong.person.id],
  );
  assertRefused(await strong.client.delete(`${OWN}/${strong.identity.id}`), 403, 'step_up_required');
  const proved = await strong.client.post('/api/v1/auth/step-up', { totp: codeOf(secret) });
  strong.client.accessToken = proved.body.data.access_token;
  assert.equal((await strong.client.delete(`${OWN}/${strong.identity.id}`)).status, 200);
});

test('bad requests: another person’s, no UUID, no CSRF token, nobody', async () => {
  const { client, identity } = await connected();
  const stranger = await connected();
  assertRefused(await stranger.client.delete(`${OWN}/${identity.id}`), 404, 'identity_not_found');
  assertRefused(await client.delete(`${OWN}/${randomUUID()}`), 404, 'identity_not_found');
  assertRefused(await client.delete(`${OWN}/x`), 400, 'invalid_id');
  assertRefused(
    await client.delete(`${OWN}/${identity.id}`, undefined, { headers: { 'x-csrf-token': null } }),
    403,
    'csrf_invalid',
  );
  const nobody = service.client();
  assertRefused(await nobody.get(OWN), 401, 'token_missing');
  assertRefused(await nobody.delete(`${OWN}/${identity.id}`), 401, 'token_missing');
  assert.deepEqual((await idsOf(stranger.person)).length, 1);
});

test('the last way to sign in stays', async () => {
  const refused = async (label: string, { client, identity }: Connected) => {
    assertRefused(await client.delete(`${OWN}/${identity.id}`), 409, 'last_sign_in_method');
    assert.ok((await idsOf({ id: identity.userId })).includes(identity.id), label);
  };
  const allowed = async (label: string, { client, identity }: Connected) =>
    assert.equal((await client.delete(`${OWN}/${identity.id}`)).status, 200, label);

  await refused('nothing else', await connected({ password: false }));
  await allowed('a password', await connected());

  const two = await connected({ password: false });
  await addIdentity(service, hidden, two.person.id);
  await allowed('an identity of a provider without a button', two);
  const off = await connected({ password: false });
  await addIdentity(service, inactive, off.person.id);
  await refused('an identity of an inactive provider', off);
  const boss = await connected({ password: false, superuser: true });
  await addIdentity(service, other, boss.person.id);
  await refused('an identity of a provider that takes no superusers', boss);

  const key = await connected({ password: false });
  await addPasskey(key.person);
  await service.sql("update sessions set proof = 'password+passkey' where user_id = $1", [key.person.id]);
  await service.sql(
    "update session_tokens set acr = 'phr', amr = '{pwd,pop,user,mfa}', auth_time = now() where user_id = $1",
    [key.person.id],
  );
  await allowed('a passkey', key);
  for (const fields of [{ kind: 'security_key' }, { rp_id: 'elsewhere.example' }]) {
    const weak = await connected({ password: false });
    await addPasskey(weak.person, fields);
    await service.sql(
      "update session_tokens set acr = 'phr', amr = '{pwd,pop,user,mfa}', auth_time = now() where user_id = $1",
      [weak.person.id],
    );
    await refused(JSON.stringify(fields), weak);
  }
});

test('a password is no other way where the domain requires a provider', async () => {
  const required = await addProvider(service, { domains: ['must.example'], required_for_domains: true });
  const { requiredProviders } = service.service.deps;
  const person = await addPerson(service, { email: `ada-${randomUUID()}@must.example` });
  const client = await signIn(twin, person);
  const identity = await addIdentity(service, required, person.id);
  await requiredProviders.load();
  assertRefused(await client.at(service.url).delete(`${OWN}/${identity.id}`), 409, 'last_sign_in_method');
  await service.sql('delete from identities where provider_id = $1', [required.id]);
  await service.sql('delete from identity_providers where id = $1', [required.id]);
  await requiredProviders.load();
});

test('of two identities that are disconnected at once by two sessions, one stays', async () => {
  const first = await connected();
  const second = await signIn(twin, first.person);
  await takePassword(first.person);
  const last = await addIdentity(service, other, first.person.id);
  const answers = await volley([
    { client: first.client, method: 'DELETE', path: `${OWN}/${first.identity.id}`, hold: 'head' },
    { client: second, method: 'DELETE', path: `${OWN}/${last.id}`, hold: 'head' },
  ]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409]);
  assert.equal((await idsOf(first.person)).length, 1);
});

test('a session that ends while its request waits disconnects nothing', async () => {
  const { client, person, identity } = await connected();
  const answer = await changeUserWhileWaiting(
    service,
    person.id,
    'update users set session_epoch = session_epoch + 1 where id = $1',
    () => client.delete(`${OWN}/${identity.id}`),
  );
  assertRefused(answer, 401, 'token_revoked');
  assert.deepEqual(await idsOf(person), [identity.id]);
});

test('administrators disconnect by their standing, also the last way, and end mailed links', async () => {
  const { client: reader } = await signedInWith(service, 'users.read');
  const { client: desk } = await signedInWith(service, 'users.read', 'users.update');
  const customer = await connected({ password: false });
  await beginWith(service, customer.identity);
  const at = `${ofUser(customer.person)}/${customer.identity.id}`;
  assert.equal((await reader.get(ofUser(customer.person))).body.data.length, 1);
  assertRefused(await reader.delete(at), 403, 'permission_denied');
  assertRefused(await customer.client.delete(at), 403, 'permission_denied');
  assertRefused(await customer.client.get(ofUser(customer.person)), 403, 'permission_denied');
  await service.client().post('/api/v1/auth/password-reset/request', { email: customer.person.email });
  const pending = await eventually(async () => {
    const rows = await service.sql('select from one_time_tokens where user_id = $1', [customer.person.id]);
    return rows.length > 0 || undefined;
  }, 'the link');
  assert.ok(pending);
  const done = await desk.delete(at);
  assert.deepEqual([done.status, done.body.data], [200, { sessions: 1, signed_out: false }], done.text);
  assert.equal(await isAccepted(twin, customer.client.accessToken ?? ''), false);
  assert.deepEqual(
    await service.sql('select from one_time_tokens where user_id = $1', [customer.person.id]),
    [],
  );
  const [entry] = await eventsOf(service, done);
  assert.equal(entry?.action, 'identity_disconnected');
  await eventually(() => mailsTo(service, customer.person.email, 'identity_disconnected')[0], 'the mail');

  const stronger = await connected({ roles: [await addRole(service, 'role.delete')] });
  const boss = await connected({ superuser: true });
  for (const [target, code] of [
    [stronger, 'privilege_escalation'],
    [boss, 'superuser_required'],
  ] as const) {
    assertRefused(await desk.delete(`${ofUser(target.person)}/${target.identity.id}`), 403, code);
    assert.deepEqual(await idsOf(target.person), [target.identity.id]);
  }
  assertRefused(
    await desk.delete(`${ofUser(stronger.person)}/${customer.identity.id}`),
    403,
    'privilege_escalation',
  );
  assertRefused(
    await admin.delete(`${ofUser(stronger.person)}/${boss.identity.id}`),
    404,
    'identity_not_found',
  );
  const nobody = { id: randomUUID() };
  assertRefused(await admin.delete(`${ofUser(nobody)}/${boss.identity.id}`), 404, 'user_not_found');
  assertRefused(await admin.get(ofUser(nobody)), 404, 'user_not_found');
  for (const method of ['post', 'put'] as const)
    assert.equal((await admin[method](ofUser(stronger.person), { subject: 'x' })).status, 405);
});

test('an administrator’s own identity takes what their own operation takes', async () => {
  const person = await addPerson(service, { superuser: true });
  const client = await signIn(service, person);
  const identity = await addIdentity(service, acme, person.id);
  const at = `${ofUser({ id: person.id.toUpperCase() })}/${identity.id}`;
  await takePassword(person);
  assertRefused(await client.delete(at), 409, 'last_sign_in_method');
  await age(person);
  assertRefused(await client.delete(at), 403, 'step_up_required');
  assert.deepEqual(await idsOf(person), [identity.id]);
});

test('sessions say which provider they began with', async () => {
  const { client, person, identity } = await connected();
  const plain = (await client.get('/api/v1/auth/sessions')).body.data[0];
  assert.ok(!('provider' in plain) && !('methods' in plain));
  const session = await beginWith(service, identity);
  for (const [path, at] of [
    ['/api/v1/auth/sessions', client],
    [`/api/v1/users/${person.id}/sessions`, admin],
    [`/api/v1/sessions?user_id=${person.id}`, admin],
  ] as const) {
    const [found] = (await at.get(path)).body.data.filter(({ id }: { id: string }) => id === session);
    assert.deepEqual(
      [found.methods, found.provider],
      [['provider'], { slug: acme.slug, name: 'Acme' }],
      path,
    );
  }
});

test('deleting the account deletes its identities; a reset of the password does not', async () => {
  const { person, identity } = await connected();
  assert.equal(
    (await admin.put(`/api/v1/users/${person.id}`, { password: 'Marble?Tundra61Fox' })).status,
    200,
  );
  assert.deepEqual(await idsOf(person), [identity.id]);
  assert.equal((await admin.put(`/api/v1/users/${person.id}`, { is_active: false })).status, 200);
  assert.deepEqual(await idsOf(person), [identity.id]);
  assert.equal((await admin.delete(`/api/v1/users/${person.id}`)).status, 200);
  assert.deepEqual(await idsOf(person), []);
});
