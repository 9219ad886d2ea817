// GET /applications/{application_id}/logout-notices: what administrators see of logout notices.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { assertRefused } from '@castellan/testing/http/fixture';
import { signedInWith } from '@castellan/testing/users/people';
import { makeApplication, path, startWithAdmin } from '../../applications/fixture.ts';

const { service, admin } = await startWithAdmin({ after });
await service.service.deps.noticeWorker.stop();
const { id } = await makeApplication(admin);
const other = await makeApplication(admin);
const states = ['waiting', 'sent', 'refused', 'given_up'] as const;
await service.sql(
  `insert into logout_notices (application_id, user_id, sid, reason, state, attempts, status, error, sent_at)
   select a, gen_random_uuid(), 'sid-' || n || '-' || state, 'logout', state, 3, case when state <> 'waiting' then 200 end,
     case when state = 'waiting' then 'timeout' end, case when state = 'sent' then now() end
   from unnest($1::uuid[]) a, unnest($2::text[]) state, generate_series(1, 5) n order by n`,
  [[id, other.id], states],
);
const list = (query = '', client = admin) => client.get(`${path}/${id}/logout-notices${query}`);

test('the list has every notice to the application, newest first, and no others', async () => {
  const answer = await list();
  assert.equal(answer.status, 200, answer.text);
  const { data, next_cursor } = answer.body;
  assert.equal(data.length, 20);
  assert.equal(next_cursor, null);
  const ids = data.map((one: { id: string }) => Number(one.id));
  assert.deepEqual(
    ids,
    [...ids].sort((a, b) => b - a),
  );
  const waiting = data.find((one: { state: string }) => one.state === 'waiting');
  const sent = data.find((one: { state: string }) => one.state === 'sent');
  assert.deepEqual(
    [waiting.attempts, waiting.status, waiting.error, waiting.sent_at],
    [3, null, 'timeout', null],
  );
  assert.deepEqual([sent.status, sent.error, sent.next_at], [200, null, null]);
  assert.ok(waiting.next_at !== null && sent.sent_at !== null);
  assert.deepEqual(Object.keys(sent).sort(), [
    'attempts',
    'created_at',
    'error',
    'id',
    'next_at',
    'sent_at',
    'sid',
    'state',
    'status',
  ]);
});

test('states are filtered, and pages follow each other without a gap', async () => {
  for (const state of states) {
    const { data } = (await list(`?state=${state}`)).body;
    assert.deepEqual([data.length, new Set(data.map((one: { state: string }) => one.state)).size], [5, 1]);
  }
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { data, next_cursor }: { data: { id: string }[]; next_cursor: string | null } = (
      await list(`?size=7${cursor && `&cursor=${cursor}`}`)
    ).body;
    seen.push(...data.map((one) => one.id));
    cursor = next_cursor;
  }
  assert.equal(new Set(seen).size, 20);
  assert.equal(seen.length, 20);
});

test('wrong queries are refused, and who may not read applications', async () => {
  for (const query of ['?state=lost', '?cursor=0', '?cursor=x', '?size=101'])
    assertRefused(await list(query), 422, 'validation_failed');
  assertRefused(await admin.get(`${path}/${randomUUID()}/logout-notices`), 404, 'application_not_found');
  const { client } = await signedInWith(service, 'role.read');
  assertRefused(await list('', client), 403, 'permission_denied');
});
