// Tests the outbox on a real PostgreSQL and a real SMTP server: committed mails are sent once, through every kind of
// failure.
import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import { type SmtpSink, smtpRefusal, startSmtpSink } from '@castellan/testing/smtp-sink';
import pg from 'pg';
import type { SMTPServerOptions } from 'smtp-server';
import type { DeliveryWorker } from '../delivery/worker.ts';
import { createOutboxWorker, deleteOldOutbox, describeFailure } from './outbox.ts';
import { createMailTransport, MailRefusedError, type MailTransport } from './transport.ts';

type WorkerOptions = Omit<Parameters<typeof createOutboxWorker>[0], 'pool' | 'transport' | 'log'>;

const token = 'dG9rZW4tdGhhdC1ub2JvZHktbWF5LXNlZS1oZXJl';
/** Ends a test that hangs; not a limit on speed. */
const HANG_MS = 60_000;
const pools: pg.Pool[] = [];
const logged: { level: string; msg: string; outboxId?: string; reason?: string }[] = [];
const note = (level: string) => (obj: object, msg: string) => void logged.push({ level, msg, ...obj });
const log = { info: note('info'), warn: note('warn'), error: note('error') };
let cleanups: (() => unknown)[] = [];
let scratch: Awaited<ReturnType<typeof createScratchDatabase>>;
let pool: pg.Pool;

before(async () => {
  scratch = await createScratchDatabase();
  for (let i = 0; i < 3; i += 1) pools.push(new pg.Pool({ connectionString: scratch.url, max: 4 }));
  pool = pools[0] as pg.Pool;
});
beforeEach(async () => {
  await pool.query('delete from outbox');
});
afterEach(async () => {
  for (const clean of cleanups.toReversed()) await clean();
  cleanups = [];
  logged.length = 0;
});
after(async () => {
  await Promise.all(pools.map((one) => one.end()));
  await scratch?.drop();
});

const compose: WorkerOptions['compose'] = async (_kind, payload) => ({
  to: (payload as { to: string }).to,
  subject: 'Hello',
  text: `https://app.example.com/#${token}`,
  html: '<p>Hello</p>',
});

async function newSink(options: SMTPServerOptions = {}, port = 0): Promise<SmtpSink> {
  const sink = await startSmtpSink(options, port);
  cleanups.push(sink.close);
  return sink;
}

function smtp(sink: SmtpSink, sendTimeoutMs = 20_000): MailTransport {
  const from = 'no-reply@castellan.example';
  const smtpUrl = sink.url();
  const transport = createMailTransport({
    smtpUrl,
    from,
    senderName: 'Castellan',
    outboxDir: '/nonexistent',
    print: assert.fail,
    sendTimeoutMs,
  });
  cleanups.push(transport.close);
  return transport;
}

/** A transport that keeps a mail in sending for as long as a test needs it. */
const transportThat = (send: MailTransport['send']): MailTransport => ({
  send,
  verify: async () => {},
  close: () => {},
  description: 'a transport under the control of a test',
});

function newWorker(
  transport: MailTransport,
  options: Partial<WorkerOptions> = {},
  on = pool,
): DeliveryWorker {
  const worker = createOutboxWorker({ pool: on, transport, log, compose, pollMs: 3_600_000, ...options });
  cleanups.push(() => worker.stop());
  return worker;
}

async function until(met: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + HANG_MS;
  while (!(await met())) {
    if (performance.now() > deadline) assert.fail(`not within ${HANG_MS} ms: ${what}`);
    await pause(5);
  }
}

/** Adds a mail to the transaction of a client, as the service does. */
const enqueue = (to = 'bob@example.com', client: pg.Pool | pg.PoolClient = pool) =>
  client.query('insert into outbox (kind, payload) values ($1, $2)', ['hello', { to }]);
const makeDue = () =>
  pool.query('update outbox set run_at = now() where sent_at is null and failed_at is null');
const rows = async () => {
  const text = `select *, extract(epoch from run_at - now())::float8 as due_in, outbox::text as whole
    from outbox order by created_at`;
  return (await pool.query(text)).rows;
};
const onlyRow = async () => {
  const [row, ...others] = await rows();
  assert.deepEqual(others, []);
  return row;
};

test('a mail is sent if its transaction commits, and not if it rolls back', async () => {
  const sink = await newSink();
  const worker = newWorker(smtp(sink));
  const client = await pool.connect();
  for (const end of ['rollback', 'commit']) {
    await client.query('begin');
    await enqueue(`${end}@example.com`, client);
    assert.equal(await worker.drain(), 0);
    await client.query(end);
  }
  client.release();
  assert.equal(await worker.drain(), 1);
  assert.deepEqual(
    sink.mails.map((mail) => mail.to),
    [['commit@example.com']],
  );
  const row = await onlyRow();
  assert.ok(row.sent_at);
  assert.equal(row.failed_at, null);
  assert.match(sink.mails[0]?.raw ?? '', new RegExp(`^Message-ID: <${row.id}@castellan\\.example>\r$`, 'm'));
});

test('three instances send each of 200 mails once', async () => {
  const sink = await newSink();
  const recipients = Array.from({ length: 200 }, (_, i) => `user-${i}@example.com`);
  for (const to of recipients) await enqueue(to);
  const workers = pools.map((on) => newWorker(smtp(sink), {}, on));
  for (const worker of workers) worker.start();
  await until(async () => (await rows()).every((row) => row.sent_at), 'all rows sent');
  await Promise.all(workers.map((worker) => worker.stop()));
  assert.deepEqual(sink.mails.flatMap((mail) => mail.to).sort(), recipients.sort());
  assert.ok((await rows()).every((row) => row.attempts === 1));
});

test('wake sends at once, also while the worker is busy', async () => {
  const sink = await newSink();
  const worker = newWorker(smtp(sink), { batch: 2 });
  worker.start();
  for (let i = 1; i <= 20; i += 1) {
    await enqueue();
    worker.wake();
    if (i % 5 === 0) await until(() => sink.mails.length === i, `${i} mails`);
  }
});

test('a wake during a running check is not lost', async () => {
  const looked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const slow = {
    async query(config: pg.QueryConfig) {
      const result = await pool.query(config);
      looked.resolve();
      await release.promise;
      return result;
    },
  } as unknown as pg.Pool;
  const sink = await newSink();
  const worker = newWorker(smtp(sink), {}, slow);
  worker.start();
  await looked.promise;
  await enqueue();
  worker.wake();
  release.resolve();
  await until(() => sink.mails.length === 1, 'the mail');
});

test('a mail without a wake is found by the next poll', async () => {
  const sink = await newSink();
  const worker = newWorker(smtp(sink), { pollMs: 20 });
  worker.start();
  await enqueue();
  await until(() => sink.mails.length === 1, 'the mail');
});

test('a mail that was refused temporarily is retried after a pause, and the reason is logged without secrets', async () => {
  let busy = true;
  const refusal = smtpRefusal(
    450,
    `4.2.1 see https://app.example.com/#${token} ${token} for <bob@example.com>`,
  );
  const sink = await newSink({ onRcptTo: (_address, _session, done) => done(busy ? refusal : null) });
  const worker = newWorker(smtp(sink));
  await enqueue();
  assert.equal(await worker.drain(), 0);
  const row = await onlyRow();
  assert.equal(row.attempts, 1);
  assert.ok(row.due_in > 3 && row.due_in <= 5, `due in ${row.due_in} s`);
  assert.match(row.last_error, /450 4\.2\.1/);
  for (const seen of [row.last_error, JSON.stringify(logged)])
    assert.doesNotMatch(seen, /bob@|https:|dG9rZW4/);
  assert.deepEqual(
    logged.map((line) => [line.level, line.outboxId]),
    [['warn', row.id]],
  );

  busy = false;
  assert.equal(await worker.drain(), 0);
  await makeDue();
  assert.equal(await worker.drain(), 1);
  const sent = await onlyRow();
  assert.deepEqual([sent.attempts, sent.last_error, sent.locked_until], [2, null, null]);
  assert.ok(sent.sent_at);
});

test('a mail to a permanently refused recipient is given up at once and logged as an error', async () => {
  const refusal = smtpRefusal(550, '5.1.1 no such user <bob@example.com>');
  const sink = await newSink({ onRcptTo: (_address, _session, done) => done(refusal) });
  const worker = newWorker(smtp(sink));
  await enqueue();
  assert.equal(await worker.drain(), 0);
  const row = await onlyRow();
  assert.ok(row.failed_at);
  assert.match(row.last_error, /550 5\.1\.1/);
  assert.deepEqual(
    logged.map((line) => [line.level, line.outboxId]),
    [['error', row.id]],
  );
  assert.doesNotMatch(JSON.stringify(logged), /bob@/);
  await makeDue();
  assert.equal(await worker.drain(), 0);
  assert.equal((await onlyRow()).attempts, 1);
});

test('pauses double up to 15 minutes, and the last attempt gives up', async () => {
  const sink = await newSink({ onRcptTo: (_address, _session, done) => done(smtpRefusal(450)) });
  const worker = newWorker(smtp(sink), { maxAttempts: 11 });
  await enqueue();
  for (const longest of [5, 10, 20, 40, 80, 160, 320, 640, 900, 900]) {
    await worker.drain();
    const { due_in: dueIn } = await onlyRow();
    assert.ok(dueIn > 0.8 * longest - 2 && dueIn <= longest, `due in ${dueIn} s, expected ${longest}`);
    await makeDue();
  }
  await worker.drain();
  const row = await onlyRow();
  assert.ok(row.failed_at);
  assert.equal(row.attempts, 11);
});

test('a mail whose attempts never finished is given up unsent', async () => {
  const sink = await newSink();
  const worker = newWorker(smtp(sink), { maxAttempts: 3 });
  await enqueue();
  await pool.query('update outbox set attempts = 3');
  assert.equal(await worker.drain(), 0);
  assert.ok((await onlyRow()).failed_at);
  assert.deepEqual(sink.mails, []);
});

test('a server that hangs costs an attempt, not the worker', async () => {
  const sink = await newSink({ onRcptTo: () => {} });
  const worker = newWorker(smtp(sink, 200));
  await enqueue();
  assert.equal(await worker.drain(), 0);
  const row = await onlyRow();
  assert.equal(row.locked_until, null);
  assert.ok(row.due_in > 3);
});

test('mails wait while the server is down and are sent when it is up', async () => {
  const gone = await startSmtpSink();
  await gone.close();
  const worker = newWorker(smtp(gone), { pollMs: 20 });
  worker.start();
  await enqueue();
  worker.wake();
  await until(async () => (await onlyRow()).last_error !== null, 'a failed attempt');
  assert.match((await onlyRow()).last_error, /ECONNREFUSED/);
  const sink = await newSink({}, gone.port);
  await makeDue();
  await until(() => sink.mails.length === 1, 'the mail');
});

test('a mail is composed anew for each attempt, and its token is never stored', async () => {
  const sink = await newSink({ onRcptTo: (_address, _session, done) => done(smtpRefusal(450)) });
  const written: number[] = [];
  const worker = newWorker(smtp(sink), {
    compose: async (kind, payload, attempt) => {
      written.push(attempt);
      return compose(kind, payload, attempt);
    },
  });
  await enqueue();
  await worker.drain();
  await makeDue();
  await worker.drain();
  assert.deepEqual(written, [1, 2]);
  assert.ok(!(await onlyRow()).whole.includes(token));
});

test('a mail that is no longer needed is deleted', async () => {
  const sink = await newSink();
  const worker = newWorker(smtp(sink), { compose: async () => null });
  await enqueue();
  assert.equal(await worker.drain(), 0);
  assert.deepEqual(await rows(), []);
  assert.deepEqual(sink.mails, []);
});

test('a mail that cannot be composed is retried', async () => {
  const sink = await newSink();
  const worker = newWorker(smtp(sink), { compose: () => Promise.reject(new Error(`no template ${token}`)) });
  await enqueue();
  await worker.drain();
  const row = await onlyRow();
  assert.equal(row.last_error, 'Error: no template [...]');
  assert.ok(row.due_in > 3);
});

test('a mail of a dead instance is sent with the same Message-ID after its lease, not before', async () => {
  const sink = await newSink();
  const worker = newWorker(smtp(sink));
  await enqueue();
  await pool.query(`update outbox set attempts = 1, locked_until = now() + interval '1 minute'`);
  assert.equal(await worker.drain(), 0);
  await pool.query(`update outbox set locked_until = now()`);
  assert.equal(await worker.drain(), 1);
  assert.ok(sink.mails[0]?.raw.includes(`<${(await onlyRow()).id}@`));
});

const staleEndings: [string, () => Promise<null>][] = [
  ['finds nothing to send', async () => null],
  ['fails', () => Promise.reject(new Error('too late'))],
  ['is refused', () => Promise.reject(new MailRefusedError('too late'))],
];
for (const [name, end] of staleEndings) {
  test(`an instance whose lease was taken over and then ${name} leaves the row to the new holder`, async () => {
    await enqueue();
    let takenOver: unknown;
    const worker = newWorker(transportThat(assert.fail), {
      compose: async () => {
        await pool.query(
          `update outbox set attempts = attempts + 1, locked_until = now() + interval '1 minute'`,
        );
        takenOver = (await onlyRow()).whole;
        return end();
      },
    });
    await worker.drain();
    assert.equal((await onlyRow()).whole, takenOver);
  });
}

test('a mail whose composition outlasts its lease is not sent but retried', async () => {
  const sink = await newSink();
  const slowly: WorkerOptions['compose'] = async (...row) => {
    const startedAt = performance.now();
    await until(() => performance.now() - startedAt > 60, '60 ms');
    return compose(...row);
  };
  const worker = newWorker(smtp(sink), { leaseSeconds: 50.05, compose: slowly });
  await enqueue();
  assert.equal(await worker.drain(), 0);
  assert.match((await onlyRow()).last_error, /lease/);
  assert.deepEqual(sink.mails, []);
  assert.throws(() => newWorker(smtp(sink), { leaseSeconds: 50 }), RangeError);
});

test('no connection is held while mails are being sent', async () => {
  const narrow = new pg.Pool({ connectionString: scratch.url, max: 1 });
  cleanups.push(() => narrow.end());
  const sending = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const transport = transportThat(async () => {
    sending.resolve();
    await release.promise;
  });
  const worker = newWorker(transport, {}, narrow);
  await enqueue();
  worker.start();
  await sending.promise;
  await narrow.query('select 1');
  const busy = `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`;
  assert.equal((await narrow.query(busy)).rowCount, 0);
  release.resolve();
});

test('one stuck mail does not delay the others', async () => {
  const release = Promise.withResolvers<void>();
  const sent: string[] = [];
  const transport = transportThat(async ({ to }) => {
    if (to.startsWith('stuck')) await release.promise;
    sent.push(to);
  });
  const worker = newWorker(transport, { batch: 2 });
  await enqueue('stuck@example.com');
  for (let i = 0; i < 10; i += 1) await enqueue(`user-${i}@example.com`);
  worker.start();
  await until(() => sent.length === 10, 'the other mails');
  release.resolve();
});

/** A worker that is sending the first of two mails, and continues when `release` is called. */
async function workerAmidMail(): Promise<{ worker: DeliveryWorker; release: () => void }> {
  const sending = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const transport = transportThat(async () => {
    sending.resolve();
    await release.promise;
  });
  const worker = newWorker(transport, { batch: 1 });
  await enqueue();
  await enqueue();
  worker.start();
  await sending.promise;
  return { worker, release: release.resolve };
}

test('stop waits for mails that are being sent, and takes no more', async () => {
  const { worker, release } = await workerAmidMail();
  const stopping = worker.stop();
  release();
  await stopping;
  worker.wake();
  assert.equal((await rows()).filter((row) => row.sent_at).length, 1);
  assert.deepEqual((await rows()).map((row) => row.attempts).sort(), [0, 1]);
});

test('stop times out with one warning, and the mail being sent is still marked as sent', async () => {
  const { worker, release } = await workerAmidMail();
  await worker.stop(20);
  await worker.stop();
  assert.deepEqual(
    logged.map((line) => line.level),
    ['warn'],
  );
  release();
  await until(async () => (await rows()).some((row) => row.sent_at), 'the mail to be marked as sent');
});

test('a database outage is logged once, and mails are sent when it is back', async () => {
  let broken = true;
  let failures = 0;
  const flaky = {
    async query(config: pg.QueryConfig) {
      if (!broken) return pool.query(config);
      failures += 1;
      throw new Error('down');
    },
  } as unknown as pg.Pool;
  const sink = await newSink();
  const worker = newWorker(smtp(sink), { pollMs: 10 }, flaky);
  await enqueue();
  worker.start();
  await until(() => failures >= 5, 'five failures');
  broken = false;
  await until(() => sink.mails.length === 1, 'the mail');
  await worker.stop();
  assert.deepEqual(
    logged.map((line) => line.level),
    ['error', 'info'],
  );
});

test('a mail is not sent twice if the database is unavailable when it was sent', async () => {
  let refusals = 1;
  const flaky = {
    query: (config: pg.QueryConfig) =>
      config.name === 'outbox_sent' && refusals-- > 0
        ? Promise.reject(new Error('down'))
        : pool.query(config),
  } as unknown as pg.Pool;
  const sink = await newSink();
  await enqueue();
  assert.equal(await newWorker(smtp(sink), {}, flaky).drain(), 1);
  assert.ok((await onlyRow()).sent_at);
  assert.equal(sink.mails.length, 1);
});

test('clean-up deletes old finished mails, and no waiting one', async () => {
  const insert = `insert into outbox (kind, payload, created_at, run_at, sent_at, failed_at)
    select $1, '{}', now() - interval '40 days', now() - interval '40 days', $2, $3 from generate_series(1, $4)`;
  const old = new Date(Date.now() - 31 * 86_400_000);
  const young = new Date(Date.now() - 29 * 86_400_000);
  await pool.query(insert, ['old sent', old, null, 5]);
  await pool.query(insert, ['old failed', null, old, 5]);
  await pool.query(insert, ['young sent', young, null, 1]);
  await pool.query(insert, ['young failed', null, young, 1]);
  await pool.query(insert, ['waiting', null, null, 1]);
  assert.equal(await deleteOldOutbox(pool, 30, { batchSize: 3, maxBatches: 2 }), 6);
  assert.equal(await deleteOldOutbox(pool, 30, { batchSize: 3 }), 4);
  assert.equal(await deleteOldOutbox(pool, 30), 0);
  assert.deepEqual((await rows()).map((row) => row.kind).sort(), ['waiting', 'young failed', 'young sent']);
});

test('the reason of a failure is one line of limited length', () => {
  assert.equal(describeFailure(new Error('a\r\nb\u0000c')), 'Error: a b c');
  assert.ok(describeFailure(new Error('word '.repeat(100_000))).length <= 500);
  assert.equal(describeFailure({ password: 'x' }), 'not an Error');
});
