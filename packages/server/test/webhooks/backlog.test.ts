// Very many events that wait: those of one record, and those of an endpoint that does not answer, hold up no others.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, startTestService } from '@castellan/testing/harness';
import { plansOf } from '@castellan/testing/plans';
import { addWebhook, insertEntries, signInAdmin } from '@castellan/testing/webhooks/fixture';
import { startReceiver } from '@castellan/testing/webhooks/receiver';
import { readFailed, readTargets, readWaiting } from '../../src/platform/delivery/targets-store.ts';

const service = await startTestService({ after });
const admin = await signInAdmin(service);
const record = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

test('five thousand events of a record that fails let those of others pass', async (t) => {
  const receiver = await startReceiver(t);
  const bad = record(0);
  receiver.answer = ({ event }) => (event.data.resource.id === bad ? 503 : 204);
  const { id, path } = await addWebhook(admin, receiver.url);
  for (let round = 1; round <= 10; round += 1) {
    await insertEntries(service, bad, 500);
    for (let i = 1; i <= 30; i += 1) await insertEntries(service, record(round * 100 + i));
  }
  const good = await receiver.until(300, ({ event }) => event.data.resource.id !== bad);
  assert.equal(new Set(good.map(({ event }) => event.data.sequence)).size, 300);
  const [first] = receiver.received.filter(({ event }) => event.data.resource.id === bad);
  // Only the oldest of them has been tried.
  assert.deepEqual(
    new Set(
      receiver.received
        .filter(({ event }) => event.data.resource.id === bad)
        .map(({ event }) => event.data.sequence),
    ),
    new Set([first?.event.data.sequence]),
  );
  const waiting = async () => (await admin.get(path)).body.data.waiting;
  await eventually(async () => ((await waiting()) === 5_000 ? true : undefined), 'the other records');
  await admin.put(path, { status: 'paused' });
  assert.equal((await service.sql('select from deliveries where target_id = $1', [id])).length, 5_300);
});

/** Pauses a webhook, and lets so many events of so many records wait for it. */
async function pausedWith(url: string, count: number, records: number) {
  const webhook = await addWebhook(admin, url);
  await admin.put(webhook.path, { status: 'paused' });
  await service.sql(
    `insert into deliveries (target_id, source_id, type, key)
     select $1, gen_random_uuid(), 'role_updated', i % $3 from generate_series(1, $2::integer) i`,
    [webhook.id, count, records],
  );
  return webhook;
}

test('what waits for one endpoint is not read for another', async (t) => {
  const receiver = await startReceiver(t);
  const dead = await pausedWith(receiver.url, 40_000, 40_000);
  const other = await pausedWith(receiver.url, 40_000, 40_000);
  await service.sql('vacuum analyze deliveries');
  const { db } = service.service.deps;
  const rowsOf = async (what: () => Promise<unknown>): Promise<number> => {
    const plans = await plansOf(service, async () => {
      await what();
      return { status: 200 };
    });
    assert.ok(plans.length > 0);
    const steps = plans.flatMap(({ steps }) => steps.filter(({ table }) => table === 'deliveries'));
    return steps.reduce((sum, { rows }) => sum + rows, 0);
  };
  const found = await readWaiting(db, other.id, ['1', '2'], 200);
  assert.deepEqual(
    found.map(({ key }) => Number(key)),
    Array.from({ length: 200 }, (_, index) => index + 3),
  );
  assert.ok((await rowsOf(() => readWaiting(db, other.id, ['1', '2'], 200))) < 300);
  assert.ok((await rowsOf(() => readFailed(db, other.id, ['1'], 200))) === 0);
  assert.ok((await rowsOf(() => readTargets(db, 'webhook', dead.id))) < 10);
  assert.ok(
    (await rowsOf(async () => assert.equal((await admin.get(`${other.path}/deliveries`)).status, 200))) < 300,
  );
});

test('keys that exclude nearly everything are passed over in the index', async (t) => {
  const receiver = await startReceiver(t);
  const { id } = await pausedWith(receiver.url, 20_000, 1);
  await service.sql(
    `insert into deliveries (target_id, source_id, type, key)
     select $1, gen_random_uuid(), 'role_updated', i from generate_series(1, 50) i`,
    [id],
  );
  await service.sql('vacuum analyze deliveries');
  const { db } = service.service.deps;
  const plans = await plansOf(service, async () => {
    const found = await readWaiting(db, id, ['0'], 200);
    assert.equal(found.length, 50);
    return { status: 200 };
  });
  assert.deepEqual(
    plans.flatMap(({ steps }) => steps.flatMap(({ index }) => index ?? [])),
    ['deliveries_waiting_idx'],
  );
});
