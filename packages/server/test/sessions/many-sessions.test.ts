// Users with 20,000 sessions among many others: what an end of all of them reads does not depend on their number.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { addPerson } from '@castellan/testing/users/people';
import { sql } from 'kysely';
import { endEpochs } from '../../src/modules/sessions/store.ts';
import { onlyRow } from '../../src/platform/db/sql.ts';
import { inTransaction } from '../../src/platform/db/transaction.ts';
import type { Tx } from '../../src/schema/database.ts';

const SESSIONS = 20_000;
const OTHERS = 100_000;
const service = await startTestService({ after });
const { db } = service.service.deps;

const owners: string[] = [];

before(async () => {
  for (let n = 0; n < 4; n += 1) {
    const { id } = await addPerson(service);
    await service.sql('delete from user_roles where user_id = $1', [id]);
    owners.push(id);
  }
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
  await service.sql('vacuum analyze sessions');
});

function takeOwner(): string {
  const id = owners.pop();
  assert.ok(id);
  return id;
}

/** Returns the entries that this connection has read lately from the indexes of `sessions`, and the rows that it read without. */
async function rowsRead(tx: Tx): Promise<number> {
  const result = await sql<{ rows: string }>`
    select pg_stat_get_xact_tuples_returned('sessions'::regclass) + sum(pg_stat_get_xact_tuples_returned(indexrelid)) as rows
    from pg_index where indrelid = 'sessions'::regclass`.execute(tx);
  return Number(onlyRow(result).rows);
}

const ends: Readonly<Record<string, (tx: Tx, id: string) => Promise<unknown>>> = {
  'a new epoch': (tx, id) => endEpochs(tx, [id], 'revoked'),
  'a deactivation': async (tx, id) => {
    await sql`update users set is_active = false where id = ${id}`.execute(tx);
    await endEpochs(tx, [id], 'deactivated');
  },
  'a deletion': (tx, id) => sql`delete from users where id = ${id}`.execute(tx),
};

for (const [what, end] of Object.entries(ends))
  test(`${what} reads as many sessions as it counts, and not all of them`, async () => {
    const id = takeOwner();
    const read = await inTransaction(db, async (tx) => {
      const before = await rowsRead(tx);
      await end(tx, id);
      return (await rowsRead(tx)) - before;
    });
    assert.ok(read > 0);
    assert.ok(read <= 15_000, `${read} rows`);
  });

test('an end counts up to 10,000 sessions, and names the newest 100', async () => {
  const id = takeOwner();
  const expected = await service.sql<{ id: string }>(
    'select id from sessions where user_id = $1 order by created_at desc limit 100',
    [id],
  );
  const [ended] = await inTransaction(db, (tx) => endEpochs(tx, [id], 'revoked'));
  assert.deepEqual(ended, { user_id: id, count: 10_000, ids: expected.map((one) => one.id) });
});
