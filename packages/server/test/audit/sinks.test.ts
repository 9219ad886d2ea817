// The audit log outside: every entry arrives, from one instance at a time, and a failing sink changes no answer.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import type { AuditLogEntry } from '@castellan/contract/audit';
import { ADMIN, eventually, signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { forgetAbandonedSink } from '../../src/modules/audit/sink-store.ts';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** A receiver that answers as a test wants, and keeps what it accepted. */
const received: AuditLogEntry[] = [];
let refused = 0;
let status = 204;
const receiver = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  request.once('end', () => {
    const { type, data } = JSON.parse(text) as { type: string; data: { entries: AuditLogEntry[] } };
    // Heads: test/audit/evidence/publishing.test.ts
    if (type !== 'audit.entries') return void response.writeHead(204).end();
    // The first batch is too large, so it must come in parts.
    const answer = status === 413 && data.entries.length === 1 ? 204 : status;
    if (answer === 204) received.push(...data.entries);
    else refused += 1;
    response.writeHead(answer, { location: '/elsewhere' }).end();
  });
}).listen(0, '127.0.0.1');
await once(receiver, 'listening');
after(() => receiver.close());

const service = await startTestService(
  { after },
  { AUDIT_SINK: `http://127.0.0.1:${portOf(receiver)}/in`, AUDIT_SINK_SECRET: SECRET },
);
const queued = async (): Promise<number> => (await service.sql('select from audit_outbox')).length;

const arrival = (what: string, found: () => boolean): Promise<true> =>
  eventually(() => (found() ? true : undefined), what);

const failSignIn = async (email: string): Promise<void> => {
  const answer = await service.client().login({ email, password: 'Wrong#Guess55Lamp' });
  assert.equal(answer.status, 422);
};
const emailsOf = (entries: readonly AuditLogEntry[]): unknown[] =>
  entries
    .filter(({ action }) => action === 'login_failed')
    .map(({ details }) => Reflect.get(details, 'email'));

test('entries arrive in order, as the API shows them', async () => {
  const admin = await signIn(service, ADMIN);
  for (const name of ['one', 'two', 'three']) await failSignIn(`${name}@example.com`);
  await arrival('three entries', () => emailsOf(received).length === 3);
  assert.deepEqual(emailsOf(received), ['one@example.com', 'two@example.com', 'three@example.com']);
  const shown: AuditLogEntry[] = (await admin.get('/api/v1/audit-logs?size=100')).body.data;
  for (const entry of received)
    assert.deepEqual(
      entry,
      shown.find(({ id }) => id === entry.id),
    );
});

test('what a sink refuses waits, in order and in smaller parts, and arrives once it is accepted', async () => {
  received.length = 0;
  status = 302;
  await failSignIn('redirected@example.com');
  await arrival('a refusal', () => refused > 0);
  await failSignIn('later@example.com');
  assert.equal(received.length, 0);
  assert.ok((await queued()) >= 2);
  status = 413;
  await arrival('the entries', () => emailsOf(received).length === 2);
  status = 204;
  assert.deepEqual(emailsOf(received), ['redirected@example.com', 'later@example.com']);
  await eventually(async () => ((await queued()) === 0 ? true : undefined), 'an empty queue');
  const warned = service.logLines.filter((line) => line.includes('the audit sink'));
  assert.equal(warned.length, 2, warned.join(''));
});

test('an entry that commits late is sent, although later ones were sent before it', async () => {
  received.length = 0;
  const [row] = await service.sql<{ id: string }>('select gen_random_uuid() as id');
  const { pool } = service.service.deps;
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(
      `insert into audit_logs (id, action, resource_type) values ($1, 'login_failed', 'security_event')`,
      [row?.id],
    );
    await failSignIn('meanwhile@example.com');
    await arrival('the later entry', () => emailsOf(received).includes('meanwhile@example.com'));
    await client.query('commit');
  } finally {
    client.release();
  }
  await arrival('the earlier entry', () => received.some(({ id }) => id === row?.id));
});

const sentBy = ({ service: { deps } }: TestService): number => deps.sinkWorker?.stats().sent ?? -1;

test('one instance sends; another takes over when it stops; nothing is sent twice or left out', async () => {
  received.length = 0;
  const second = await service.another();
  for (const name of ['four', 'five']) await failSignIn(`${name}@example.com`);
  await arrival('two entries', () => emailsOf(received).length === 2);
  assert.equal(sentBy(second), 0);
  await service.stop();
  const answer = await second.client().login({ email: 'six@example.com', password: 'Wrong#Guess55Lamp' });
  assert.equal(answer.status, 422);
  await arrival('the entry of the other instance', () => emailsOf(received).includes('six@example.com'));
  // It counts an entry when it has the receiver's answer.
  await arrival('its own count', () => sentBy(second) > 0);
  assert.deepEqual(emailsOf(received), ['four@example.com', 'five@example.com', 'six@example.com']);
  assert.equal(new Set(received.map(({ id }) => id)).size, received.length);
  await second.stop();
});

test('without a sink, entries are queued for a week after the last instance that had one, and then no more', async () => {
  const third = await service.another({ AUDIT_SINK: '' });
  const signInFails = () =>
    third.client().login({ email: 'seven@example.com', password: 'Wrong#Guess55Lamp' });
  await signInFails();
  assert.ok((await queued()) > 0);
  const { db } = third.service.deps;
  assert.equal(await forgetAbandonedSink(db, 7), false);
  await third.sql(`update audit_sink set seen_at = now() - interval '8 days'`);
  assert.equal(await forgetAbandonedSink(db, 7), true);
  await signInFails();
  assert.equal(await queued(), 0);
});
