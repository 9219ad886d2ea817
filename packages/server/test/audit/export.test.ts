// The export of a long audit log: complete, equal to the list, and never held as a whole.
import assert from 'node:assert/strict';
import http from 'node:http';
import { after, test } from 'node:test';
import type { PoolClient } from 'pg';
import { ADMIN, eventually, signIn, startTestService } from '../harness.ts';
import { assertRefused } from '../http/fixture.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const EXPORT = '/api/v1/audit-logs/export';

// Some 2 kB each, so that the log is far larger than what buffers between two processes hold.
const ENTRIES = 30_000;
await service.sql(
  `insert into audit_logs (id, action, resource_type, details, "timestamp")
   select gen_random_uuid(), 'role_created', 'long', jsonb_build_object('text', repeat(md5(n::text), 64)),
     now() - make_interval(secs => n / 3) from generate_series(1, $1::integer) n`,
  [ENTRIES],
);

/** Counts the statements that read the log until the test ends. */
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

/** An export that is begun and not read. */
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

/** The number once it has not changed for half a second. */
async function settled(count: () => number): Promise<number> {
  let [last, since] = [count(), performance.now()];
  return eventually(() => {
    if (count() !== last) [last, since] = [count(), performance.now()];
    return performance.now() - since > 500 ? last : undefined;
  }, 'the number to settle');
}

test('the export has every entry once, one JSON text a line, in the order of the list', async () => {
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

test('nothing to export is an empty answer, and a refusal is no file', async () => {
  const empty = await admin.get(`${EXPORT}?resource_type=none`);
  assert.equal(empty.status, 200);
  assert.equal(empty.text, '');
  const refused = await admin.get(`${EXPORT}?from=never`);
  assertRefused(refused, 422, 'validation_failed');
  assert.equal(refused.headers.get('content-disposition'), null);
  assertRefused(await admin.get(`${EXPORT}?actor_id=x`), 400, 'invalid_id');
});

test('a client that reads nothing makes the service read only as far as the buffers, and go on when it does', async (t) => {
  const reads = countReads(t);
  const answer = await beginExport();
  const paused = await settled(reads);
  const all = Math.ceil(ENTRIES / 1_000);
  assert.ok(paused < all - 5, `${paused} of ${all} batches were read for nobody`);
  let lines = 0;
  for await (const chunk of answer) for (const byte of chunk as Buffer) if (byte === 10) lines += 1;
  assert.equal(lines, ENTRIES);
});

test('when the client goes away the reading ends, and the service goes on', async (t) => {
  const reads = countReads(t);
  const answer = await beginExport();
  answer.on('error', () => {});
  const before = await settled(reads);
  answer.destroy();
  const ended = await settled(reads);
  assert.ok(ended <= before + 1, `${ended - before} batches were read after the end`);
  assert.equal((await admin.get('/api/v1/audit-logs?size=1')).status, 200);
  await eventually(
    () => (service.service.deps.pool.idleCount === service.service.deps.pool.totalCount ? true : undefined),
    'every connection to be free again',
  );
});

test('an export that fails on its way is cut, so that nobody takes it for complete', async () => {
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

test('HEAD does not read the log to answer nothing', async (t) => {
  const reads = countReads(t);
  const answer = await admin.request('HEAD', EXPORT);
  assert.ok(answer.status === 200 || answer.status === 405, `${answer.status}`);
  assert.equal(await settled(reads), 0);
});
