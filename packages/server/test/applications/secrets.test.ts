// The secrets of applications: how they are created, shown once and revoked; and the keys that come with the first application.
import assert from 'node:assert/strict';
import { createHash, randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { crc32 } from 'node:zlib';
import { assertRefused } from '@castellan/testing/http/fixture';
import { changesOf } from '@castellan/testing/records/fixture';
import { signedInWith, tally } from '@castellan/testing/users/people';
import { cleanUp } from '../../src/cleanup.ts';
import { assertFieldRefused, makeApplication, newClientId, path, startWithAdmin } from './fixture.ts';

const { service, admin } = await startWithAdmin({ after });

/** As the format is documented: CRC-32 in base62. */
function checksumOf(text: string): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  let [rest, found] = [crc32(text), ''];
  for (; found.length < 6; rest = Math.floor(rest / 62)) found = `${digits[rest % 62]}${found}`;
  return found;
}

function assertForm(secret: string): void {
  assert.match(secret, /^cas_cs_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/);
  assert.equal(secret.slice(-6), checksumOf(secret.slice(0, -7)));
}

test('a secret has the documented form, is shown once, and only its hash is stored', async () => {
  const made = await makeApplication(admin);
  assertForm(made.client_secret);
  const created = await admin.post(`${path}/${made.id}/secrets`, { name: ' 2027 ' });
  assert.equal(created.status, 201, created.text);
  const { id, secret, prefix, created_at, ...rest } = created.body.data;
  assert.deepEqual(rest, { name: '2027', expires_at: null, last_used_at: null });
  assertForm(secret);
  assert.equal(prefix, secret.slice(0, 13));
  const { data } = (await admin.get(`${path}/${made.id}/secrets`)).body;
  assert.deepEqual(data[0], { id, prefix, created_at, ...rest });
  assert.deepEqual([data.length, data[1].prefix], [2, made.client_secret.slice(0, 13)]);
  const rows = await service.sql<{ secret_hash: Buffer; text: string }>(
    'select secret_hash, s::text as text from application_secrets s where application_id = $1 order by created_at desc',
    [made.id],
  );
  for (const [index, text] of [secret, made.client_secret].entries()) {
    assert.deepEqual(rows[index]?.secret_hash, createHash('sha256').update(text).digest());
    assert.equal(JSON.stringify(rows).includes(text), false);
  }
});

test('a replay for an Idempotency-Key returns the record without the secret', async () => {
  const options = () => ({ headers: { 'idempotency-key': randomUUID() } });
  const client_id = newClientId();
  const { id } = await makeApplication(admin);
  for (const [url, body, shown] of [
    [path, { client_id, name: client_id }, 'client_secret'],
    [`${path}/${id}/secrets`, { name: 'Again' }, 'secret'],
  ] as const) {
    const same = options();
    const first = await admin.post(url, body, same);
    const replay = await admin.post(url, body, same);
    assert.deepEqual([first.status, replay.status], [201, 201], replay.text);
    assert.equal(replay.headers.get('idempotency-replayed'), 'true');
    const { [shown]: secret, ...record } = first.body.data;
    assertForm(secret);
    assert.deepEqual(replay.body.data, record);
    const stored = await service.sql<{ body: string }>('select body from idempotency_keys where key = $1', [
      same.headers['idempotency-key'],
    ]);
    assert.equal(stored[0]?.body.includes(secret), false);
  }
});

test('an application has at most five live secrets, also when they are created at once', async () => {
  const { id } = await makeApplication(admin);
  const url = `${path}/${id}/secrets`;
  const answers = await Promise.all(Array.from({ length: 10 }, () => admin.post(url, {})));
  assert.deepEqual(tally(answers), { 201: 4, 409: 6 });
  assert.equal(answers.find(({ status }) => status === 409)?.body.code, 'too_many_secrets');
  await service.sql(
    `update application_secrets set expires_at = now() - interval '1 second' where id =
       (select id from application_secrets where application_id = $1 order by id limit 1)`,
    [id],
  );
  assert.equal((await admin.get(url)).body.data.length, 5);
  assert.equal((await admin.post(url, {})).status, 201);
  assertRefused(await admin.post(url, {}), 409, 'too_many_secrets');
});

test('a secret that has ended is kept for a month, revoked or not', async () => {
  const { id } = await makeApplication(admin);
  const url = `${path}/${id}/secrets`;
  const [revoked, expired] = [
    (await admin.post(url, {})).body.data.id,
    (await admin.post(url, {})).body.data.id,
  ];
  await admin.delete(`${url}/${revoked}`);
  await service.sql(`update application_secrets set expires_at = now() where id = $1`, [expired]);
  const kept = async () => {
    await cleanUp(service.service.deps);
    const rows = await service.sql<{ id: string }>(
      'select id from application_secrets where application_id = $1',
      [id],
    );
    return rows.length;
  };
  const pass = (days: number) =>
    service.sql(
      `update application_secrets set revoked_at = revoked_at - make_interval(days => $2),
         expires_at = expires_at - make_interval(days => $2) where application_id = $1`,
      [id, days],
    );
  await pass(29);
  assert.equal(await kept(), 3);
  await pass(1);
  assert.equal(await kept(), 1);
});

test('a revoked secret is gone, and the others stay', async () => {
  const made = await makeApplication(admin);
  const url = `${path}/${made.id}/secrets`;
  const { id, prefix } = (await admin.post(url, {})).body.data;
  const other = await makeApplication(admin);
  assertRefused(await admin.delete(`${path}/${other.id}/secrets/${id}`), 404, 'application_secret_not_found');
  const revoked = await admin.delete(`${url}/${id}`);
  assert.deepEqual([revoked.status, revoked.body.data.prefix], [200, prefix], revoked.text);
  assertRefused(await admin.delete(`${url}/${id}`), 404, 'application_secret_not_found');
  assert.deepEqual(
    (await admin.get(url)).body.data.map((one: { prefix: string }) => one.prefix),
    [made.client_secret.slice(0, 13)],
  );
  const entry = (await changesOf(service, made.id)).at(-1);
  assert.equal(entry?.action, 'application_secret_revoked');
  assert.deepEqual([entry?.details.secret_id, entry?.details.prefix], [id, prefix]);
});

test('a secret ends in the future, and needs the permission to change applications', async () => {
  const { id } = await makeApplication(admin);
  const url = `${path}/${id}/secrets`;
  for (const expires_at of ['2020-01-01T00:00:00Z', '+012026-01-01T00:00:00Z'])
    assertFieldRefused(await admin.post(url, { expires_at }), 'expires_at');
  const kept = await admin.post(url, { expires_at: '2099-01-31T08:00:00Z' });
  assert.equal(kept.body.data.expires_at, '2099-01-31T08:00:00.000Z');
  const { client } = await signedInWith(service, 'application.read', 'application.create');
  assertRefused(await client.post(url, {}), 403, 'permission_denied');
  assertRefused(await client.delete(`${url}/${kept.body.data.id}`), 403, 'permission_denied');
});

test('the first application brings its signing keys, which every page may read', async (t) => {
  const { service: own, admin: client } = await startWithAdmin(t);
  const read = async () => {
    await own.service.deps.keyRing.load();
    const headers = { origin: 'https://app.example.com' };
    return own.client().get('/api/v1/oauth/jwks.json', { headers });
  };
  const before = await read();
  assert.deepEqual([before.body, before.headers.get('cache-control')], [{ keys: [] }, 'no-store']);
  await Promise.all([makeApplication(client), makeApplication(client)]);
  await makeApplication(client);
  const { body, headers } = await read();
  assert.deepEqual(body.keys.map((key: { alg: string }) => key.alg).sort(), ['ES256', 'RS256']);
  assert.deepEqual(
    [headers.get('cache-control'), headers.get('access-control-allow-origin')],
    ['public, max-age=300', '*'],
  );
  const all = (await own.client().get('/.well-known/jwks.json')).body.keys;
  assert.deepEqual(all.map((key: { alg: string }) => key.alg).sort(), ['ES256', 'EdDSA', 'RS256']);
});
