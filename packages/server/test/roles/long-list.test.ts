// GET /api/v1/roles/list with more than the service keeps in memory: the response is written in parts.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { after, test } from 'node:test';
import type { Body } from '@castellan/testing/client';
import { eventually } from '@castellan/testing/harness';
import { etagOf, startServiceWithAdmin } from '@castellan/testing/records/fixture';
import { statementsOf } from '@castellan/testing/statements';

const { admin, service } = await startServiceWithAdmin({ after });
const ALL = '/api/v1/roles/list';

// 20 roles of 1,000 permissions, each with about a kilobyte.
await service.sql(`
  with g as (insert into permission_groups (id, name) values (gen_random_uuid(), 'long "group"') returning id),
    p as (insert into permissions (id, name, group_id, description)
      select gen_random_uuid(), 'long.' || n, g.id, repeat('é" \\ ', 160) || n from g, generate_series(1, 1000) n
      returning id),
    r as (insert into roles (id, name, description)
      select gen_random_uuid(), 'Long ' || n, e'two\\nlines "' || n from generate_series(1, 20) n returning id)
  insert into role_permissions (role_id, permission_id) select r.id, p.id from r, p`);

test('a long list has every role with every permission, as the pages of roles have them', async () => {
  for (const query of ['', '?include=holders']) {
    const all = await admin.get(`${ALL}${query}`);
    assert.equal(all.status, 200);
    assert.equal(all.headers.get('content-type'), 'application/json; charset=utf-8');
    assert.ok(Buffer.byteLength(all.text) > 16 * 2 ** 20, `${all.text.length}`);
    const paged: Body[] = [];
    for (let page = 1; page <= 3; page += 1) {
      const { body } = await admin.get(`/api/v1/roles?page=${page}&size=10${query.replace('?', '&')}`);
      paged.push(...body.data);
    }
    assert.ok(paged.length > 20);
    assert.deepEqual(all.body.data, paged);
    assert.equal(all.body.message, 'All roles, sorted by name.');
    const again = await admin.get(`${ALL}${query}`, { headers: { 'if-none-match': etagOf(all) } });
    assert.deepEqual([again.status, again.text], [304, '']);
  }
});

test('a long list is read with two statements, and again for each response', async () => {
  for (let time = 1; time <= 2; time += 1) {
    const texts = await statementsOf(() => admin.get(ALL));
    assert.equal(texts.filter((text) => /\bfrom role_permissions\b/.test(text)).length, 2);
  }
});

test('a client that stops reading a long list costs nobody anything after it is gone', async () => {
  const request = get(`${service.url}${ALL}`, {
    agent: false,
    headers: { authorization: `Bearer ${admin.accessToken}` },
  }).on('error', () => {});
  const [response]: IncomingMessage[] = await once(request, 'response');
  response?.on('error', () => {}).pause();
  // No connection to the database is held meanwhile.
  await eventually(() => {
    const { pool } = service.service.deps;
    return pool.idleCount === pool.totalCount || undefined;
  }, 'every connection to be idle');
  request.destroy();
  assert.equal((await admin.get(ALL)).status, 200);
});
