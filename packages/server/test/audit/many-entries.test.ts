// The audit log with 60,000 entries: what a page reads depends neither on the filters nor on how rare their matches are.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { routineActions } from '@castellan/contract/audit';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';
import { unindexedActions } from '../../src/modules/audit/reading-store.ts';

// Sealing reads entries too, while a request is watched.
const service = await startTestService({ after }, { AUDIT_SEALING: 'off' });
const admin = await signIn(service, ADMIN);
const LOG = '/api/v1/audit-logs';
const ACTOR = '00000000-0000-7000-8000-000000000001';

before(async () => {
  // One address never has an action that half of the entries have, except in the oldest twenty.
  await service.sql(
    `insert into audit_logs (id, actor_id, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), case when n % 2 = 0 then $2::uuid end,
       case when n % 2 = 0 then 'login_succeeded' when n % 50 = 1 then 'role_updated' else 'login_failed' end,
       case when n % 50 = 1 then 'role' else 'security_event' end, 'r' || n % 3,
       jsonb_build_object('address', case when n % 2 = 0 or n > $1 - 20 then '10.0.0.1' else '10.0.0.2' end),
       now() - make_interval(secs => n) from generate_series(1, $1::integer) n`,
    [60_000, ACTOR],
  );
  // Newer than all of them: nothing but routine, as where pages that are open renew their sessions. A few older ones.
  await service.sql(
    `insert into audit_logs (id, actor_id, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), $1::uuid, case when n % 2 = 0 then 'client_token_issued' else 'session_refreshed' end,
       'security_event', 'r' || n % 3, jsonb_build_object('address', '10.0.0.3'),
       now() - case when n > 20 then interval '0' else interval '59000 seconds' end - make_interval(secs => n / 100000.0)
     from generate_series(1, 60000) n`,
    [ACTOR],
  );
  await service.sql('vacuum analyze audit_logs');
});

// The oldest 10,000 are enough to walk through.
const until = new Date(Date.now() - 50_000_000).toISOString();

const notRoutine = `action not in ('session_refreshed', 'client_token_issued')`;

const filters: readonly [query: string, condition: string][] = [
  ['', 'true'],
  ['resource_type=nothing', 'false'],
  ['resource_type=role', `resource_type = 'role'`],
  ['resource_type=security_event', `resource_type = 'security_event'`],
  ['action=login_failed', `action = 'login_failed'`],
  ['action=role_updated&action=login_failed', `action in ('role_updated', 'login_failed')`],
  ['address=10.0.0.2', `details ->> 'address' = '10.0.0.2'`],
  ['result=failure', `action = 'login_failed'`],
  ['result=success', `action <> 'login_failed'`],
  [`actor_id=${ACTOR}`, `actor_id = '${ACTOR}'`],
  ['resource_id=r1', `resource_id = 'r1'`],
  ['action=login_failed&address=10.0.0.1', `action = 'login_failed' and details ->> 'address' = '10.0.0.1'`],
  ['action=login_succeeded&address=10.0.0.2', 'false'],
  ['result=failure&address=10.0.0.1', `action = 'login_failed' and details ->> 'address' = '10.0.0.1'`],
  [`result=failure&actor_id=${ACTOR}`, 'false'],
  ['resource_type=role&address=10.0.0.1', `resource_type = 'role' and details ->> 'address' = '10.0.0.1'`],
  [`resource_id=r2&actor_id=${ACTOR}&result=failure`, 'false'],
  ['routine=exclude', notRoutine],
  ['routine=exclude&resource_id=r1', `resource_id = 'r1' and ${notRoutine}`],
  [`routine=exclude&actor_id=${ACTOR}`, `actor_id = '${ACTOR}' and ${notRoutine}`],
  ['routine=exclude&address=10.0.0.3', 'false'],
  ['routine=exclude&address=10.0.0.1', `details ->> 'address' = '10.0.0.1' and ${notRoutine}`],
  ['routine=exclude&result=success', `action <> 'login_failed' and ${notRoutine}`],
  ['routine=exclude&resource_type=security_event', `resource_type = 'security_event' and ${notRoutine}`],
  [`routine=exclude&action=session_refreshed&action=role_updated`, `action = 'role_updated'`],
  [
    `routine=exclude&resource_id=r2&actor_id=${ACTOR}`,
    `resource_id = 'r2' and actor_id = '${ACTOR}' and ${notRoutine}`,
  ],
];

for (const [query, condition] of filters) {
  test(`${query || 'no filter'}: a page reads a few thousand entries at most`, async () => {
    for (const { text, steps } of await plansOf(service, () => admin.get(`${LOG}?${query}`)))
      for (const { node, table, rows } of steps) {
        // Routine entries are counted up to 10,000, from the index of actions alone.
        const most = node === 'Index Only Scan' ? 10_001 : 3_000;
        if (table === 'audit_logs') assert.ok(rows <= most, `${node} reads ${rows} entries\n${text}`);
      }
  });

  test(`${query || 'no filter'}: all pages together have every match once, newest first`, async () => {
    const expected = await service.sql<{ id: string }>(
      `select id from audit_logs where ${condition} and "timestamp" < $1 order by "timestamp" desc, id desc`,
      [until],
    );
    const found: string[] = [];
    let cursor: string | null = '';
    for (let pages = 0; cursor !== null; pages += 1) {
      assert.ok(pages < 600, 'the pages end');
      const more = cursor === '' ? '' : `&cursor=${cursor}`;
      const { body } = await admin.get(`${LOG}?${query}&size=100&to=${until}${more}`);
      found.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.next_cursor;
    }
    assert.deepEqual(
      found,
      expected.map(({ id }) => id),
    );
  });
}

test('the index on types leaves out the security events', async () => {
  const [index] = await service.sql<{ pages: number }>(
    `select pg_relation_size('audit_logs_resource_type_timestamp_id_idx')::integer as pages`,
  );
  const [other] = await service.sql<{ pages: number }>(
    `select pg_relation_size('audit_logs_action_timestamp_id_idx')::integer as pages`,
  );
  assert.ok(Number(index?.pages) * 10 < Number(other?.pages));
});

for (const [query, counted] of [
  ['routine=exclude', { count: 10_000, is_lower_bound: true }],
  [`routine=exclude&to=${until}`, { count: 20, is_lower_bound: false }],
  ['routine=exclude&address=10.0.0.3&resource_id=nothing', { count: 0, is_lower_bound: false }],
  ['routine=exclude&result=failure', { count: 0, is_lower_bound: false }],
  ['routine=exclude&action=role_updated', { count: 0, is_lower_bound: false }],
] as const)
  test(`${query}: the first page counts what it leaves out, up to 10,000`, async () => {
    const { body } = await admin.get(`${LOG}?${query}`);
    assert.deepEqual(body.routine_left_out, counted);
  });

test('a combined filter says that it counted only the newest of many routine entries', async () => {
  const { body } = await admin.get(`${LOG}?routine=exclude&resource_id=r1`);
  assert.equal(body.routine_left_out.is_lower_bound, true);
  // As many of each routine action are read, whether there are any or not.
  assert.ok(body.routine_left_out.count > 250);
});

test('only a first page with routine=exclude counts', async () => {
  const { body: first } = await admin.get(`${LOG}?routine=exclude&size=1`);
  const { body: second } = await admin.get(`${LOG}?routine=exclude&size=1&cursor=${first.next_cursor}`);
  const { body: all } = await admin.get(`${LOG}?size=1`);
  assert.ok(first.routine_left_out);
  assert.equal(second.routine_left_out, undefined);
  assert.equal(all.routine_left_out, undefined);
});

test('routine=exclude reads the indexes that leave out the most frequent routine actions', async () => {
  for (const [filter, index] of [
    ['', 'audit_logs_notable_timestamp_id_idx'],
    ['&resource_id=r1', 'audit_logs_notable_resource_id_timestamp_id_idx'],
  ]) {
    const plans = await plansOf(service, () => admin.get(`${LOG}?routine=exclude${filter}`));
    assert.ok(
      plans.some(({ steps }) => steps.some((step) => step.index === index)),
      index,
    );
    assert.ok(unindexedActions.every((action) => routineActions.includes(action)));
    const [definition] = await service.sql<{ predicate: string }>(
      `select pg_get_expr(indpred, indrelid) as predicate from pg_index where indexrelid = $1::regclass`,
      [index],
    );
    const named = /\{(.*)\}/.exec(definition?.predicate ?? '')?.[1]?.split(',') ?? [];
    assert.deepEqual(named.sort(), [...unindexedActions].sort());
  }
});
