// Idempotency-Key: what is replayed, refused and forgotten, tested on the creation of roles and users.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { statementsOf } from '@castellan/testing/statements';
import { signedInWith, tally } from '@castellan/testing/users/people';
import pg from 'pg';
import { removeSessionRows } from '../src/cleanup.ts';
import { deleteOldIdempotencyKeys } from '../src/platform/http/plugins/idempotency.ts';

const service = await startTestService({ after });
const twin = await service.another();
const admin = await signIn(service, ADMIN);

const newName = () => `Role ${randomUUID()}`;
const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });
const makeRole = (key: string, body: object, client: TestClient = admin) =>
  client.post('/api/v1/roles', body, withKey(key));
const rolesNamed = async (name: string) =>
  (await service.sql('select from roles where name = $1', [name])).length;
const kept = (key: string) =>
  service.sql<{ status: number | null; body: string | null; request_hash: Buffer }>(
    'select * from idempotency_keys where key = $1',
    [key],
  );

test('a retry gets the first answer byte by byte, with status, ETag and content type, at every instance', async () => {
  const [key, name] = [randomUUID(), newName()];
  const first = await makeRole(key, { name });
  assert.equal(first.status, 201, first.text);
  assert.equal(first.headers.get('idempotency-replayed'), null);
  for (const client of [admin, admin.at(twin.url)]) {
    const again = await makeRole(key, { name }, client);
    assert.equal(again.status, 201);
    assert.equal(again.text, first.text);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    for (const header of ['etag', 'content-type', 'cache-control', 'x-content-type-options'])
      assert.equal(again.headers.get(header), first.headers.get(header), header);
    assert.notEqual(again.headers.get('x-request-id'), first.headers.get('x-request-id'));
  }
  assert.equal(await rolesNamed(name), 1);
});

test('the first answer is replayed even if the record has changed or was deleted since', async () => {
  const [key, name] = [randomUUID(), newName()];
  const first = await makeRole(key, { name });
  assert.equal((await admin.delete(`/api/v1/roles/${first.body.data.id}`)).status, 204);
  assert.equal((await makeRole(key, { name })).text, first.text);
  assert.equal(await rolesNamed(name), 0);
});

test('a user is created once, a retry with another password is another request, and no password is stored', async () => {
  const key = randomUUID();
  const body = { email: newEmail(), password: PASSWORD, first_name: 'Ida', last_name: 'Wells', role_id: [] };
  const first = await admin.post('/api/v1/users', body, withKey(key));
  assert.equal(first.status, 201, first.text);
  const again = await admin.post('/api/v1/users', body, withKey(key));
  assert.equal(again.text, first.text);
  assertRefused(
    await admin.post('/api/v1/users', { ...body, password: `${PASSWORD}x` }, withKey(key)),
    422,
    'idempotency_key_reused',
  );
  const stored = JSON.stringify(await kept(key));
  assert.ok(!stored.includes(PASSWORD));
});

test('the key with another body or another operation is 422 and creates nothing', async () => {
  const [key, name, other] = [randomUUID(), newName(), newName()];
  assert.equal((await makeRole(key, { name })).status, 201);
  assertRefused(await makeRole(key, { name: other }), 422, 'idempotency_key_reused');
  assertRefused(
    await admin.post('/api/v1/role-groups', { name }, withKey(key)),
    422,
    'idempotency_key_reused',
  );
  assert.equal(await rolesNamed(other), 0);
});

test('a key belongs to one user', async () => {
  const key = randomUUID();
  const { client } = await signedInWith(service, 'role.create');
  for (const one of [admin, client]) {
    const made = await makeRole(key, { name: newName() }, one);
    assert.equal(made.status, 201, made.text);
    assert.equal(made.headers.get('idempotency-replayed'), null);
  }
});

test('a user who lost the permission gets no replay', async () => {
  const [key, name] = [randomUUID(), newName()];
  const { client, person } = await signedInWith(service, 'role.create');
  assert.equal((await makeRole(key, { name }, client)).status, 201);
  await service.sql('delete from user_roles where user_id = $1', [person.id]);
  assertRefused(await makeRole(key, { name }, client), 403, 'permission_denied');
});

/** Blocks inserts into this table until the returned function is called. */
async function block(table: string): Promise<() => Promise<void>> {
  const blocker = new pg.Client(service.databaseUrl);
  await blocker.connect();
  await blocker.query(`begin; lock table ${table} in share row exclusive mode`);
  return () => blocker.end();
}

test('while the first request is running, a second is 409 with Retry-After and does not wait', async () => {
  const [key, name] = [randomUUID(), newName()];
  const unblock = await block('roles');
  const first = makeRole(key, { name });
  try {
    await eventually(async () => (await kept(key))[0], 'the key to be claimed');
    const second = await makeRole(key, { name }, admin.at(twin.url));
    assertRefused(second, 409, 'idempotency_in_progress');
    assert.ok(Number(second.headers.get('retry-after')) >= 1);
  } finally {
    await unblock();
  }
  assert.equal((await first).status, 201);
  assert.equal((await makeRole(key, { name })).text, (await first).text);
});

test('a client that disconnected before the answer gets it by a retry', async () => {
  const [key, name] = [randomUUID(), newName()];
  const unblock = await block('roles');
  const hangUp = new AbortController();
  const first = fetch(`${service.url}/api/v1/roles`, {
    method: 'POST',
    signal: hangUp.signal,
    headers: {
      authorization: `Bearer ${admin.accessToken}`,
      cookie: [...admin.cookies].map((pair) => pair.join('=')).join('; '),
      'x-csrf-token': (await admin.get('/api/v1/auth/csrf-token')).body.data.csrf_token,
      'content-type': 'application/json',
      ...withKey(key).headers,
    },
    body: JSON.stringify({ name }),
  });
  try {
    await eventually(async () => (await kept(key))[0], 'the key to be claimed');
    hangUp.abort();
    await assert.rejects(first, /abort/i);
  } finally {
    await unblock();
  }
  const retried = await eventually(async () => {
    const answer = await makeRole(key, { name });
    return answer.status === 409 ? undefined : answer;
  }, 'the first request to end');
  assert.equal(retried.status, 201, retried.text);
  assert.equal(retried.headers.get('idempotency-replayed'), 'true');
  assert.equal(await rolesNamed(name), 1);
});

test('16 parallel requests with one key at two instances create one record; all answers are that one or 409', async () => {
  for (let round = 0; round < 3; round += 1) {
    const [key, name] = [randomUUID(), newName()];
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, index) =>
        makeRole(key, { name }, index % 2 ? admin : admin.at(twin.url)),
      ),
    );
    for (const answer of answers)
      if (answer.status !== 201) assertRefused(answer, 409, 'idempotency_in_progress');
    const made = answers.filter(({ status }) => status === 201);
    assert.equal(new Set(made.map(({ text }) => text)).size, 1, JSON.stringify(tally(answers)));
    assert.equal(made.filter(({ headers }) => !headers.has('idempotency-replayed')).length, 1);
    assert.equal(await rolesNamed(name), 1);
  }
});

test('a key whose request died can be claimed after the lease, not before, and only once', async () => {
  const [key, name] = [randomUUID(), newName()];
  const [owner] = await service.sql<{ id: string }>('select id from users where email = $1', [ADMIN.email]);
  const insert = `insert into idempotency_keys (user_id, key, request_hash, created_at)
    values ($1, $2, '\\x00', now() - make_interval(secs => $3))`;
  await service.sql(insert, [owner?.id, key, 100]);
  const early = await makeRole(key, { name });
  assert.ok(early.status === 422 || early.status === 409, early.text);
  await service.sql('delete from idempotency_keys where key = $1', [key]);
  await service.sql(insert, [owner?.id, key, 121]);
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => makeRole(key, { name }, index % 2 ? admin : admin.at(twin.url))),
  );
  assert.ok(answers.every(({ status }) => status === 201 || status === 409));
  assert.equal(await rolesNamed(name), 1);
  assert.equal((await makeRole(key, { name })).headers.get('idempotency-replayed'), 'true');
});

test('a key older than 24 hours is a new key', async () => {
  const [key, name, later] = [randomUUID(), newName(), newName()];
  const age = (hours: number) =>
    service.sql('update idempotency_keys set created_at = now() - make_interval(secs => $2) where key = $1', [
      key,
      hours * 3_600,
    ]);
  assert.equal((await makeRole(key, { name })).status, 201);
  await age(23.9);
  assert.equal((await makeRole(key, { name })).headers.get('idempotency-replayed'), 'true');
  await age(24.1);
  const made = await makeRole(key, { name: later });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.get('idempotency-replayed'), null);
  assert.equal((await makeRole(key, { name: later })).text, made.text);
});

test('a server error is not stored: the retry creates the record', async () => {
  const [key, name] = [randomUUID(), newName()];
  await service.sql('alter table role_permissions rename to role_permissions_away');
  try {
    const failed = await makeRole(key, { name, permission_ids: [] });
    assert.ok(failed.status >= 500, failed.text);
    assert.deepEqual(await kept(key), []);
  } finally {
    await service.sql('alter table role_permissions_away rename to role_permissions');
  }
  const made = await makeRole(key, { name, permission_ids: [] });
  assert.equal(made.status, 201, made.text);
  assert.equal(made.headers.get('idempotency-replayed'), null);
});

test('a refusal is not stored: it created nothing, and the retry may succeed', async () => {
  const [key, name] = [randomUUID(), newName()];
  const inTheWay = await makeRole(randomUUID(), { name });
  for (let attempt = 0; attempt < 2; attempt += 1)
    assertRefused(await makeRole(key, { name }), 409, 'name_taken');
  assert.deepEqual(await kept(key), []);
  assertRefused(await makeRole(key, { name: '' }), 422, 'validation_failed');
  assert.equal((await admin.delete(`/api/v1/roles/${inTheWay.body.data.id}`)).status, 204);
  assert.equal((await makeRole(key, { name })).status, 201);
});

test('a key that is empty, too long or not visible ASCII is 400, and nothing is created', async () => {
  const name = newName();
  for (const key of ['', 'two words', 'x'.repeat(256), 'clé', 'tab\there'])
    assertRefused(await makeRole(key, { name }), 400, 'malformed_request');
  assert.equal(await rolesNamed(name), 0);
  const longest = `~!${randomUUID().padEnd(253, '"')}`;
  assert.equal(longest.length, 255);
  assert.equal((await makeRole(longest, { name })).status, 201);
  assert.equal((await makeRole(longest, { name })).headers.get('idempotency-replayed'), 'true');
});

test('a key on an operation that creates nothing is ignored, even an invalid one', async () => {
  const made = await makeRole(randomUUID(), { name: newName() });
  const key = randomUUID();
  const path = `/api/v1/roles/${made.body.data.id}`;
  for (const description of ['one', 'two']) {
    const changed = await admin.put(path, { description }, withKey(key));
    assert.equal(changed.body.data.description, description);
  }
  assert.equal((await admin.get(path, withKey('no key'))).status, 200);
  assert.deepEqual(await kept(key), []);
});

test('without a key nothing is stored, and two requests are two requests', async () => {
  const name = newName();
  const before = await service.sql('select from idempotency_keys');
  assert.equal((await admin.post('/api/v1/roles', { name })).status, 201);
  assertRefused(await admin.post('/api/v1/roles', { name }), 409, 'name_taken');
  assert.equal((await service.sql('select from idempotency_keys')).length, before.length);
});

test('a key costs two more statements, and a replay does none of the work', async () => {
  const counted = async (act: () => Promise<unknown>) => {
    // The guard reads the permission graph again after each change of a role.
    await admin.get('/api/v1/roles/list');
    return (await statementsOf(act)).length;
  };
  const guard = await counted(() => makeRole(randomUUID(), {}));
  const plain = await counted(() => admin.post('/api/v1/roles', { name: newName() }));
  const [key, name] = [randomUUID(), newName()];
  assert.equal(await counted(() => makeRole(key, { name })), plain + 2);
  // A refused body is checked once, a complete one twice.
  assert.equal(await counted(() => makeRole(key, { name })), guard + 1 + 2);
});

test('the cleanup removes expired keys, however many, and nothing else', async () => {
  const [owner] = await service.sql<{ id: string }>('select id from users where email = $1', [ADMIN.email]);
  await service.sql('delete from idempotency_keys');
  await service.sql(
    `insert into idempotency_keys (user_id, key, request_hash, created_at)
     select $1::uuid, 'old ' || n, '\\x00'::bytea, now() - interval '24 hours 1 second' from generate_series(1, 2500) n
     union all select $1::uuid, 'young ' || n, '\\x00'::bytea, now() - interval '23 hours 59 minutes' from generate_series(1, 10) n`,
    [owner?.id],
  );
  let deleted = 0;
  const texts = await statementsOf(async () => {
    deleted = await deleteOldIdempotencyKeys(service.service.deps.pool);
  });
  assert.equal(deleted, 2_500);
  assert.equal(texts.filter((text) => text.includes('delete from idempotency_keys')).length, 3);
  assert.equal((await service.sql("select from idempotency_keys where key like 'young %'")).length, 10);
  assert.equal((await service.sql('select from idempotency_keys')).length, 10);
});

test("a user's keys are removed with the user", async () => {
  const key = randomUUID();
  const { client, person } = await signedInWith(service, 'role.create');
  assert.equal((await makeRole(key, { name: newName() }, client)).status, 201);
  assert.equal((await kept(key)).length, 1);
  assert.equal((await admin.post(`/api/v1/users/${person.id}/roles`, { role_ids: [] })).status, 200);
  assert.equal((await admin.delete(`/api/v1/users/${person.id}`)).status, 200);
  // A job removes them, so that a deletion does not depend on their number.
  await removeSessionRows(service.service.deps);
  assert.deepEqual(await kept(key), []);
});
