// A replay of very many entries, which two instances queue while one of them stops.
import assert from 'node:assert/strict';
import { eventually } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addWebhook, insertEntries } from '@castellan/testing/webhooks/fixture';
import { startReceiver } from '@castellan/testing/webhooks/receiver';
import { openPair } from '../fixture.ts';

const scenario = scenariosOf('faults');
/** Several batches of the job that queues them. */
const ENTRIES = rounds(25_000, 100_000);
const RECORDS = 500;
const WAITING = 50;
const PARALLEL = 8;

scenario(
  'a replay queues each entry once, in order and behind what waits, also when an instance stops in the meantime',
  async ({ tried, injected, held }, t) => {
    const { service, twin, admin } = await openPair(t);
    await service.sql(
      `insert into audit_logs (id, action, resource_type, resource_id, details, "timestamp")
       select gen_random_uuid(), 'role_updated', 'role', (i % $2::integer)::text, '{}', now() - interval '1 hour' + i * interval '1 millisecond'
       from generate_series(1, $1::integer) i`,
      [ENTRIES, RECORDS],
    );
    const to = (await service.sql<{ now: Date }>('select now() as now'))[0]?.now.toISOString();
    const receiver = await startReceiver(t);
    const { id, path } = await addWebhook(admin, receiver.url, { events: ['role_updated'] });
    await admin.put(path, { status: 'paused' });
    for (let i = 0; i < WAITING; i += 1) await insertEntries(service, `waiting ${i}`);
    const answer = await admin.post(`${path}/replay`, { from: '2020-01-01T00:00:00Z', to, only: 'all' });
    assert.deepEqual([answer.status, answer.body.data.count], [202, ENTRIES]);
    const queued = async (): Promise<number> =>
      (
        await service.sql<{ count: number }>(
          'select count(*)::integer as count from deliveries where target_id = $1 and replay_id is not null',
          [id],
        )
      )[0]?.count ?? 0;
    await eventually(async () => ((await queued()) > 0 ? true : undefined), 'the first batch');
    await twin.stop();
    injected();
    await eventually(
      async () => ((await service.sql('select from webhook_replays')).length === 0 ? true : undefined),
      'the last batch',
    );
    tried(ENTRIES);
    const [row] = await service.sql<{ rows: number; entries: number; early: number; disordered: number }>(
      `select count(*)::integer as rows, count(distinct source_id)::integer as entries,
         count(*) filter (where id < (
           select max(id) from deliveries where target_id = $1 and replay_id is null))::integer as early,
         count(*) filter (where "timestamp" < before)::integer as disordered
       from (
         select d.id, d.source_id, e."timestamp", lag(e."timestamp") over (partition by d.key order by d.id) as before
         from deliveries d join audit_logs e on e.id = d.source_id
         where d.target_id = $1 and d.replay_id is not null) r`,
      [id],
    );
    assert.deepEqual(row, { rows: ENTRIES, entries: ENTRIES, early: 0, disordered: 0 });
    held(ENTRIES);
    await admin.put(path, { status: 'active' });
    const got = await receiver.until(WAITING + PARALLEL + 1);
    const first = got.findIndex(({ event }) => event.data.replay);
    assert.ok(first > WAITING - PARALLEL, `the first replayed event came as number ${first}`);
    held();
    assert.equal((await admin.request('DELETE', path, {})).status, 200);
  },
);
