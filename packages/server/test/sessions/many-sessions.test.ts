// A user with 20,000 sessions among many others: what an end of all of them counts and names.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import { sql } from 'kysely';
import { endEpochs } from '../../src/modules/sessions/store.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';

const SESSIONS = 20_000;
const OTHERS = 100_000;
const service = await startTestService({ after });
const { db } = service.service.deps;

const owners: string[] = [];

before(async () => {
  owners.push((await addPerson(service)).id, (await addPerson(service)).id);
  // Without the triggers, which count each session.
  await service.sql(`
    set session_replication_role = replica;
    insert into sessions (id, user_id, created_at, expires_at)
    select gen_random_uuid(), owner.id, now() - make_interval(secs => n), now() + interval '1 day'
    from unnest('{${owners}}'::uuid[]) owner (id), generate_series(1, ${SESSIONS}) n
    union all
    select gen_random_uuid(), gen_random_uuid(), now() - make_interval(secs => n), now() + interval '1 day'
    from generate_series(1, ${OTHERS}) n;
    set session_replication_role = origin`);
  // Not vacuumed: pages that are not known to be visible to all make other indexes look as good.
  await service.sql('analyze sessions');
});

function takeOwner(): string {
  const id = owners.pop();
  assert.ok(id);
  return id;
}

test('an end counts up to 10,000 sessions, and names the newest 100', async () => {
  const id = takeOwner();
  const expected = await service.sql<{ id: string }>(
    'select id from sessions where user_id = $1 order by created_at desc limit 100',
    [id],
  );
  const [ended] = await inTransaction(db, (tx) => endEpochs(tx, [id], 'revoked'));
  assert.deepEqual(ended, { user_id: id, count: 10_000, ids: expected.map((one) => one.id) });
});

/** Rows and index entries of sessions that the connection has read lately. */
const READ = sql<{ name: string; read: number }>`
  select relname as name, pg_stat_get_xact_tuples_returned(oid)::integer as read from pg_class
  where oid = 'sessions'::regclass or oid in (select indexrelid from pg_index where indrelid = 'sessions'::regclass)
  order by 1`;

test('an end reads as many sessions as it counts, whatever the planner expects', async () => {
  const id = takeOwner();
  const read = await inTransaction(db, async (tx) => {
    const { rows: before } = await READ.execute(tx);
    const [ended] = await endEpochs(tx, [id], 'revoked');
    assert.equal(ended?.count, 10_000);
    const { rows: after } = await READ.execute(tx);
    return after.map(({ name, read }, index) => ({ name, read: read - (before[index]?.read ?? 0) }));
  });
  // 10,000 to count, 1,001 for the number of live sessions and 100 to name.
  const total = read.reduce((sum, one) => sum + one.read, 0);
  assert.ok(total >= 10_000 && total < 12_000, JSON.stringify(read));
});
