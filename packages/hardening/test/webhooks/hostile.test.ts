// Webhooks in hostile hands: addresses that lead where the service must not connect, fields that would show somebody the audit log,
// ids of others, and secrets after they were shown.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { after } from 'node:test';
import { CreateWebhookBody, UpdateWebhookBody } from '@castellan/contract/webhooks';
import { eventually, signIn, startTestService } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { scenariosOf } from '@castellan/testing/scenario';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { addRoles, addWebhook, signInAdmin } from '@castellan/testing/webhooks/fixture';
import { startReceiver } from '@castellan/testing/webhooks/receiver';

const scenario = scenariosOf('fuzzing');
const service = await startTestService({ after }, { OUTBOUND_DENY: '127.0.0.9' });
const admin = await signInAdmin(service);
const webhooks = '/api/v1/webhooks';

/** Listens where the service must not connect. */
async function openForbidden(t: { after(hook: () => void): void }) {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {}).destroy();
  });
  server.listen(0, '127.0.0.9');
  await once(server, 'listening');
  t.after(() => void server.close());
  return { port: portOf(server), connections: () => connections };
}

/** Hosts that are 127.0.0.9, as parsers of addresses and of names read them. */
const spellings = [
  '127.0.0.9',
  '127.9',
  '127.0.9',
  '2130706441',
  '0x7f000009',
  '0x7f.0.0.9',
  '0177.0.0.011',
  '017700000011',
  '127.0.0.9.',
  '127。0。0。9',
  '①②⑦.⓪.⓪.⑨',
  '127%2e0%2e0%2e9',
  '[::ffff:127.0.0.9]',
  '[::ffff:7f00:9]',
  '[0:0:0:0:0:ffff:7f00:0009]',
  '[64:ff9b::127.0.0.9]',
  '[64:ff9b::7f00:9]',
  'ada:secret@127.0.0.9',
  'billing.example.com@127.0.0.9',
  '127.0.0.\t9',
  '\n127.0.0.9',
];

scenario('no spelling of an address in OUTBOUND_DENY is connected to', async ({ tried, held }, t) => {
  const forbidden = await openForbidden(t);
  const { path } = await addWebhook(admin, 'http://127.0.0.1:1/');
  for (const host of spellings)
    for (const scheme of ['http', 'https', 'HTTP']) {
      const url = `${scheme}://${host}:${forbidden.port}/`;
      for (const answer of [
        await admin.post(webhooks, { name: 'Spelled', url, events: ['role_*'] }),
        await admin.put(path, { url }),
      ]) {
        tried();
        const { code } = answer.body;
        assert.deepEqual(
          [answer.status, code],
          [422, 'invalid_webhook_url'],
          `${JSON.stringify(url)} ${answer.text}`,
        );
        assert.ok(!answer.text.includes('ada:secret'));
        held();
      }
    }
  assert.equal(forbidden.connections(), 0);
  await admin.request('DELETE', path, {});
});

scenario(
  'neither a redirect nor a record that was changed by hand leads to a refused address',
  async ({ tried, held }, t) => {
    const [forbidden, receiver] = [await openForbidden(t), await startReceiver(t)];
    const target = `http://127.0.0.9:${forbidden.port}/`;
    const { id, path } = await addWebhook(admin, receiver.url);
    for (const status of [300, 301, 302, 303, 305, 307, 308]) {
      receiver.answer = () => (response) => {
        response.writeHead(status, { location: target, refresh: `0; url=${target}` }).end();
      };
      const { data } = (await admin.post(`${path}/test`, {})).body;
      tried();
      assert.deepEqual([data.status, data.cause], [status, 'status']);
      held();
    }
    // As if what a name leads to had changed since: the literal in the record is judged when it is connected to.
    for (const url of [
      target,
      target.replace('http', 'https'),
      `http://[::ffff:7f00:9]:${forbidden.port}/`,
    ]) {
      await service.sql('update webhooks set url = $2 where id = $1', [id, url]);
      const { data } = (await admin.post(`${path}/test`, {})).body;
      tried();
      assert.deepEqual([data.status, data.cause], [null, 'refused_address'], url);
      held();
    }
    assert.equal(forbidden.connections(), 0);
    await admin.request('DELETE', path, {});
  },
);

/** Other values of each field, and whether they show nobody more of the audit log. */
const others: Record<string, { values: unknown[]; isHarmless?: true }> = {
  name: { values: ['Renamed'], isHarmless: true },
  url: { values: ['https://evil.example.com/', 'https://billing.example.com/hook?x', 'http://127.0.0.1:2/'] },
  events: { values: [['*'], ['role_*', 'user_*'], ['role_created'], ['login_failed']] },
  resource_types: { values: [['role'], ['role', 'user']] },
  results: { values: ['failure'] },
  personal: { values: [true] },
  status: { values: ['active'] },
};

scenario(
  'no field lets somebody who may not read the audit log be sent more of it',
  async ({ tried, held }) => {
    assert.deepEqual(
      new Set(Object.keys(others)),
      new Set([...Object.keys(CreateWebhookBody.properties), ...Object.keys(UpdateWebhookBody.properties)]),
    );
    const role = await addRole(service, 'webhook.read', 'webhook.create', 'webhook.update', 'webhook.delete');
    const keeper = await signIn(service, await addPerson(service, { roles: [role] }));
    const { path } = await addWebhook(admin, 'https://billing.example.com/hook');
    await admin.put(path, { status: 'paused' });
    const recordOf = async () => {
      const { updated_at: _updated, name: _name, ...rest } = (await admin.get(path)).body.data;
      return rest;
    };
    const before = await recordOf();
    for (const [field, { values, isHarmless }] of Object.entries(others))
      for (const value of values)
        for (const json of [{ [field]: value }, { name: 'With it', [field]: value }]) {
          const answer = await keeper.put(path, json);
          tried();
          const expected = isHarmless ? [200, undefined] : [403, 'privilege_escalation'];
          assert.deepEqual([answer.status, answer.body.code], expected, JSON.stringify(json));
          assert.deepEqual(await recordOf(), before);
          held(2);
        }
    const whole = { name: 'New', url: 'https://evil.example.com/', events: ['role_created'] };
    for (const json of [whole, { ...whole, results: 'failure' }, { ...whole, resource_types: ['role'] }]) {
      const answer = await keeper.post(webhooks, json);
      tried();
      assert.deepEqual([answer.status, answer.body.code], [403, 'privilege_escalation']);
      held();
    }
    // What the service alone writes is refused or passed over, whoever sends it.
    for (const extra of [
      { id: '00000000-0000-4000-8000-000000000001' },
      { secret: `whsec_${btoa('chosen by the caller, 24 b')}` },
      { secrets: [] },
      { actions: ['login_failed'] },
      { created_by_id: null },
      { version: 99 },
      { paused_reason: null, paused_at: null },
      { status: 'failing' },
      { waiting: 0, dead: 0 },
    ]) {
      const answer = await keeper.put(path, extra);
      tried();
      assert.ok([200, 422].includes(answer.status), `${JSON.stringify(extra)} ${answer.text}`);
      assert.deepEqual(await recordOf(), before);
      held(2);
    }
    await admin.request('DELETE', path, {});
  },
);

const ids = [
  '0',
  '-1',
  '01',
  '1e3',
  '1.0',
  '0x1',
  '%201',
  '1%00',
  "1'--",
  'NaN',
  'null',
  '1_000',
  '９',
  '9'.repeat(19),
  '9'.repeat(100),
];
const wrongIds = [...ids, '9223372036854775807', '9223372036854775808', '999999999999999999'];

scenario(
  'a delivery is found by its own webhook and its id as written, and by nothing else',
  async ({ tried, held }, t) => {
    const receiver = await startReceiver(t);
    const [own, other] = [
      await addWebhook(admin, receiver.url),
      await addWebhook(admin, receiver.url, { events: ['user_*'] }),
    ];
    await addRoles(admin, 1);
    await receiver.until(1);
    const delivery = await eventually(async () => {
      const { data } = (await admin.get(`${own.path}/deliveries`)).body;
      return data[0]?.state === 'sent' ? data[0] : undefined;
    }, 'the delivery');
    for (const path of [
      ...wrongIds.map((id) => `${own.path}/deliveries/${id}`),
      `${other.path}/deliveries/${delivery.id}`,
      `${webhooks}/00000000-0000-4000-8000-000000000000/deliveries/${delivery.id}`,
    ])
      for (const answer of [await admin.get(path), await admin.post(`${path}/resend`)]) {
        tried();
        assert.ok([400, 404].includes(answer.status), `${path} ${answer.text}`);
        assert.ok(!answer.text.includes(delivery.event_id));
        held(2);
      }
    const { attempt_count, state } = (await admin.get(`${own.path}/deliveries/${delivery.id}`)).body.data;
    assert.deepEqual([attempt_count, state, receiver.received.length], [1, 'sent', 1]);
    for (const { path } of [own, other]) await admin.request('DELETE', path, {});
  },
);

scenario(
  'a secret is shown once, and neither it nor the path of the address is in a log line or an audit entry',
  async ({ tried, held }, t) => {
    const receiver = await startReceiver(t);
    receiver.answer = () => 500;
    const token = randomBytes(24).toString('hex');
    const body = { name: 'Secret', url: `${receiver.url}/${token}`, events: ['role_*'] };
    const once = { headers: { 'idempotency-key': token } };
    const created = await admin.request('POST', webhooks, { json: body, ...once });
    const { id, secret } = created.body.data;
    const path = `${webhooks}/${id}`;
    const rotated = await admin.request('POST', `${path}/secrets`, {
      json: { overlap_seconds: 600 },
      headers: { 'idempotency-key': `${token}-2` },
    });
    const secrets: string[] = [secret, rotated.body.data.secret];
    await addRoles(admin, 1);
    await receiver.until(1);
    const answers = [
      await admin.request('POST', webhooks, { json: body, ...once }),
      await admin.request('POST', `${path}/secrets`, {
        json: { overlap_seconds: 600 },
        headers: { 'idempotency-key': `${token}-2` },
      }),
      await admin.get(webhooks),
      await admin.get(path),
      await admin.get(`${path}/deliveries`),
      await admin.get('/api/v1/audit-logs?size=100'),
      await admin.post(`${path}/test`, {}),
      await admin.post(`${path}/replay`, { from: '2026-01-01T00:00:00Z', only: 'all' }),
      await admin.put(path, { name: 'Secret, renamed', personal: true }),
      await admin.put(path, { url: `${receiver.url}/${token}`, events: ['no_event'] }),
      await admin.request('DELETE', path, {}),
      await admin.get(path),
    ];
    for (const { text } of answers) {
      tried();
      for (const one of secrets) assert.ok(!text.includes(one.slice(6)), text);
      held(secrets.length);
    }
    const bare = secrets.map((one) => one.replace('whsec_', ''));
    const texts = [
      ...service.logLines,
      ...(await service.sql<{ text: string }>('select a::text as text from audit_logs a')).map(
        ({ text }) => text,
      ),
      ...(await service.sql<{ text: string }>('select o::text as text from outbox o')).map(
        ({ text }) => text,
      ),
      ...(await service.sql<{ text: string }>('select d::text as text from deliveries d')).map(
        ({ text }) => text,
      ),
    ];
    for (const text of texts) {
      for (const one of [...bare, token]) assert.ok(!text.includes(one), text);
      held(3);
    }
    const tables = await service.sql<{ name: string }>(
      "select quote_ident(table_name) as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'",
    );
    for (const { name } of tables) {
      const rows = await service.sql<{ text: string }>(`select t::text as text from ${name} t`);
      for (const one of bare)
        assert.ok(
          rows.every(({ text }) => !text.includes(one)),
          name,
        );
      held();
    }
  },
);
