// Webhooks as records: who may write one, which addresses and events they may have, and what their secrets do.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { addWebhook, signInAdmin } from '@castellan/testing/webhooks/fixture';

const service = await startTestService({ after }, { OUTBOUND_DENY: '10.9.0.0/16' });
const admin = await signInAdmin(service);
const body = { name: 'Billing', url: 'https://billing.example.com/events', events: ['role_*'] };
const fieldOf = (answer: { body: { errors: { field: string; code: string }[] } }) => answer.body.errors[0];

test('a new webhook shows its secret once, also in no replay of the request', async () => {
  const key = { headers: { 'idempotency-key': 'first' } };
  const created = await admin.request('POST', '/api/v1/webhooks', { json: body, ...key });
  assert.equal(created.status, 201, created.text);
  const { secret, ...shown } = created.body.data;
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  const { secrets, ...rest } = shown;
  assert.equal(secrets.length, 1);
  assert.equal(secrets[0].ends_at, null);
  assert.deepEqual(
    [
      rest.status,
      rest.results,
      rest.personal,
      rest.resource_types,
      rest.waiting,
      rest.dead,
      rest.paused_reason,
    ],
    ['active', 'all', false, null, 0, 0, null],
  );
  const again = await admin.request('POST', '/api/v1/webhooks', { json: body, ...key });
  assert.equal(again.status, 201);
  assert.equal(again.body.data.id, shown.id);
  assert.equal(again.body.data.secret, undefined);
  const read = await admin.get(`/api/v1/webhooks/${shown.id}`);
  assert.ok(!read.text.includes(secret));
  assert.deepEqual(read.body.data, shown);
  const [stored] = await service.sql<{ text: string }>(
    `select encode(secret_sealed, 'escape') as text from webhook_secrets where webhook_id = $1`,
    [shown.id],
  );
  assert.ok(!stored?.text.includes(secret));
});

test('an address is refused with its fault, before anything resolves it', async () => {
  const refused: [string, string][] = [
    ['billing.example.com', 'invalid_url'],
    ['ftp://billing.example.com', 'invalid_url'],
    ['https://ada:secret@billing.example.com', 'user_info'],
    ['https://@billing.example.com', 'user_info'],
    ['https://:@billing.example.com', 'user_info'],
    ['https://billing.example.com/#events', 'fragment'],
    ['https://billing.example.com/#', 'fragment'],
    [`https://billing.example.com/${'x'.repeat(2_000)}`, 'too_long'],
    ['http://203.0.113.7/', 'not_https'],
    ['http://[2001:db8::7]/', 'not_https'],
    ['https://169.254.169.254/latest', 'refused_address'],
    ['https://[fe80::1]/', 'refused_address'],
    ['https://0.0.0.0/', 'refused_address'],
    ['https://2852039166/', 'refused_address'],
    ['https://10.9.1.1/', 'refused_address'],
    ['http://[::ffff:10.9.1.1]/', 'refused_address'],
  ];
  for (const [url, code] of refused) {
    const answer = await admin.post('/api/v1/webhooks', { ...body, url });
    assertRefused(answer, 422, 'invalid_webhook_url');
    assert.deepEqual([url, fieldOf(answer)?.field, fieldOf(answer)?.code], [url, 'url', code]);
    assert.ok(!answer.text.includes('secret@'));
  }
  for (const url of [
    'http://127.0.0.1:1/',
    'http://10.1.1.1/',
    'http://[fd00::1]/',
    'http://billing.internal/',
  ])
    assert.equal((await admin.post('/api/v1/webhooks', { ...body, url })).status, 201, url);
});

test('patterns name events that exist', async () => {
  for (const events of [['user_sneezed'], ['role_*', 'sneeze_*'], ['user'], ['*e'], ['']]) {
    const answer = await admin.post('/api/v1/webhooks', { ...body, events });
    assert.equal(answer.status, 422, JSON.stringify(events));
  }
  const answer = await admin.post('/api/v1/webhooks', { ...body, events: ['role_*', 'sneeze_*'] });
  assertRefused(answer, 422, 'unknown_event');
  assert.equal(fieldOf(answer)?.field, 'events.1');
  assertRefused(await admin.post('/api/v1/webhooks', { ...body, events: [] }), 422, 'validation_failed');
  assertRefused(
    await admin.post('/api/v1/webhooks', { ...body, resource_types: ['sneeze'] }),
    422,
    'validation_failed',
  );
});

test('only who may read the audit log lets a webhook read it', async () => {
  const { path } = await addWebhook(admin, 'https://billing.example.com/a');
  const role = await addRole(service, 'webhook.read', 'webhook.create', 'webhook.update', 'webhook.delete');
  const keeper = await signIn(service, await addPerson(service, { roles: [role] }));
  assertRefused(await keeper.post('/api/v1/webhooks', body), 403, 'privilege_escalation');
  for (const change of [
    { url: 'https://evil.example.com/' },
    { events: ['*'] },
    { personal: true },
    { results: 'failure' },
  ])
    assertRefused(await keeper.put(path, change), 403, 'privilege_escalation');
  assert.equal((await keeper.put(path, { name: 'Renamed' })).status, 200);
  assert.equal((await keeper.put(path, { status: 'paused' })).status, 200);
  assertRefused(await keeper.put(path, { status: 'active' }), 403, 'privilege_escalation');
  for (const [method, end, json] of [
    ['GET', '/deliveries', undefined],
    ['GET', '/deliveries/1', undefined],
    ['POST', '/replay', { from: '2026-01-01T00:00:00Z', only: 'all' }],
  ] as const)
    assertRefused(
      await keeper.request(method, `${path}${end}`, json === undefined ? {} : { json }),
      403,
      'permission_denied',
    );
  assert.equal((await keeper.request('DELETE', path, {})).status, 200);
});

test('a personal access token makes and widens none', async () => {
  const { path } = await addWebhook(admin, 'https://billing.example.com/b');
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  const token = await admin.post('/api/v1/users/me/tokens', { name: 'Script', expires_at });
  const script = service.client();
  script.accessToken = token.body.data.token;
  assertRefused(await script.post('/api/v1/webhooks', body), 403, 'user_session_required');
  assertRefused(await script.put(path, { personal: true }), 403, 'user_session_required');
  assertRefused(await script.post(`${path}/secrets`, {}), 403, 'user_session_required');
  assert.equal((await script.put(path, { name: 'By script' })).status, 200);
});

test('a change counts from the version that it was made for, and one that changes nothing writes nothing', async () => {
  const { path, id } = await addWebhook(admin, 'https://billing.example.com/c');
  const read = await admin.get(path);
  const tag = read.headers.get('etag') ?? '';
  const changed = await admin.request('PUT', path, { json: { name: 'Two' }, headers: { 'if-match': tag } });
  assert.equal(changed.status, 200);
  assert.notEqual(changed.headers.get('etag'), tag);
  const late = await admin.request('PUT', path, { json: { name: 'Three' }, headers: { 'if-match': tag } });
  assertRefused(late, 412, 'precondition_failed');
  assert.equal(late.body.current.name, 'Two');
  assertRefused(
    await admin.request('DELETE', path, { headers: { 'if-match': tag } }),
    412,
    'precondition_failed',
  );
  const same = await admin.put(path, { name: 'Two', status: 'active' });
  assert.equal(same.headers.get('etag'), changed.headers.get('etag'));
  const entries = await service.sql<{ action: string }>(
    'select action from audit_logs where resource_id = $1 order by "timestamp", id',
    [id],
  );
  assert.deepEqual(
    entries.map(({ action }) => action),
    ['webhook_created', 'webhook_updated'],
  );
});

test('three secrets live at most, and the former ones end with their overlap', async () => {
  const { path, id } = await addWebhook(admin, 'https://billing.example.com/d');
  const second = await admin.post(`${path}/secrets`, { overlap_seconds: 3_600 });
  assert.equal(second.status, 201, second.text);
  assert.equal((await admin.post(`${path}/secrets`, {})).status, 201);
  const fourth = await admin.post(`${path}/secrets`, {});
  assertRefused(fourth, 409, 'too_many_secrets');
  const { secrets } = (await admin.get(path)).body.data;
  assert.equal(secrets.length, 3);
  assert.equal(secrets[0].ends_at, null);
  const [rows] = [
    await service.sql<{ is_hour: boolean }>(
      `select ends_at < now() + interval '61 minutes' as is_hour from webhook_secrets where webhook_id = $1 order by created_at`,
      [id],
    ),
  ];
  assert.deepEqual(
    rows.map(({ is_hour }) => is_hour),
    [true, false, null],
  );
  const last = await admin.post(`${path}/secrets`, { overlap_seconds: 0 });
  assert.equal(last.status, 201);
  const left = (await admin.get(path)).body.data.secrets;
  assert.deepEqual(
    left.map((one: { id: string }) => one.id),
    [last.body.data.id],
  );
  assertRefused(await admin.post(`${path}/secrets`, { overlap_seconds: 604_801 }), 422, 'validation_failed');
});

test('there are at most fifty, also by requests at the same time', async () => {
  const [{ count = 0 } = {}] = await service.sql<{ count: number }>(
    'select count(*)::integer as count from webhooks',
  );
  const answers = await Promise.all(
    Array.from({ length: 53 - count }, (_, i) =>
      admin.post('/api/v1/webhooks', { ...body, name: `Many ${i}` }),
    ),
  );
  assert.equal(answers.filter(({ status }) => status === 201).length, 50 - count);
  assert.ok(answers.every(({ status, body: { code } }) => status === 201 || code === 'too_many_webhooks'));
});
