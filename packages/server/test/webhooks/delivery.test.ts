// What is sent to webhooks: signed, with what happened, again until it arrives, and in order.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, signIn, startTestService } from '@castellan/testing/harness';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { addRoles, addWebhook, insertEntries, signInAdmin } from '@castellan/testing/webhooks/fixture';
import { type Received, startReceiver } from '@castellan/testing/webhooks/receiver';

const service = await startTestService({ after });
const admin = await signInAdmin(service);

const bytesOf = (secret: string): Buffer => Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
/** Signs as https://www.standardwebhooks.com does. */
const signed = (secret: string, { headers, body }: Received): string =>
  `v1,${createHmac('sha256', bytesOf(secret)).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`).digest('base64')}`;

/** Lets waits after failures be over. */
const hasten = (id: string) =>
  service.sql(`update deliveries set due_at = now() where target_id = $1 and state = 'waiting'`, [id]);
const statesOf = async (id: string): Promise<Record<string, number>> => {
  const rows = await service.sql<{ state: string; count: number }>(
    'select state, count(*)::integer as count from deliveries where target_id = $1 group by state',
    [id],
  );
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
};
const settled = (id: string, wanted: Record<string, number>) =>
  eventually(
    async () => {
      const states = await statesOf(id);
      return JSON.stringify(states) === JSON.stringify(wanted) ? states : undefined;
    },
    `deliveries ${JSON.stringify(wanted)}`,
  );

test('an event arrives once, signed, and without personal data unless it is asked for', async (t) => {
  const [plain, personal] = [await startReceiver(t), await startReceiver(t)];
  const one = await addWebhook(admin, plain.url);
  const other = await addWebhook(admin, personal.url, { personal: true });
  const [role] = await addRoles(admin, 1);
  const [[got], [whole]] = [await plain.until(1), await personal.until(1)];
  assert.ok(got && whole);
  assert.equal(got.headers['webhook-signature'], signed(one.secret, got));
  assert.equal(whole.headers['webhook-signature'], signed(other.secret, whole));
  assert.deepEqual([got.event.type, got.event.data.resource.id], ['role_created', role]);
  assert.equal(got.event.data.resource.name, undefined);
  assert.equal(got.event.data.actor?.email, undefined);
  assert.ok(!got.body.includes('@example.com'));
  assert.ok(whole.event.data.actor?.email?.includes('@'));
  assert.equal(whole.event.data.resource.name?.startsWith('Role '), true);
  assert.notEqual(got.headers['webhook-id'], whole.headers['webhook-id']);
  await settled(one.id, { sent: 1 });
  const { data } = (await admin.get(`${one.path}/deliveries`)).body;
  assert.deepEqual(
    [data.length, data[0].state, data[0].status, data[0].cause, data[0].attempt_count, data[0].event_id],
    [1, 'sent', 204, null, 1, got.event.data.id],
  );
  assert.equal(String(got.event.data.sequence), data[0].id);
  const detail = (await admin.get(`${one.path}/deliveries/${data[0].id}`)).body.data;
  assert.deepEqual(detail.payload, got.event);
  assert.equal(detail.attempts.length, 1);
  assert.deepEqual([plain.received.length, personal.received.length], [1, 1]);
});

test('only what matches is sent, and a webhook hears nothing of itself', async (t) => {
  const receiver = await startReceiver(t);
  const all = await addWebhook(admin, receiver.url, { events: ['webhook_*', 'login_failed'] });
  const failures = await addWebhook(admin, receiver.url, {
    events: ['*'],
    results: 'failure',
    resource_types: ['user'],
  });
  await admin.put(all.path, { name: 'Renamed' });
  await admin.put(failures.path, { name: 'Renamed, too' });
  await addRoles(admin, 1);
  const [seen] = await receiver.until(2);
  assert.ok(seen);
  await settled(all.id, { sent: 2 });
  const of = (type: string) => receiver.received.filter(({ event }) => event.type === type);
  assert.deepEqual(
    of('webhook_created').map(({ event }) => event.data.resource.id),
    [failures.id],
  );
  assert.deepEqual(
    of('webhook_updated').map(({ event }) => event.data.resource.id),
    [failures.id],
  );
  assert.deepEqual(await statesOf(failures.id), {});
  for (const { path } of [all, failures]) assert.equal((await admin.request('DELETE', path, {})).status, 200);
});

test('a failure is tried again with the same id, and holds up its record alone', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url);
  const [bad, good] = ['0bad0000-0000-4000-8000-000000000000', '0900d000-0000-4000-8000-000000000000'];
  receiver.answer = ({ event }) => (event.data.resource.id === bad ? 503 : 200);
  for (const resource of [bad, good, bad, good]) await insertEntries(service, resource);
  await receiver.until(2, ({ event }) => event.data.resource.id === good);
  const [first] = await receiver.until(1, ({ event }) => event.data.resource.id === bad);
  const waiting = await eventually(async () => {
    const { data } = (await admin.get(`${path}/deliveries?state=waiting`)).body;
    return data.length === 2 && data[1].attempt_count === 1 ? data : undefined;
  }, 'two deliveries that wait');
  assert.deepEqual([waiting[1].status, waiting[1].cause, waiting[0].attempt_count], [503, 'status', 0]);
  assert.ok(Date.parse(waiting[1].next_at) > Date.parse(waiting[1].created_at));
  receiver.answer = () => 200;
  await hasten(id);
  const again = await receiver.until(3, ({ event }) => event.data.resource.id === bad);
  assert.equal(again[1]?.headers['webhook-id'], first?.headers['webhook-id']);
  assert.deepEqual(
    again.map(({ event }) => event.data.sequence),
    [...again.map(({ event }) => event.data.sequence)].sort((a, b) => a - b),
  );
  await settled(id, { sent: 4 });
  const { status } = (await admin.get(path)).body.data;
  assert.equal(status, 'active');
});

test('a hundred writers at once: every record in its order, whatever the endpoint answers', async (t) => {
  const receiver = await startReceiver(t);
  const { id } = await addWebhook(admin, receiver.url);
  let calls = 0;
  // Every fifth fails, of each record at another place.
  receiver.answer = () => {
    calls += 1;
    return calls % 5 === 0 ? 500 : 200;
  };
  const records = Array.from({ length: 20 }, (_, i) => `00000000-0000-4000-8000-0000000000${10 + i}`);
  await service.sql('create table locked (id text primary key)');
  await service.sql('insert into locked select unnest($1::text[])', [records]);
  // As a change of a record does: its lock, then its entry.
  await Promise.all(
    Array.from({ length: 100 }, async (_, writer) => {
      for (let turn = 0; turn < 3; turn += 1)
        await service.sql(
          `with mine as materialized (select id from locked where id = $1 for update)
           insert into audit_logs (id, action, resource_type, resource_id, details)
           select gen_random_uuid(), 'role_updated', 'role', id, '{}' from mine`,
          [records[(writer + turn) % records.length]],
        );
    }),
  );
  const taught = setInterval(() => void hasten(id), 200);
  t.after(() => clearInterval(taught));
  await settled(id, { sent: 300 });
  for (const record of records) {
    const arrived = receiver.received
      .filter(({ event }) => event.data.resource.id === record)
      .map(({ event }) => event.data.sequence);
    assert.deepEqual(
      arrived,
      [...arrived].sort((a, b) => a - b),
      record,
    );
    assert.equal(new Set(arrived).size, 15);
  }
  await service.sql('drop table locked');
});

test('each live secret signs, also what waits when one is made', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => 500;
  const { id, path, secret } = await addWebhook(admin, receiver.url);
  await addRoles(admin, 1);
  await receiver.until(1);
  const further = (await admin.post(`${path}/secrets`, { overlap_seconds: 3_600 })).body.data.secret;
  receiver.answer = () => 200;
  await eventually(async () => ((await statesOf(id)).waiting === 1 ? true : undefined), 'the failure');
  await hasten(id);
  const [, second] = await receiver.until(2);
  assert.ok(second);
  assert.deepEqual(
    String(second.headers['webhook-signature']).split(' ').sort(),
    [signed(further, second), signed(secret, second)].sort(),
  );
  await admin.post(`${path}/secrets`, { overlap_seconds: 0 });
  await addRoles(admin, 1);
  const [, , third] = await receiver.until(3);
  assert.ok(third);
  assert.ok(!String(third.headers['webhook-signature']).includes(signed(secret, third)));
});

test('a delivery is dead when it was tried for as long as it may be, and the next one goes', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url);
  receiver.answer = () => 500;
  const record = '0dead000-0000-4000-8000-000000000000';
  await insertEntries(service, record, 2);
  await receiver.until(1);
  await eventually(
    async () => ((await admin.get(path)).body.data.status === 'failing' ? true : undefined),
    'failing',
  );
  await service.sql(
    `update deliveries set tried_since = now() - interval '73 hours', due_at = now() where target_id = $1 and attempts > 0`,
    [id],
  );
  await receiver.until(2);
  await eventually(async () => ((await statesOf(id)).dead === 1 ? true : undefined), 'a dead delivery');
  receiver.answer = () => 200;
  await hasten(id);
  await settled(id, { dead: 1, sent: 1 });
  const { dead, waiting, last_success_at } = (await admin.get(path)).body.data;
  assert.deepEqual([dead, waiting, last_success_at !== null], [1, 0, true]);
  const [gone] = (await admin.get(`${path}/deliveries?state=dead`)).body.data;
  const resent = await admin.post(`${path}/deliveries/${gone.id}/resend`);
  assert.deepEqual(
    [resent.status, resent.body.data.state, resent.body.data.attempt_count],
    [202, 'waiting', 0],
  );
  assert.equal(resent.body.data.type, 'role_updated');
  await settled(id, { sent: 2 });
  // Without the permission to read the audit log, nothing tells what happened.
  const keeper = await signIn(
    service,
    await addPerson(service, { roles: [await addRole(service, 'webhook.update')] }),
  );
  const { status, body } = await keeper.post(`${path}/deliveries/${gone.id}/resend`);
  assert.deepEqual(
    [status, body.data.id, body.data.type, body.data.event_id],
    [202, gone.id, undefined, undefined],
  );
  await settled(id, { sent: 2 });
  const ids = receiver.received.filter(({ event }) => String(event.data.sequence) === gone.id);
  assert.equal(new Set(ids.map(({ headers }) => headers['webhook-id'])).size, 1);
});

test('a delivery that is resent goes at once, also while a later one of its record waits after failures', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url);
  const record = '0e5e0000-0000-4000-8000-000000000000';
  await insertEntries(service, record);
  await settled(id, { sent: 1 });
  receiver.answer = () => 500;
  await insertEntries(service, record);
  await receiver.until(2);
  const [failed, first] = await eventually(async () => {
    const { data } = (await admin.get(`${path}/deliveries`)).body;
    return data[0].attempt_count === 1 ? data : undefined;
  }, 'a failure');
  receiver.answer = () => 200;
  // As after many failures. The worker, which knows an earlier time, reads it when that has come.
  await service.sql(`update deliveries set due_at = now() + interval '6 hours' where id = $1`, [failed.id]);
  await pause(7_000);
  assert.equal(receiver.received.length, 2);
  await admin.post(`${path}/deliveries/${first.id}/resend`);
  await settled(id, { sent: 2 });
  assert.deepEqual(
    receiver.received.slice(2).map(({ event }) => String(event.data.sequence)),
    [first.id, failed.id],
  );
});

test('an entry that was removed, and one that was erased', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url, { personal: true });
  receiver.answer = () => 500;
  await addRoles(admin, 2);
  await receiver.until(2);
  await eventually(async () => {
    const { data } = (await admin.get(`${path}/deliveries?state=waiting`)).body;
    return data.every((one: { attempt_count: number }) => one.attempt_count === 1) ? true : undefined;
  }, 'both failures');
  const [newer, older] = (await admin.get(`${path}/deliveries`)).body.data;
  await service.sql('delete from audit_logs where id = $1', [newer.event_id]);
  await service.sql(`update audit_logs set resource_name = 'erased' where id = $1`, [older.event_id]);
  receiver.answer = () => 200;
  await hasten(id);
  await settled(id, { dead: 1, sent: 1 });
  assert.equal(receiver.received.at(-1)?.event.data.resource.name, 'erased');
  const detail = (await admin.get(`${path}/deliveries/${newer.id}`)).body.data;
  assert.deepEqual([detail.payload, detail.cause, detail.state], [null, 'removed', 'dead']);
});
