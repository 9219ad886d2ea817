// The metrics of an instance of several workers: one address, and each worker by its number.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { atEnd, temporaryFolder } from '@castellan/embedded-postgres/testing';
import { ADMIN, eventually, TEST_SECRET_KEY } from '@castellan/testing/harness';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { startChild, statusOf } from '@castellan/testing/start/child';
import { askSocket, parseMetrics, sampleOf } from './prometheus-text.ts';

test('a scrape of several workers has the samples of each', {
  skip: process.platform !== 'linux' && 'needs Linux',
}, async (t) => {
  const database = await createScratchDatabase({ migrated: true });
  atEnd(t, () => database.drop());
  const socket = join(temporaryFolder(t), 'metrics.sock');
  const child = startChild(t, {
    DATABASE_URL: database.url,
    SECRET_KEY: TEST_SECRET_KEY,
    FIRST_SUPERUSER_EMAIL: ADMIN.email,
    FIRST_SUPERUSER_PASSWORD: ADMIN.password,
    WORKERS: '2',
    METRICS_ADDRESS: `unix:${socket}`,
  });
  const url = await child.ready();
  const found = await eventually(async () => {
    const scrape = parseMetrics((await askSocket(socket)).text);
    const ready = ['1', '2'].map((worker) => sampleOf(scrape, 'castellan_ready', { worker }));
    return ready.every((value) => value === 1) ? scrape : undefined;
  }, 'two ready workers');
  assert.ok(found.samples.every(({ labels }) => ['1', '2'].includes(labels.worker ?? '')));
  assert.notEqual(
    sampleOf(found, 'process_start_time_seconds', { worker: '1' }),
    undefined,
    'metrics of the process',
  );
  assert.equal(await statusOf(`${url}/health/live`), 200);
  const counted = await eventually(async () => {
    const { samples } = parseMetrics((await askSocket(socket)).text);
    const route = samples.filter(
      ({ name, labels }) => name === 'castellan_http_requests_total' && labels.route === '/health/live',
    );
    return route.length > 0 ? route.reduce((sum, { value }) => sum + value, 0) : undefined;
  }, 'the request');
  assert.ok(counted >= 1);
  child.kill('SIGTERM');
  assert.equal((await child.ended).code, 0);
  assert.equal(existsSync(socket), false);
});
