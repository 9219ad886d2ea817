// The export of a long audit log: it is complete, equals the list, and is never held in memory as a whole.
import assert from 'node:assert/strict';
import http from 'node:http';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import type { PoolClient } from 'pg';
import pg from 'pg';

// Sealing reads entries too.
const service = await startTestService({ after }, { AUDIT_SEALING: 'off' });
const admin = await signIn(service, ADMIN);
const EXPORT = '/api/v1/audit-logs/export';

// About 2 kB each, so that the log is far larger than the buffers between two processes.
const ENTRIES = 30_000;
await service.sql(
  `insert into audit_logs (id, action, resource_type, details, "timestamp")
   select gen_random_uuid(), 'role_created', 'long', jsonb_build_object('text', repeat(md5(n::text), 64)),
     now() - make_interval(secs => n / 3) from generate_series(1, $1::integer) n`,
  [ENTRIES],
);

/** Counts the statements that read the log, until the test ends. */
function countReads(t: { after(hook: () => void): void }): () => number {
  const { pool } = service.service.deps;
  let reads = 0;
  const watched = new Map<PoolClient, PoolClient['query']>();
  const watch = (client: PoolClient): void => {
    if (watched.has(client)) return;
    const send = client.query;
    watched.set(client, send);
    client.query = ((...args: Parameters<typeof send>) => {
      if (/from audit_logs/.test((args[0] as { text?: string }).text ?? '')) reads += 1;
      return send.apply(client, args);
    }) as typeof send;
  };
  pool.on('acquire', watch);
  t.after(() => {
    pool.off('acquire', watch);
    for (const [client, send] of watched) client.query = send;
  });
  return () => reads;
}

/** Starts an export without reading it. */
async function beginExport(): Promise<http.IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  http
    .get(
      `${service.url}${EXPORT}?resource_type=long`,
      { agent: false, headers: { authorization: `Bearer ${admin.accessToken}` } },
      resolve,
    )
    .on('error', reject);
  return promise;
}

/** Returns the number once it has not changed for half a second. */
async function settled(count: () => number): Promise<number> {
  let [last, since] = [count(), performance.now()];
  return eventually(() => {
    if (count() !== last) [last, since] = [count(), performance.now()];
    return performance.now() - since > 500 ? last : undefined;
  }, 'the number to stop changing');
}

test('the export has every entry once, one JSON object per line, in the order of the list', async () => {
  const answer = await admin.get(`${EXPORT}?resource_type=long`);
  assert.equal(answer.status, 200);
  assert.match(answer.headers.get('content-type') ?? '', /^application\/x-ndjson/);
  assert.match(answer.headers.get('content-disposition') ?? '', /^attachment; filename="[\w-]+\.ndjson"$/);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.ok(answer.text.endsWith('\n'));
  const entries = answer.text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(entries.length, ENTRIES);
  const expected = await service.sql<{ id: string }>(
    `select id from audit_logs where resource_type = 'long' order by "timestamp" desc, id desc`,
  );
  assert.deepEqual(
    entries.map(({ id }) => id),
    expected.map(({ id }) => id),
  );
  const { body } = await admin.get('/api/v1/audit-logs?resource_type=long&size=100');
  assert.deepEqual(entries.slice(0, 100), body.data);
});

test('an export without entries is empty, and a refusal is not a file', async () => {
  const empty = await admin.get(`${EXPORT}?resource_type=none`);
  assert.equal(empty.status, 200);
  assert.equal(empty.text, '');
  const refused = await admin.get(`${EXPORT}?from=never`);
  assertRefused(refused, 422, 'validation_failed');
  assert.equal(refused.headers.get('content-disposition'), null);
  assertRefused(await admin.get(`${EXPORT}?actor_id=x`), 400, 'invalid_id');
});

test('the service reads only as far as the buffers while the client reads nothing, and continues when it does', async (t) => {
  const reads = countReads(t);
  const answer = await beginExport();
  const paused = await settled(reads);
  const all = Math.ceil(ENTRIES / 200);
  assert.ok(paused < all - 5, `${paused} of ${all} batches were read although the client read nothing`);
  let lines = 0;
  for await (const chunk of answer) for (const byte of chunk as Buffer) if (byte === 10) lines += 1;
  assert.equal(lines, ENTRIES);
});

test('when the client disconnects the reading ends, and the service continues', async (t) => {
  const reads = countReads(t);
  const answer = await beginExport();
  answer.on('error', () => {});
  const before = await settled(reads);
  answer.destroy();
  const ended = await settled(reads);
  assert.ok(ended <= before + 1, `${ended - before} batches were read after the disconnect`);
  assert.equal((await admin.get('/api/v1/audit-logs?size=1')).status, 200);
  await eventually(
    () => (service.service.deps.pool.idleCount === service.service.deps.pool.totalCount ? true : undefined),
    'every connection to be released',
  );
});

test('a user runs two exports at once; a third waits for a moment and is then refused, until one of them ends', async () => {
  const running = [await beginExport(), await beginExport()];
  assert.deepEqual(
    running.map(({ statusCode }) => statusCode),
    [200, 200],
  );
  const third = await admin.get(EXPORT);
  assertRefused(third, 503, 'overloaded');
  assert.ok(Number(third.headers.get('retry-after')) >= 1);
  for (const answer of running) answer.on('error', () => {}).destroy();
  await eventually(async () => {
    const again = await admin.get(`${EXPORT}?resource_type=none`);
    return again.status === 200 ? true : undefined;
  }, 'the turns to end with their connections');
});

test('a client that disconnects before the export begins leaves its turn', async () => {
  const lock = new pg.Client(service.databaseUrl);
  await lock.connect();
  try {
    await lock.query('begin; lock table audit_logs in access exclusive mode');
    const requests = [1, 2].map(() =>
      http
        .get(`${service.url}${EXPORT}`, {
          agent: false,
          headers: { authorization: `Bearer ${admin.accessToken}` },
        })
        .on('error', () => {}),
    );
    const { exports } = service.service.deps;
    await eventually(
      () => (exports.gate.stats().running === 2 ? true : undefined),
      'both to wait for the table',
    );
    for (const request of requests) request.destroy();
    await lock.query('rollback');
    await eventually(() => (exports.gate.stats().running === 0 ? true : undefined), 'both turns to end');
  } finally {
    await lock.end();
  }
});

test('a refused filter takes no turn', async () => {
  for (let count = 0; count < 5; count += 1)
    assertRefused(await admin.get(`${EXPORT}?from=never`), 422, 'validation_failed');
  assert.equal((await admin.get(`${EXPORT}?resource_type=none`)).status, 200);
});

test('an export that fails midway is cut off, so that nobody considers it complete', async () => {
  const answer = await beginExport();
  await service.sql('alter table audit_logs rename to audit_logs_away');
  try {
    await assert.rejects(async () => {
      for await (const _ of answer);
    }, /aborted|terminated|socket hang up/i);
    assert.equal(answer.complete, false);
    const late = await admin.get(EXPORT);
    assert.equal(late.status, 500);
    assert.equal(late.headers.get('content-disposition'), null);
    assert.match(late.headers.get('content-type') ?? '', /json/);
  } finally {
    await service.sql('alter table audit_logs_away rename to audit_logs');
  }
});

/** Runs exports that end after a short stall, until the test ends. */
function withShortStall(t: { after(hook: () => void): void }): void {
  const { exports } = service.service.deps;
  const { maxStallMs } = exports;
  exports.maxStallMs = 300;
  t.after(() => {
    exports.maxStallMs = maxStallMs;
  });
}

const turnsEnd = (): Promise<true> =>
  eventually(
    () => (service.service.deps.exports.gate.stats().running === 0 ? true : undefined),
    'the turns to end',
  );

test('an export that nobody reads is cut off and leaves its turn, so that its file does not pass for whole', async (t) => {
  assert.equal(service.service.deps.exports.maxStallMs, 30_000);
  withShortStall(t);
  const stalled = await Promise.all([beginExport(), beginExport()]);
  await turnsEnd();
  for (const answer of stalled) {
    await assert.rejects(async () => {
      for await (const _ of answer);
    }, /aborted|terminated|socket hang up/i);
    assert.equal(answer.complete, false);
  }
  assert.ok(
    service.logLines.some((line) => line.includes('the client read nothing of the export for 0.3 s')),
    'the log says why',
  );
  assert.equal((await admin.get(`${EXPORT}?resource_type=none`)).status, 200);
});

test('over HTTP/1.0, which has no chunks, a stalled export ends as a broken connection', async (t) => {
  withShortStall(t);
  const { port } = new URL(service.url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `GET ${EXPORT}?resource_type=long HTTP/1.0\r\nAuthorization: Bearer ${admin.accessToken}\r\n\r\n`,
  );
  await eventually(
    () => (service.service.deps.exports.gate.stats().running === 1 ? true : undefined),
    'the export to begin',
  );
  await turnsEnd();
  await assert.rejects(
    async () => {
      for await (const _ of socket);
    },
    { code: 'ECONNRESET' },
  );
});

test('a reader that pauses for less than the limit at each batch gets every entry', async (t) => {
  const { exports } = service.service.deps;
  withShortStall(t);
  exports.maxStallMs = 5_000;
  const answer = await beginExport();
  let [lines, pauses] = [0, 0];
  for await (const chunk of answer) {
    for (const byte of chunk as Buffer) if (byte === 10) lines += 1;
    if (pauses < 20 && lines > pauses * 1_000) {
      pauses += 1;
      await wait(300);
    }
  }
  // Together the pauses are longer than the limit.
  assert.ok(pauses * 300 > exports.maxStallMs);
  assert.equal(lines, ENTRIES);
});

test('HEAD does not read the log', async (t) => {
  const reads = countReads(t);
  const answer = await admin.request('HEAD', EXPORT);
  assert.ok(answer.status === 200 || answer.status === 405, `${answer.status}`);
  assert.equal(await settled(reads), 0);
});
