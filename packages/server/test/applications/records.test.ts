// The records of applications: what a new one has, who may create, change and delete them, and who decides who may sign in.
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { changesOf, etagOf, makePermission, permissionId } from '@castellan/testing/records/fixture';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { addPerson, signedInWith, tally } from '@castellan/testing/users/people';
import { makeApplication, newClientId, path, startWithAdmin } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });
const twin = await service.another();
const everything = ['read', 'create', 'update', 'delete'].map((action) => `application.${action}`);

test('an application is created with defaults, read, listed, changed and deleted, each with its audit entry', async () => {
  const client_id = newClientId();
  const created = await admin.post(path, { client_id, name: 'Grafana' });
  assert.equal(created.status, 201, created.text);
  const { id, created_at, updated_at, created_by_id, client_secret, ...fields } = created.body.data;
  assert.deepEqual(fields, {
    client_id,
    name: 'Grafana',
    description: '',
    type: 'web',
    is_active: true,
    auth_method: 'secret',
    home_url: null,
    policy_url: null,
    terms_url: null,
    jwks: null,
    jwks_url: null,
    grant_types: ['authorization_code', 'refresh_token'],
    redirect_uris: [],
    post_logout_redirect_uris: [],
    allowed_origins: [],
    backchannel_logout_url: null,
    first_party: true,
    required_permission_id: null,
    scopes: ['openid', 'profile', 'email', 'roles', 'groups'],
    claims: [],
    resources: [],
    subject_type: 'public',
    sector: null,
    id_token_signing_alg: 'RS256',
    id_token_claims: 'all',
    require_pkce: true,
    require_par: false,
    require_dpop: false,
    access_token_seconds: 300,
    id_token_seconds: 300,
    refresh_idle_days: 7,
    grant_days: 30,
    default_max_age: null,
  });
  assert.ok(created_by_id);
  const read = await admin.get(`${path}/${id}`);
  assert.deepEqual(read.body.data, { id, created_at, updated_at, created_by_id, ...fields });
  assert.equal(etagOf(read), etagOf(created));
  for (const query of [
    'search=GRAFANA',
    `search=${client_id.slice(4)}`,
    'type=web&is_active=true&search=graf',
  ])
    assert.deepEqual(
      (await admin.get(`${path}?${query}`)).body.data,
      [{ ...read.body.data, people: 0, last_sign_in_at: null }],
      query,
    );
  for (const query of ['search=grafana&type=spa', 'search=grafana&is_active=false'])
    assert.deepEqual((await admin.get(`${path}?${query}`)).body.data, [], query);

  const redirect_uris = ['https://grafana.example.com/login/generic_oauth'];
  const changed = await admin.put(`${path}/${id}`, { redirect_uris, require_pkce: false, is_active: false });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(changed.body.data, {
    ...read.body.data,
    redirect_uris,
    require_pkce: false,
    is_active: false,
    updated_at: changed.body.data.updated_at,
  });
  assert.notEqual(etagOf(changed), etagOf(read));
  assert.equal((await admin.delete(`${path}/${id}`)).status, 200);
  assertRefused(await admin.get(`${path}/${id}`), 404, 'application_not_found');
  const entries = await changesOf(service, id);
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['application_created', 'application_secret_created', 'application_updated', 'application_deleted'],
  );
  assert.deepEqual(entries[2]?.details.before, { redirect_uris: [], require_pkce: true, is_active: true });
  assert.deepEqual(entries[2]?.details.after, { redirect_uris, require_pkce: false, is_active: false });
  assert.equal(JSON.stringify(entries).includes(client_secret), false);
});

test('the type sets how an application authenticates itself and what it may ask for', async () => {
  for (const [type, auth_method, grant] of [
    ['spa', 'none', 'authorization_code'],
    ['native', 'none', 'authorization_code'],
    ['device', 'none', 'device_code'],
  ]) {
    const made = await makeApplication(admin, { type });
    assert.deepEqual(
      [made.type, made.auth_method, made.grant_types, made.require_pkce, 'client_secret' in made],
      [type, auth_method, [grant, 'refresh_token'], true, false],
    );
  }
});

test('a change that changes nothing writes nothing, and If-Match refuses an old version', async () => {
  const made = await makeApplication(admin, { redirect_uris: ['https://a.example/cb'] });
  const whole = await admin.get(`${path}/${made.id}`);
  const before = await changesOf(service, made.id);
  const headers = { 'if-match': etagOf(whole) };
  const same = await admin.put(`${path}/${made.id}`, whole.body.data, { headers });
  assert.deepEqual([same.status, etagOf(same)], [200, etagOf(whole)], same.text);
  assert.deepEqual(await changesOf(service, made.id), before);
  await admin.put(`${path}/${made.id}`, { description: 'Other' });
  for (const refused of [
    await admin.put(`${path}/${made.id}`, { description: 'Late' }, { headers }),
    await admin.delete(`${path}/${made.id}`, undefined, { headers }),
  ]) {
    assertRefused(refused, 412, 'precondition_failed');
    assert.equal(refused.body.current.description, 'Other');
  }
});

test('the same keys with their members in another order change nothing', async () => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' };
  const made = await makeApplication(admin, { auth_method: 'private_key_jwt', jwks: { keys: [key] } });
  const before = etagOf(await admin.get(`${path}/${made.id}`));
  const turned = Object.fromEntries(Object.entries(key).reverse());
  const same = await admin.put(`${path}/${made.id}`, { jwks: { keys: [turned] } });
  assert.deepEqual([same.status, etagOf(same)], [200, before], same.text);
  assert.equal((await changesOf(service, made.id)).length, 1);
});

test('client ids and names are taken once, also by two requests at once', async () => {
  const made = await makeApplication(admin);
  const other = await makeApplication(admin);
  const again = await admin.post(path, { client_id: made.client_id, name: 'Another name' });
  assertRefused(again, 409, 'name_taken');
  assert.equal(again.body.errors[0].field, 'client_id');
  const { name } = made;
  assertRefused(
    await admin.post(path, { client_id: newClientId(), name: name.toUpperCase() }),
    409,
    'name_taken',
  );
  assertRefused(await admin.put(`${path}/${other.id}`, { name }), 409, 'name_taken');
  const client_id = newClientId();
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      admin.at([service, twin][index % 2]?.url ?? '').post(path, { client_id, name: `Racer ${index}` }),
    ),
  );
  assert.deepEqual(tally(answers), { 201: 1, 409: 7 });
});

test('the client id and the type are fixed', async () => {
  const made = await makeApplication(admin);
  for (const [field, value] of [
    ['client_id', newClientId()],
    ['type', 'spa'],
  ] as const) {
    const refused = await admin.put(`${path}/${made.id}`, { [field]: value, description: 'Never' });
    assertRefused(refused, 400, 'field_not_allowed');
    assert.equal(refused.body.errors[0].field, field);
  }
  assert.equal((await admin.get(`${path}/${made.id}`)).body.data.description, '');
});

test('unknown ids are 404', async () => {
  for (const [method, below] of [
    ['GET', ''],
    ['PUT', ''],
    ['DELETE', ''],
    ['GET', '/secrets'],
    ['POST', '/secrets'],
    ['DELETE', `/secrets/${randomUUID()}`],
  ] as const)
    assertRefused(
      await admin.request(method, `${path}/${randomUUID()}${below}`, method === 'GET' ? {} : { json: {} }),
      404,
      'application_not_found',
    );
});

test('who decides who may sign in holds the permission that decides', async () => {
  const { client } = await signedInWith(service, ...everything, 'role.read');
  const [held, lacked] = [
    await permissionId(service, 'role.read'),
    await permissionId(service, 'users.delete'),
  ];
  const escalation = 'privilege_escalation';
  const body = () => ({ client_id: newClientId(), name: newClientId() });
  assertRefused(await client.post(path, { ...body(), required_permission_id: lacked }), 403, escalation);
  const own = await makeApplication(client, { required_permission_id: held.toUpperCase() });
  assert.equal(own.required_permission_id, held);
  assertRefused(await client.put(`${path}/${own.id}`, { required_permission_id: lacked }), 403, escalation);
  const strict = await makeApplication(admin, { required_permission_id: lacked });
  for (const required_permission_id of [null, held])
    assertRefused(await client.put(`${path}/${strict.id}`, { required_permission_id }), 403, escalation);
  assertRefused(await client.delete(`${path}/${strict.id}`), 403, escalation);
  assert.equal((await client.put(`${path}/${strict.id}`, { description: 'Mine' })).status, 200);
  assert.equal((await client.put(`${path}/${own.id}`, { required_permission_id: null })).status, 200);
  const unknown = await admin.put(`${path}/${own.id}`, { required_permission_id: randomUUID() });
  assertRefused(unknown, 404, 'permission_not_found');
});

test('a permission that an application requires is in use', async () => {
  const permission = await makePermission(admin);
  const made = await makeApplication(admin, { required_permission_id: permission.id });
  assertRefused(await admin.delete(`/api/v1/permissions/${permission.id}`), 409, 'permission_in_use');
  await admin.delete(`${path}/${made.id}`);
  assert.equal((await admin.delete(`/api/v1/permissions/${permission.id}`)).status, 200);
});

test('a caller who loses the permission while a change waits changes nothing', async () => {
  const made = await makeApplication(admin);
  for (const request of ['PUT', 'DELETE', 'POST'] as const) {
    const { client, person } = await signedInWith(service, ...everything);
    const below = request === 'POST' ? `${path}/${made.id}/secrets` : `${path}/${made.id}`;
    const answer = await changeUserWhileWaiting(
      service,
      person.id,
      'delete from user_roles where user_id = $1',
      () => client.request(request, below, { json: request === 'PUT' ? { description: 'Late' } : {} }),
    );
    assertRefused(answer, 403, 'permission_denied');
  }
  assert.equal((await admin.get(`${path}/${made.id}`)).body.data.description, '');
  assert.equal((await admin.get(`${path}/${made.id}/secrets`)).body.data.length, 1);
});

test('an application stays when its author is deleted, and its version stays, too', async () => {
  const { client, person } = await signedInWith(service, ...everything);
  const made = await makeApplication(client);
  const before = etagOf(await admin.get(`${path}/${made.id}`));
  assert.equal((await admin.post(`/api/v1/users/${person.id}/roles`, { role_ids: [] })).status, 200);
  assert.equal((await admin.delete(`/api/v1/users/${person.id}`)).status, 200);
  const kept = await admin.get(`${path}/${made.id}`);
  assert.deepEqual([kept.status, kept.body.data.created_by_id, etagOf(kept)], [200, null, before]);
});

test('somebody without a permission reads nothing', async () => {
  const made = await makeApplication(admin);
  const person = await addPerson(service);
  const client = service.client();
  await client.login(person);
  for (const below of ['', `/${made.id}`, `/${made.id}/secrets`])
    assertRefused(await client.get(`${path}${below}`), 403, 'permission_denied');
});
