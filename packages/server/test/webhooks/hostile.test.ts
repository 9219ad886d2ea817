// Endpoints that misbehave: what each is told apart as, and that none holds up another or learns what it should not.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually, startTestService } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { addRoles, addWebhook, insertEntries, signInAdmin } from '@castellan/testing/webhooks/fixture';
import { startReceiver } from '@castellan/testing/webhooks/receiver';

const service = await startTestService({ after }, { OUTBOUND_DENY: '127.0.0.9' });
const admin = await signInAdmin(service);

const lastOf = async (path: string) => {
  const { data } = (await admin.get(`${path}/deliveries`)).body;
  return data[0];
};
/** Tests the webhook, which tries once. */
const tried = async (path: string) => (await admin.post(`${path}/test`, {})).body.data;

test('a redirect is not followed, and an answer is known by its status alone', async (t) => {
  const [target, receiver] = [await startReceiver(t), await startReceiver(t)];
  receiver.answer = () => (response) => {
    response.writeHead(302, { location: target.url, 'x-secret': 'of the endpoint' }).end('secret body');
  };
  const { path } = await addWebhook(admin, receiver.url);
  const answer = await admin.post(`${path}/test`, { type: 'role_created' });
  assert.deepEqual([answer.body.data.status, answer.body.data.cause], [302, 'status']);
  assert.equal(receiver.received[0]?.event.data.test, true);
  await addRoles(admin, 1);
  await receiver.until(2);
  await eventually(async () => ((await lastOf(path)).attempt_count === 1 ? true : undefined), 'an attempt');
  const detail = await admin.get(`${path}/deliveries/${(await lastOf(path)).id}`);
  assert.ok(!detail.text.includes('secret body') && !detail.text.includes('of the endpoint'));
  assert.equal(target.received.length, 0);
});

test('an endless body, a changed protocol, a cut connection and a refused address are told apart', async (t) => {
  const endless = await startReceiver(t);
  endless.answer = () => (response) => {
    response.writeHead(500);
    const more = setInterval(() => response.write('x'.repeat(65_536)), 1);
    response.on('close', () => clearInterval(more));
  };
  const raw = async (answer: string): Promise<string> => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => {
        if (answer === '') socket.destroy();
        else socket.write(answer);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => server.close());
    return `http://127.0.0.1:${portOf(server)}/`;
  };
  const cases: [string, number | null, string][] = [
    [endless.url, 500, 'status'],
    [
      await raw('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'),
      null,
      'connect',
    ],
    [await raw(''), null, 'connect'],
    [await raw('nonsense\r\n\r\n'), null, 'connect'],
    ['http://127.0.0.1:1/', null, 'connect'],
    ['http://there-is-none.invalid/', null, 'dns'],
  ];
  for (const [url, status, cause] of cases) {
    const { path } = await addWebhook(admin, url);
    const { ms, ...got } = await tried(path);
    assert.deepEqual([url, got], [url, { status, cause }]);
    assert.ok(ms >= 0);
    await admin.request('DELETE', path, {});
  }
});

test('a name that resolves to a refused address is refused when it is connected to', async () => {
  const { path, id } = await addWebhook(admin, 'http://localhost:1/');
  // As if the name had changed since: the address in the record is what a name now leads to.
  await service.sql(`update webhooks set url = 'http://127.0.0.9:1/' where id = $1`, [id]);
  assert.deepEqual((await tried(path)).cause, 'refused_address');
  await admin.request('DELETE', path, {});
});

test('an endpoint that hangs is cut off, and slows no other', async (t) => {
  const [hanging, quick] = [await startReceiver(t), await startReceiver(t)];
  hanging.answer = () => () => {};
  const dead = await addWebhook(admin, hanging.url);
  const live = await addWebhook(admin, quick.url);
  for (let i = 0; i < 40; i += 1) await insertEntries(service, `00000000-0000-4000-8000-0000000001${10 + i}`);
  await quick.until(40);
  // All of them, while none of the other has ended.
  assert.equal(
    (
      await service.sql(
        'select from delivery_attempts a join deliveries d on d.id = a.delivery_id where d.target_id = $1',
        [dead.id],
      )
    ).length,
    0,
  );
  assert.ok(hanging.received.length <= 8);
  const first = await eventually(async () => {
    const { data } = (await admin.get(`${dead.path}/deliveries`)).body;
    return data.find((one: { attempt_count: number }) => one.attempt_count > 0);
  }, 'the first end of an attempt');
  assert.deepEqual([first.status, first.cause, first.state], [null, 'timeout', 'waiting']);
  for (const { path } of [dead, live]) await admin.request('DELETE', path, {});
});

test('after twenty failures the endpoint gets one event at a time, and all when one arrives', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => 500;
  const { id, path } = await addWebhook(admin, receiver.url);
  for (let i = 0; i < 60; i += 1) await insertEntries(service, `00000000-0000-4000-8000-0000000002${10 + i}`);
  await eventually(async () => {
    const [row] = await service.sql<{ is_probed: boolean }>(
      'select failures >= 20 and next_at > now() as is_probed from delivery_targets where id = $1',
      [id],
    );
    return row?.is_probed ? true : undefined;
  }, 'a target that is probed');
  // Those under way when the twentieth failed, and none of the others. They do not make it wait longer.
  assert.ok(receiver.received.length <= 20 + 7, String(receiver.received.length));
  const [{ wait_ms = 0 } = {}] = await service.sql<{ wait_ms: number }>(
    'select (extract(epoch from next_at - now()) * 1000)::float8 as wait_ms from delivery_targets where id = $1',
    [id],
  );
  assert.ok(wait_ms <= 5_000, String(wait_ms));
  assert.equal((await admin.get(path)).body.data.status, 'failing');
  receiver.answer = () => 200;
  await service.sql('update delivery_targets set next_at = now() where id = $1', [id]);
  // Another instance would read it; this one does when its lease is new.
  await service.sql(`update delivery_targets set holder = null, locked_until = null where id = $1`, [id]);
  await eventually(async () => {
    const { waiting } = (await admin.get(path)).body.data;
    return waiting === 0 ? true : undefined;
  }, 'the end of the backlog');
  assert.equal((await admin.get(path)).body.data.status, 'active');
});

test('once somebody has paused a webhook, only what was about to be sent is', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => (response) => void setTimeout(() => response.writeHead(204).end(), 20);
  const { path } = await addWebhook(admin, receiver.url);
  await service.sql(
    `insert into audit_logs (id, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), 'role_updated', 'role', gen_random_uuid()::text, '{}', clock_timestamp()
     from generate_series(1, 2000)`,
  );
  await receiver.until(50);
  await admin.put(path, { status: 'paused' });
  const before = receiver.received.length;
  await pause(1_500);
  // Eight that had begun, and as many that were noted as the next ones.
  assert.ok(receiver.received.length - before <= 16, String(receiver.received.length - before));
  assert.ok((await admin.get(path)).body.data.waiting > 0);
  await admin.request('DELETE', path, {});
});

test('a pause and its end leave what is being sent alone, and its record in order', async (t) => {
  const receiver = await startReceiver(t);
  const { path } = await addWebhook(admin, receiver.url);
  receiver.answer = () => (response) => void setTimeout(() => response.writeHead(204).end(), 3_000);
  await insertEntries(service, '00000000-0000-4000-8000-000000000777', 2);
  await receiver.until(1);
  await admin.put(path, { status: 'paused' });
  // By then the instance has let the endpoint go.
  await pause(1_000);
  await admin.put(path, { status: 'active' });
  const [first, second] = await receiver.until(2);
  assert.notEqual(first?.headers['webhook-id'], second?.headers['webhook-id']);
  await eventually(
    async () => ((await admin.get(path)).body.data.waiting === 0 ? true : undefined),
    'the end',
  );
  assert.equal(receiver.received.length, 2);
});

test('a pause after 24 hours of failures, with mails to the creator and the superusers', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => 500;
  const { id, path } = await addWebhook(admin, receiver.url, { name: 'Billing' });
  await addRoles(admin, 1);
  await receiver.until(1);
  await eventually(async () => ((await lastOf(path)).attempt_count === 1 ? true : undefined), 'an attempt');
  await service.sql(
    `update delivery_targets set failures = 30, failing_since = now() - interval '25 hours', holder = null, locked_until = null where id = $1`,
    [id],
  );
  await service.sql(`update deliveries set due_at = now() where target_id = $1`, [id]);
  await eventually(
    async () => ((await admin.get(path)).body.data.status === 'paused' ? true : undefined),
    'the pause',
  );
  const { paused_reason, waiting } = (await admin.get(path)).body.data;
  assert.deepEqual([paused_reason, waiting], ['failing', 1]);
  const [entry] = await service.sql<{ details: { reason: string }; actor_id: null }>(
    `select details, actor_id from audit_logs where action = 'webhook_paused' and resource_id = $1`,
    [id],
  );
  assert.deepEqual([entry?.details.reason, entry?.actor_id], ['failing', null]);
  await eventually(
    () => (service.mails().filter(({ kind }) => kind === 'webhook_paused').length >= 2 ? true : undefined),
    'the mails',
  );
  assert.ok(service.mails().some(({ text, kind }) => kind === 'webhook_paused' && text.includes('Billing')));
  const before = receiver.received.length;
  await addRoles(admin, 1);
  receiver.answer = () => 200;
  assert.equal((await admin.put(path, { status: 'active' })).body.data.status, 'failing');
  await receiver.until(before + 2);
  await eventually(
    async () => ((await admin.get(path)).body.data.status === 'active' ? true : undefined),
    'the end',
  );
});

test('410 pauses at once, and nothing is lost', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => 410;
  const { path } = await addWebhook(admin, receiver.url);
  await addRoles(admin, 1);
  await eventually(
    async () => ((await admin.get(path)).body.data.status === 'paused' ? true : undefined),
    'the pause',
  );
  const { paused_reason, waiting } = (await admin.get(path)).body.data;
  assert.deepEqual([paused_reason, waiting], ['gone', 1]);
  receiver.answer = () => 200;
  await admin.put(path, { status: 'active' });
  await receiver.until(2);
});

test('a webhook that is resumed gets what failed last at once, however long that was to wait', async (t) => {
  const receiver = await startReceiver(t);
  receiver.answer = () => 500;
  const { id, path } = await addWebhook(admin, receiver.url);
  await addRoles(admin, 1);
  await receiver.until(1);
  await eventually(async () => ((await lastOf(path)).attempt_count === 1 ? true : undefined), 'an attempt');
  assert.equal((await admin.put(path, { status: 'paused' })).body.data.status, 'paused');
  // As after the ninth failure.
  await service.sql(
    `update deliveries set attempts = 9, due_at = now() + interval '6 hours' where target_id = $1`,
    [id],
  );
  receiver.answer = () => 200;
  await admin.put(path, { status: 'active' });
  await receiver.until(2);
  await eventually(async () => ((await lastOf(path)).state === 'sent' ? true : undefined), 'the success');
});

test('a secret that this SECRET_KEY does not open is said to be the cause', async (t) => {
  const receiver = await startReceiver(t);
  const { id, path } = await addWebhook(admin, receiver.url);
  await service.sql(`update webhook_secrets set secret_sealed = decode('00', 'hex') where webhook_id = $1`, [
    id,
  ]);
  assert.deepEqual((await tried(path)).cause, 'secret');
  assert.equal(receiver.received.length, 0);
});
