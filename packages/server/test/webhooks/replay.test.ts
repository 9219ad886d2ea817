// Past events again: those that were given up, and all of a time, behind what waits; and what deletion and clean-up leave.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addWebhook, insertEntries, signInAdmin } from '@castellan/testing/webhooks/fixture';
import { type Received, startReceiver } from '@castellan/testing/webhooks/receiver';
import { cleanUp } from '../../src/cleanup.ts';
import { queueEvent } from '../../src/modules/webhooks/further-events.ts';

const service = await startTestService({ after });
const admin = await signInAdmin(service);
const FROM = '2020-01-01T00:00:00Z';
const record = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const settled = (path: string) =>
  eventually(async () => {
    // First this, because a replay that ends leaves deliveries that wait.
    const [{ left = true } = {}] = await service.sql<{ left: boolean }>(
      'select exists (select from webhook_replays) as left',
    );
    const { waiting } = (await admin.get(path)).body.data;
    return waiting === 0 && !left ? true : undefined;
  }, 'the end of what waits');

test('everything of a time, which the webhook is told of, with the ids of the first time', async (t) => {
  const receiver = await startReceiver(t);
  for (let i = 0; i < 12; i += 1) await insertEntries(service, record(i));
  const { path } = await addWebhook(admin, receiver.url, { events: ['role_updated', 'user_*'] });
  await insertEntries(service, record(99));
  await receiver.until(1);
  const asked = { from: FROM, only: 'all', events: ['role_*'] };
  const counted = await admin.post(`${path}/replay`, { ...asked, count_only: true });
  assert.deepEqual([counted.status, counted.body.data], [200, { replay_id: null, count: 13 }]);
  assert.deepEqual(await service.sql('select from webhook_replays'), []);
  const answer = await admin.post(`${path}/replay`, asked);
  assert.deepEqual([answer.status, answer.body.data.count], [202, 13]);
  await receiver.until(14);
  await settled(path);
  const again = receiver.received.slice(1);
  assert.ok(again.every(({ event }) => event.data.replay && event.type === 'role_updated'));
  assert.equal(receiver.received[0]?.event.data.replay, false);
  const both = receiver.received.filter(({ event }) => event.data.resource.id === record(99));
  assert.equal(new Set(both.map(({ headers }) => headers['webhook-id'])).size, 1);
  assert.equal(receiver.received.length, 14);
  const narrow = await admin.post(`${path}/replay`, { from: FROM, only: 'all', events: ['login_*'] });
  assert.equal(narrow.body.data.count, 0);
});

test('a range is checked, and one replay runs at a time', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => 500;
  const { path } = await addWebhook(admin, receiver.url);
  const wrong = await admin.post(`${path}/replay`, {
    from: '2026-02-01T00:00:00Z',
    to: '2026-01-01T00:00:00Z',
    only: 'all',
  });
  assertRefused(wrong, 422, 'validation_failed');
  assertRefused(
    await admin.post(`${path}/replay`, { from: '2027-01-01T00:00:00Z', only: 'all' }),
    422,
    'validation_failed',
  );
  assertRefused(
    await admin.post(`${path}/replay`, { from: '2026-02-31T00:00:00Z', only: 'all' }),
    422,
    'validation_failed',
  );
  assertRefused(
    await admin.post(`${path}/replay`, { from: FROM, only: 'all', events: ['x'] }),
    422,
    'unknown_event',
  );
  assertRefused(
    await admin.post(`/api/v1/webhooks/${record(1)}/replay`, { from: FROM, only: 'all' }),
    404,
    'webhook_not_found',
  );
  const answers = await Promise.all(
    [1, 2, 3].map(() => admin.post(`${path}/replay`, { from: FROM, only: 'all' })),
  );
  assert.deepEqual(answers.map(({ status }) => status).sort(), [202, 409, 409]);
  assert.ok(answers.every(({ status, body }) => status === 202 || body.code === 'replay_running'));
  await receiver.until(1);
  assertRefused(await admin.post(`${path}/replay`, { from: FROM, only: 'all' }), 409, 'replay_running');
  assert.equal((await admin.request('DELETE', path, {})).status, 200);
});

test('what was given up takes a new place', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => 500;
  const { id, path } = await addWebhook(admin, receiver.url);
  await insertEntries(service, record(1), 3);
  await receiver.until(1);
  await eventually(
    async () => ((await admin.get(path)).body.data.status === 'failing' ? true : undefined),
    'a failure',
  );
  await service.sql(`update deliveries set state = 'dead', settled_at = now() where target_id = $1`, [id]);
  const before = (await admin.get(`${path}/deliveries?state=dead`)).body.data.map(
    (one: { id: string }) => one.id,
  );
  receiver.answer = () => 200;
  const answer = await admin.post(`${path}/replay`, { from: FROM, only: 'dead' });
  assert.equal(answer.body.data.count, 3);
  await settled(path);
  const { data } = (await admin.get(`${path}/deliveries`)).body;
  assert.equal(data.length, 3);
  assert.ok(
    data.every(
      (one: { id: string; state: string; replay: boolean }) =>
        one.state === 'sent' && one.replay && !before.includes(one.id),
    ),
  );
  const sequences = receiver.received.slice(1).map(({ event }) => event.data.sequence);
  assert.deepEqual(
    sequences,
    [...sequences].sort((a, b) => a - b),
  );
});

test('an event without an entry that was given up is sent with what it says', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url, { events: ['audit_log_sealed'] });
  const details = { origin: 'id.example.com/audit/x', seals: 7, root: 'AA==', checkpoint: 'x' };
  await queueEvent(service.service.deps.db, {
    type: 'audit_log_sealed',
    resourceType: 'audit_log',
    resourceId: 'x',
    details,
  });
  // The service seals its log, too.
  const isOwn = ({ event }: Received) => event.data.details.origin === details.origin;
  await receiver.until(1, isOwn);
  await settled(path);
  await service.sql(`update deliveries set state = 'dead' where target_id = $1`, [id]);
  await admin.post(`${path}/replay`, { from: FROM, only: 'dead' });
  await receiver.until(2, isOwn);
  await settled(path);
  assert.deepEqual(
    receiver.received.filter(isOwn).map(({ event }) => event.data.details),
    [details, details],
  );
});

test('deliveries are listed by cursor, state, type and time', async (t) => {
  const receiver = await startReceiver(t);
  const { path } = await addWebhook(admin, receiver.url);
  for (let i = 0; i < 7; i += 1) await insertEntries(service, record(500 + i));
  await receiver.until(7);
  await settled(path);
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const { body } = await admin.get(
      `${path}/deliveries?size=3${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    seen.push(...body.data.map((one: { id: string }) => one.id));
    cursor = body.next_cursor;
  } while (cursor !== null);
  assert.equal(new Set(seen).size, 7);
  assert.deepEqual(
    seen,
    [...seen].sort((a, b) => Number(b) - Number(a)),
  );
  const count = async (query: string) => (await admin.get(`${path}/deliveries?${query}`)).body.data.length;
  assert.deepEqual(
    [
      await count('state=sent'),
      await count('state=dead'),
      await count('type=role_updated'),
      await count('type=user_created'),
    ],
    [7, 0, 7, 0],
  );
  assert.deepEqual([await count(`to=${FROM}`), await count(`from=${FROM}`)], [0, 7]);
  assertRefused(await admin.get(`${path}/deliveries?from=yesterday`), 422, 'validation_failed');
  assertRefused(
    await admin.get(`${path}/deliveries?from=2026-02-01T00:00:00Z&to=${FROM}`),
    422,
    'validation_failed',
  );
  assertRefused(await admin.get(`${path}/deliveries/999999999`), 404, 'delivery_not_found');
  assertRefused(await admin.get(`/api/v1/webhooks/${record(1)}/deliveries`), 404, 'webhook_not_found');
});

test('the clean-up gives up what waits too long for a paused webhook, and removes what is old or has no webhook', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url);
  await admin.put(path, { status: 'paused' });
  await insertEntries(service, record(1), 4);
  const age = (state: string, days: number, offset: number) =>
    service.sql(
      `update deliveries set state = $2, created_at = now() - make_interval(days => $3), settled_at = case when $2 <> 'waiting' then now() - make_interval(days => $3) end
       where id = (select id from deliveries where target_id = $1 order by id offset $4 limit 1)`,
      [id, state, days, offset],
    );
  await age('waiting', 8, 0);
  await age('sent', 8, 1);
  await age('dead', 31, 2);
  const gone = await addWebhook(admin, receiver.url);
  await admin.put(gone.path, { status: 'paused' });
  await insertEntries(service, record(2), 2);
  await admin.request('DELETE', gone.path, {});
  await cleanUp(service.service.deps);
  const left = await service.sql<{ state: string; count: number }>(
    'select state, count(*)::integer as count from deliveries where target_id = $1 group by state order by state',
    [id],
  );
  assert.deepEqual(left, [
    { state: 'dead', count: 1 },
    { state: 'waiting', count: 3 },
  ]);
  assert.equal((await service.sql('select from deliveries where target_id = $1', [gone.id])).length, 0);
  assert.equal(receiver.received.length, 0);
});
