// /metrics of a running service: every metric is there, and no label comes from a request.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { ABSENT_ID } from '@castellan/testing/http/fixture';
import { definitions } from '../../src/metrics/definitions.ts';
import { askSocket, parseMetrics, type Scrape, sampleOf } from './prometheus-text.ts';
import { withoutPromtool } from './promtool.ts';

// prom-client gives its users these gauges by these names, and existing dashboards read them. None of ours is named so.
const complaintsAboutPromClient = ['handles', 'requests', 'resources'].map(
  (what) => `nodejs_active_${what}_total non-counter metrics should not have "_total" suffix`,
);

const folder = await mkdtemp(join(tmpdir(), 'castellan-metrics-'));
const socket = join(folder, 'metrics.sock');
after(() => rm(folder, { recursive: true, force: true }));
const breachFile = join(folder, 'hashes.txt');
await writeFile(breachFile, 'A'.repeat(40));
const service = await startTestService(
  { after },
  {
    METRICS_ADDRESS: `unix:${socket}`,
    AUDIT_SINK: 'stdout',
    RATE_LIMIT_LOGIN: '2/hour',
    PASSWORD_BREACH_FILE: breachFile,
  },
);
// Before the first scrape, whose figures are kept for some seconds.
await service.service.deps.sealer.run();

const scrape = async (): Promise<Scrape> => parseMetrics((await askSocket(socket)).text);

test('without the database, metrics of the process are served, and castellan_database_up is 0', async () => {
  await service.sql('alter table user_marks rename to hidden');
  const without = await scrape();
  await service.sql('alter table hidden rename to user_marks');
  assert.equal(sampleOf(without, 'castellan_database_up'), 0);
  assert.equal(sampleOf(without, 'castellan_sessions_live'), undefined);
  assert.equal(sampleOf(without, 'castellan_ready'), 1);
  assert.ok((sampleOf(without, 'process_start_time_seconds') ?? 0) > 0);
  assert.equal(service.logLines.filter((line) => line.includes('metrics of the database')).length, 1);
  const again = await eventually(async () => {
    const found = await scrape();
    return sampleOf(found, 'castellan_database_up') === 1 ? found : undefined;
  }, 'the metrics of the database');
  assert.equal(sampleOf(again, 'castellan_users', { state: 'active' }), 1);
});

test('requests, statements and hashes are counted by what the sources name, never by what a client sent', async () => {
  const admin = await signIn(service, ADMIN);
  assert.equal((await admin.login({ ...ADMIN, password: 'Wrong#Guess55Lamp' })).status, 422);
  assert.equal((await admin.login(ADMIN)).status, 429);
  for (let more = 0; more < 3; more += 1) await admin.get('/api/v1/users/me?note=in-the-query');
  await admin.get(`/api/v1/users/${ABSENT_ID}`);
  await admin.get('/typed/by-a-person', { headers: { 'user-agent': 'agent-of-a-person' } });
  await admin.request('GET', '/api/v1/%ff-broken');
  await admin.request('PROPFIND', '/api/v1/users');
  const { text } = await askSocket(socket);
  const found = parseMetrics(text);
  const requests = (labels: Record<string, string>) =>
    sampleOf(found, 'castellan_http_requests_total', labels);
  assert.equal(requests({ method: 'GET', route: '/api/v1/users/me', status: '200' }), 3);
  assert.equal(requests({ method: 'GET', route: '/api/v1/users/:user_id', status: '404' }), 1);
  assert.equal(requests({ method: 'GET', route: 'none', status: '404' }), 1);
  assert.equal(requests({ method: 'GET', route: 'none', status: '400' }), 1);
  assert.equal(requests({ method: 'other', route: 'none' }), 1);
  const refusals = (labels: Record<string, string>) =>
    sampleOf(found, 'castellan_http_refusals_total', labels);
  assert.equal(refusals({ route: '/api/v1/auth/login', code: 'rate_limited' }), 1);
  assert.equal(refusals({ route: '/api/v1/auth/login', code: 'invalid_credentials' }), 1);
  assert.equal(sampleOf(found, 'castellan_password_hashes_total', { operation: 'verify' }), 2);
  assert.ok((sampleOf(found, 'castellan_password_hash_seconds_total') ?? 0) > 0);
  const lookups = sampleOf(found, 'castellan_database_statements_total', { statement: 'live-access-tokens' });
  assert.ok(lookups !== undefined && lookups >= 4, String(lookups));
  assert.ok(
    (sampleOf(found, 'castellan_database_statements_total', { statement: 'insert audit_logs' }) ?? 0) > 0,
  );
  assert.equal(sampleOf(found, 'castellan_graph_renewals_total', { extent: 'all' }), 1);
  assert.doesNotMatch(
    text,
    /in-the-query|by-a-person|of-a-person|broken|PROPFIND|admin@|[0-9a-f]{8}-[0-9a-f]{4}-/,
  );
});

test('with AUDIT_SINK=stdout, audit entries are lines of their own kind', async () => {
  const line = await eventually(
    () => service.logLines.find((one) => one.includes('"kind":"audit"') && one.includes('login_succeeded')),
    'a line of an audit entry',
  );
  const { level, kind, entry } = JSON.parse(line);
  assert.deepEqual(
    [level, kind, entry.action, entry.actor_email],
    ['info', 'audit', 'login_succeeded', ADMIN.email],
  );
});

test('every metric of the definitions has the samples that it promises', async () => {
  const { text } = await askSocket(socket);
  const found = parseMetrics(text);
  for (const { name, type, labels = [] } of definitions) {
    assert.equal(found.types.get(name), type, name);
    const sampleName = type === 'histogram' ? `${name}_count` : name;
    const samples = found.samples.filter((one) => one.name === sampleName);
    const isAbsent = samples.length === 0;
    // Whether a job has run by now depends on the timetable in the database.
    if (name === 'castellan_job_last_success_timestamp_seconds') continue;
    // This service speaks HTTP; test/security/tls.test.ts has those of TLS.
    if (name.startsWith('castellan_tls_')) continue;
    // Nobody reads the change feed here; test/feed/streams.test.ts has it.
    if (name === 'castellan_feed_lag_seconds') continue;
    assert.equal(isAbsent, false, `${name} has no sample`);
    for (const one of samples) assert.deepEqual(Object.keys(one.labels), [...labels], name);
  }
  const ours = [...found.types.keys()].filter((name) => name.startsWith('castellan_'));
  assert.deepEqual(ours.sort(), definitions.map(({ name }) => name).sort());
  const whole = found.samples.filter((one) => one.name === 'castellan_http_request_duration_seconds_bucket');
  for (const one of whole.filter(({ labels }) => labels.le === '+Inf'))
    assert.equal(
      one.value,
      found.samples
        .filter(
          ({ name, labels }) =>
            name === 'castellan_http_requests_total' &&
            labels.route === one.labels.route &&
            labels.method === one.labels.method,
        )
        .reduce((sum, { value }) => sum + value, 0),
      `the histogram of ${one.labels.route} holds every request`,
    );
});

test('promtool accepts the names, types and help of all metrics', { skip: withoutPromtool }, async () => {
  const { text } = await askSocket(socket);
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], {
    input: text,
    encoding: 'utf8',
  });
  const complaints = `${stdout}${stderr}`.split('\n').filter((one) => one !== '');
  assert.deepEqual(complaints, complaintsAboutPromClient);
  // 3: it read the text, and has complaints.
  assert.equal(status, 3);
});

test('the dashboard and the alerts use only metrics that are served', async () => {
  const { types } = await scrape();
  const served = new Set(
    [...types].flatMap(([name, type]) => (type === 'histogram' ? [`${name}_bucket`] : [name])),
  );
  for (const file of ['grafana/castellan.json', 'prometheus/alerts.yml', 'prometheus/alerts.test.yml']) {
    const text = await readFile(new URL(`../../../../deploy/${file}`, import.meta.url), 'utf8');
    const used = new Set(
      [...text.matchAll(/\b(?:castellan|nodejs|process)_[a-z0-9_]+/g)].map(([name]) => name),
    );
    assert.ok(used.size > 10, file);
    assert.deepEqual(
      [...used].filter((name) => !served.has(name)),
      [],
      file,
    );
  }
});

test('the address of metrics answers nothing else, and the service has no such route', async () => {
  assert.equal((await service.client().get('/metrics')).status, 404);
  assert.equal((await askSocket(socket, '/')).status, 404);
  assert.equal((await askSocket(socket, '/metricsx')).status, 404);
  assert.equal((await askSocket(socket, '/api/v1/users/me')).status, 404);
  const posted = await askSocket(socket, '/metrics', 'POST');
  assert.deepEqual([posted.status, posted.headers.allow], [405, 'GET, HEAD']);
  const head = await askSocket(socket, '/metrics', 'HEAD');
  assert.equal(head.status, 200);
  assert.ok(Number(head.headers['content-length']) > 1_000);
  assert.equal((await askSocket(socket)).headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  assert.equal((await stat(socket)).mode & 0o777, 0o660);
});

test('a second instance does not start on a socket in use, and a stopped one leaves none', async () => {
  await assert.rejects(service.another(), /METRICS_ADDRESS unix:\S+ cannot be listened on/);
  await service.stop();
  await assert.rejects(stat(socket), { code: 'ENOENT' });
});
