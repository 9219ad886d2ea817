// Events that are under way when the process that sends them is killed.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { ADMIN, eventually, signIn, type TestService } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { openProcess } from '@castellan/testing/start/service-process';
import { addWebhook, type Endpoint, insertEntries } from '@castellan/testing/webhooks/fixture';
import { startReceiver } from '@castellan/testing/webhooks/receiver';

const scenario = scenariosOf('faults');
const PARALLEL = 8;
const record = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

type Row = { id: string; state: string; attempts: number; causes: (string | null)[] };
const rowsOf = (sql: TestService['sql'], { id }: Endpoint) =>
  sql<Row>(
    `select d.id, d.state, d.attempts, array(
       select cause from delivery_attempts where delivery_id = d.id order by at) as causes
     from deliveries d where d.target_id = $1 order by d.id`,
    [id],
  );

/** As if the lease of a dead process were over. */
const endLease = (sql: TestService['sql'], { id }: Endpoint) =>
  sql('update delivery_targets set locked_until = now() where id = $1', [id]);
/** As if the waits after failures were over. */
const hasten = (sql: TestService['sql'], { id }: Endpoint) =>
  sql("update deliveries set due_at = now() where target_id = $1 and state = 'waiting'", [id]);

/** A process with an endpoint that never answers, until a test says otherwise. */
async function openHanging(t: TestContext) {
  const process = await openProcess(t);
  const receiver = await startReceiver(t);
  receiver.answer = () => () => {};
  const endpoint = await addWebhook(await signIn(process, ADMIN), receiver.url);
  return { ...process, receiver, endpoint };
}

scenario(
  'events under way at a kill count as tried, and arrive from another process with the same id, in order',
  async ({ tried, injected, held }, t) => {
    for (let round = 0; round < rounds(1, 5); round += 1) {
      const { child, another, sql, receiver, endpoint } = await openHanging(t);
      for (let i = 0; i < 60; i += 1) await insertEntries({ sql }, record(i % 20));
      await receiver.until(PARALLEL);
      const other = await another();
      const begun = receiver.received.map(({ event }) => String(event.data.sequence));
      child.kill('SIGKILL');
      injected();
      await child.ended;
      receiver.answer = () => 204;
      const noted = await sql<{ under_way: string[] }>(
        'select under_way::text[] as under_way from delivery_targets where id = $1',
        [endpoint.id],
      );
      // Each that began was noted before; a few were noted that had not begun.
      const underWay = noted[0]?.under_way ?? [];
      assert.deepEqual(
        begun.filter((id) => !underWay.includes(id)),
        [],
      );
      assert.ok(underWay.length <= 2 * PARALLEL, String(underWay.length));
      await endLease(sql, endpoint);
      await eventually(
        async () => ((await rowsOf(sql, endpoint)).some(({ attempts }) => attempts > 0) ? true : undefined),
        'the other process',
      );
      const nudge = setInterval(() => void hasten(sql, endpoint).catch(() => {}), 300);
      const rows = await eventually(async () => {
        const all = await rowsOf(sql, endpoint);
        return all.every(({ state }) => state === 'sent') ? all : undefined;
      }, 'everything to arrive').finally(() => clearInterval(nudge));
      tried(rows.length);
      assert.equal(rows.length, 60);
      for (const { id, attempts, causes } of rows) {
        assert.deepEqual(causes, underWay.includes(id) ? ['interrupted', null] : [null], id);
        assert.equal(attempts, causes.length);
        const ids = receiver.received
          .filter(({ event }) => String(event.data.sequence) === id)
          .map(({ headers }) => headers['webhook-id']);
        assert.equal(new Set(ids).size, 1);
        held(3);
      }
      for (let i = 0; i < 20; i += 1) {
        const seen = receiver.received
          .filter(({ event }) => event.data.resource.id === record(i))
          .map(({ event }) => event.data.sequence);
        assert.deepEqual(
          seen,
          [...seen].sort((a, b) => a - b),
        );
        held();
      }
      other.child.kill('SIGTERM');
      await other.child.ended;
    }
  },
);

scenario(
  'an event that kills each process that sends it is tried ever less often, and given up in the end',
  async ({ tried, injected, held }, t) => {
    const { child, another, sql, receiver, endpoint } = await openHanging(t);
    await insertEntries({ sql }, record(1));
    let victim = child;
    for (let kill = 1; kill <= 3; kill += 1) {
      await receiver.until(kill);
      tried();
      victim.kill('SIGKILL');
      injected();
      await victim.ended;
      if (kill === 3)
        await sql("update deliveries set tried_since = now() - interval '73 hours' where target_id = $1", [
          endpoint.id,
        ]);
      await endLease(sql, endpoint);
      victim = (await another()).child;
      const [{ wait_ms = 0 } = {}] = await eventually(async () => {
        const found = await sql<{ wait_ms: number }>(
          `select (extract(epoch from d.due_at - a.at) * 1000)::float8 as wait_ms from deliveries d
             join delivery_attempts a on a.delivery_id = d.id
           where d.target_id = $1 and d.attempts = $2 order by a.at desc limit 1`,
          [endpoint.id, kill],
        );
        return found.length > 0 ? found : undefined;
      }, 'the next process to count it');
      const longest = [0, 5_000, 30_000, 120_000][kill] ?? 0;
      assert.ok(wait_ms <= longest && wait_ms > longest * 0.79, `${kill}: ${wait_ms}`);
      held();
      await hasten(sql, endpoint);
    }
    const [row] = await rowsOf(sql, endpoint);
    assert.deepEqual([row?.state, row?.attempts], ['dead', 3]);
    assert.deepEqual(row?.causes, ['interrupted', 'interrupted', 'interrupted']);
    assert.equal(receiver.received.length, 3);
    held(3);
    victim.kill('SIGTERM');
    await victim.ended;
  },
);
