// Idempotency-Key on every request that creates roles, permissions or groups, one request after the other.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import {
  etagOf,
  makeRoleGroup,
  newName,
  signInWith,
  startServiceWithAdmin,
} from '@castellan/testing/records/fixture';
import { nouns } from './nouns.ts';

const started = await startServiceWithAdmin({ after });
const { service, admin } = started;
const twin = await service.another();
const original = await makeRoleGroup(admin);

const creates: Record<string, { path: string; table: string; body(name: string): Promise<object> }> = {
  ...Object.fromEntries(
    Object.entries(nouns).map(([what, noun]) => [
      what,
      { path: noun.path, table: noun.table, body: (name: string) => noun.body(started, name) },
    ]),
  ),
  'bulk of role groups': {
    path: '/api/v1/role-groups/bulk',
    table: 'role_groups',
    body: async (name) => [{ name }],
  },
  'clone of a role group': {
    path: `/api/v1/role-groups/${original.id}/clone`,
    table: 'role_groups',
    body: async (name) => ({ name }),
  },
};

for (const [what, { path, table, body }] of Object.entries(creates)) {
  const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });
  const count = async (name: string) =>
    (await service.sql(`select from ${table} where name = $1 or name like '%.' || $1`, [name])).length;

  test(`${what}: a retry with the key gets the first answer, and one record is created`, async () => {
    const name = newName('once');
    const [key, sent] = [randomUUID(), await body(name)];
    const first = await admin.post(path, sent, keyed(key));
    assert.equal(first.status, 201, first.text);
    const again = await admin.at(twin.url).post(path, sent, keyed(key));
    assert.equal(again.status, 201, again.text);
    assert.equal(again.text, first.text);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    if (first.headers.has('etag')) assert.equal(etagOf(again), etagOf(first));
    assert.equal(await count(name), 1);
  });

  test(`${what}: the key with another body is 422 and creates nothing`, async () => {
    const [key, other] = [randomUUID(), newName('other')];
    assert.equal((await admin.post(path, await body(newName()), keyed(key))).status, 201);
    assertRefused(await admin.post(path, await body(other), keyed(key)), 422, 'idempotency_key_reused');
    assert.equal(await count(other), 0);
  });
}

test('a key belongs to its user: the same key of another user creates another record', async () => {
  const key = randomUUID();
  const other = await signInWith(service, ['role.create']);
  for (const client of [admin, other.client]) {
    const answer = await client.post(
      '/api/v1/roles',
      { name: newName() },
      { headers: { 'idempotency-key': key } },
    );
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.headers.get('idempotency-replayed'), null);
  }
});
