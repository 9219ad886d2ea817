// Two instances on one database: each event is sent by one of them, and one that dies leaves nothing behind.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, startTestService } from '@castellan/testing/harness';
import { addWebhook, insertEntries, signInAdmin } from '@castellan/testing/webhooks/fixture';
import { startReceiver } from '@castellan/testing/webhooks/receiver';

const service = await startTestService({ after });
const other = await service.another();
const admin = await signInAdmin(service);
const record = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;

test('one instance holds an endpoint, and the other one takes over when it stops', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url);
  for (let i = 0; i < 50; i += 1) await insertEntries(service, record(i % 10));
  await receiver.until(50);
  assert.equal(new Set(receiver.received.map(({ event }) => event.data.sequence)).size, 50);
  assert.equal(receiver.received.length, 50);
  await other.stop();
  for (let i = 0; i < 20; i += 1) await insertEntries(service, record(i % 10));
  await receiver.until(70);
  await eventually(
    async () => ((await admin.get(path)).body.data.waiting === 0 ? true : undefined),
    'the records of all',
  );
  for (let i = 0; i < 10; i += 1) {
    const seen = receiver.received
      .filter(({ event }) => event.data.resource.id === record(i))
      .map(({ event }) => event.data.sequence);
    assert.deepEqual(
      seen,
      [...seen].sort((a, b) => a - b),
    );
  }
  const [{ holders = 0 } = {}] = await service.sql<{ holders: number }>(
    'select count(holder)::integer as holders from delivery_targets where id = $1',
    [id],
  );
  assert.equal(holders, 1);
});

test('what a dead instance had begun is sent again with the same id, when its lease has ended', async (t) => {
  const receiver = await startReceiver(t);
  const { id } = await addWebhook(admin, receiver.url);
  // As an instance leaves it that was killed after the answer and before its record.
  await service.sql(
    `update delivery_targets set holder = gen_random_uuid(), locked_until = now() + interval '30 seconds' where id = $1`,
    [id],
  );
  await insertEntries(service, record(1), 2);
  const [early] = await service.sql<{ left: number }>(
    `select count(*)::integer as left from deliveries where target_id = $1 and state = 'waiting'`,
    [id],
  );
  assert.deepEqual([early?.left, receiver.received.length], [2, 0]);
  await service.sql(`update delivery_targets set locked_until = now() where id = $1`, [id]);
  await receiver.until(2);
});
