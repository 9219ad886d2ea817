// Debian's Prometheus scrapes a running service with our configuration, evaluates our alerts and answers the dashboard.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder } from '@castellan/embedded-postgres/testing';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { freePort } from '@castellan/testing/ports';
import { withoutPrometheus, withoutPromtool } from './promtool.ts';

const deploy = fileURLToPath(new URL('../../../../deploy/', import.meta.url));

test('promtool accepts the configuration, and the alerts fire when they should', {
  skip: withoutPromtool,
}, () => {
  for (const given of [
    ['check', 'config', `${deploy}prometheus/prometheus.yml`],
    ['check', 'rules', '--lint=all', '--lint-fatal', `${deploy}prometheus/alerts.yml`],
    ['test', 'rules', `${deploy}prometheus/alerts.test.yml`],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', given, { encoding: 'utf8' });
    assert.equal(status, 0, `${stdout}${stderr}`);
  }
  const alerts = readFileSync(`${deploy}prometheus/alerts.yml`, 'utf8');
  const tested = readFileSync(`${deploy}prometheus/alerts.test.yml`, 'utf8');
  for (const [, name = ''] of alerts.matchAll(/alert: (\w+)/g))
    assert.match(
      tested,
      new RegExp(`alertname: ${name}\\n\\s+exp_alerts:\\n`),
      `${name} is never seen to fire`,
    );
});

test('Prometheus scrapes a service in which nothing has failed, and every panel of the dashboard has data', {
  skip: withoutPrometheus,
}, async (t) => {
  const port = await freePort();
  const service = await startTestService(t, { METRICS_ADDRESS: `127.0.0.1:${port}` });
  await signIn(service, ADMIN);
  const ask = await startPrometheus(t, port);
  await eventually(async () => {
    const { result } = await ask('castellan_http_requests_total{route="/api/v1/auth/login"}');
    return result.length > 0 ? true : undefined;
  }, 'the first scrape');
  assert.equal((await ask('up{job="castellan"}')).result[0]?.value[1], '1');
  await eventually(async () => {
    // A time of response exists while there are requests.
    await signIn(service, ADMIN);
    const empty = new Set(panelQueries().map(({ title }) => title));
    for (const { title, expr } of panelQueries()) {
      const query = expr
        .replaceAll('$__rate_interval', '1m')
        .replaceAll('$job', 'castellan')
        .replaceAll('$instance', '.*');
      assert.doesNotMatch(query, /\$/, title);
      if ((await ask(query)).result.length > 0) empty.delete(title);
    }
    return [...empty].every((title) => EVENTS.includes(title)) ? true : undefined;
  }, 'data in every panel');
  assert.ok(Number((await ask('sum(castellan_ready)')).result[0]?.value[1]) === 1);
});

// Panels of what has not happened in the test: refusals, and jobs that run every minute.
const EVENTS = ['Refusals by code', 'Since the last success of a job'];

type Answer = { result: { value: [number, string] }[] };

/** Starts Prometheus with our configuration, on the loopback address. Returns a function that runs a query. */
async function startPrometheus(t: TestContext, target: number): Promise<(query: string) => Promise<Answer>> {
  const folder = temporaryFolder(t);
  const config = readFileSync(`${deploy}prometheus/prometheus.yml`, 'utf8')
    .replace('127.0.0.1:9464', `127.0.0.1:${target}`)
    .replaceAll('15s', '1s');
  writeFileSync(join(folder, 'prometheus.yml'), config);
  writeFileSync(join(folder, 'alerts.yml'), readFileSync(`${deploy}prometheus/alerts.yml`));
  const port = await freePort();
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  // Rejects if there is no such program.
  await once(prometheus, 'spawn');
  const ended = new Promise((resolve) => prometheus.once('exit', resolve));
  atEnd(t, async () => {
    prometheus.kill('SIGKILL');
    await ended;
  });
  const base = `http://127.0.0.1:${port}`;
  await eventually(
    async () => ((await fetch(`${base}/-/ready`).catch(() => null))?.ok ? true : undefined),
    'Prometheus',
  );
  return async (query) => {
    const response = await fetch(`${base}/api/v1/query?query=${encodeURIComponent(query)}`);
    const answer = (await response.json()) as { status: string; error?: string; data: Answer };
    assert.equal(answer.status, 'success', `${query}: ${answer.error}`);
    return answer.data;
  };
}

type Panel = { title: string; targets?: { expr: string }[] };

function panelQueries(): { title: string; expr: string }[] {
  const { panels } = JSON.parse(readFileSync(`${deploy}grafana/castellan.json`, 'utf8')) as {
    panels: Panel[];
  };
  const queries = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })));
  assert.ok(queries.length > 20);
  return queries;
}
