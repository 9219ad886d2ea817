import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttps } from 'node:https';
import { createServer as createTcp } from 'node:net';
import { type TestContext, test } from 'node:test';
import { createServer as createTls, type TLSSocket } from 'node:tls';
import { makeCertificate } from '@castellan/testing/http/certificate';
import { portOf } from '@castellan/testing/ports';
import { createLog } from '../../../platform/logging/log.ts';
import { parseSinkAddress, parseSinkSecret } from './address.ts';
import { createHeadSender } from './head-sender.ts';
import { type Sink, SinkError, type SinkHead, type SinkRecord } from './sink.ts';
import { createStdoutSink } from './stdout.ts';
import { createSyslogSink, syslogMessage } from './syslog.ts';
import { createWebhookSink } from './webhook.ts';

const certificate = makeCertificate('localhost');
const ca = certificate.cert;

const record = (id: string, more: Partial<SinkRecord> = {}): SinkRecord => ({
  id,
  time: '2026-11-23T08:00:00.000Z',
  name: 'login_failed',
  isFailure: true,
  facts: { id },
  content: { id, note: 'Zoë\n😀' },
  ...more,
});

const headOf = (seals: number): SinkHead => ({
  origin: 'id.example.com/audit/1',
  seals,
  root: 'RkFLRQ==',
  checkpoint: `id.example.com/audit/1\n${seals}\nRkFLRQ==\n\n— id.example.com/audit/1 RkFLRQ==\n`,
});

test('addresses: stdout, syslog over TLS, https, and http to this machine only', () => {
  assert.deepEqual(parseSinkAddress('stdout'), { kind: 'stdout' });
  assert.deepEqual(parseSinkAddress('syslog+tls://logs.example.com'), {
    kind: 'syslog',
    host: 'logs.example.com',
    port: 6514,
  });
  assert.deepEqual(parseSinkAddress('syslog+tls://[::1]:514'), { kind: 'syslog', host: '::1', port: 514 });
  for (const url of ['https://siem.example.com/in?tenant=7', 'http://127.0.0.1:9000/', 'http://[::1]/'])
    assert.deepEqual(parseSinkAddress(url), { kind: 'webhook', url });
  for (const text of [
    'stderr',
    'syslog://logs.example.com',
    'syslog+tls://',
    'syslog+tls://u:Hidden@logs',
    'syslog+tls://:Hidden@logs',
    'http://siem.example.com/',
    'http://127.0.0.1.example.com/',
    'https://user:Hidden@siem.example.com/',
    'ftp://siem.example.com',
  ])
    assert.throws(
      () => parseSinkAddress(text),
      (error: Error) => /neither stdout nor/.test(error.message) && !error.message.includes('Hidden'),
      text,
    );
  for (const text of ['Hidden', `whsec_${Buffer.alloc(31).toString('base64')}`, 'whsec_not base64'])
    assert.throws(() => parseSinkSecret(text), /must be whsec_ and 32 bytes/);
  assert.equal(parseSinkSecret(`whsec_${Buffer.alloc(32).toString('base64')}`).length, 32);
});

test('a syslog message is one line of ASCII, whatever its values contain', () => {
  const message = syslogMessage(
    record('1', { facts: { id: '1', resource_id: 'a"b\\c]d\ne\u0000' } }),
    'host ü\nname',
  );
  const json = '{"id":"1","note":"Zo\\u00eb\\n\\ud83d\\ude00"}';
  assert.equal(
    message,
    `<108>1 2026-11-23T08:00:00.000Z hostname castellan ${process.pid} login_failed ` +
      `[castellan@32473 id="1" resource_id="a\\"b\\\\c\\]d e "] ${json}`,
  );
  assert.deepEqual(JSON.parse(json), { id: '1', note: 'Zoë\n😀' });
  assert.match(
    syslogMessage(record('1', { isFailure: false, name: '' }), ''),
    /^<109>1 \S+ - castellan \d+ - /,
  );
});

test('stdout: lines count once they are written; a blocked output keeps them waiting', async () => {
  const lines: string[] = [];
  let buffered = 0;
  const output = { write: (line: string) => void lines.push(line), unwritten: () => buffered };
  const sink = createStdoutSink(output, 'audit');
  await sink.send([record('1')]);
  const { content } = record('1');
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [{ level: 'info', time: record('1').time, kind: 'audit', entry: content }],
  );
  await sink.sendHead(headOf(7));
  const { time, ...line } = JSON.parse(lines.pop() ?? '');
  assert.deepEqual(line, { level: 'info', kind: 'audit.head', head: headOf(7) });
  assert.ok(Date.parse(time) > 0);
  buffered = Number.POSITIVE_INFINITY;
  const refusal = sink.send([record('2')]);
  await assert.rejects(refusal, /standard output is blocked or closed/);
  assert.equal(lines.length, 1);
});

async function startTls(t: TestContext, serve: (socket: TLSSocket) => void): Promise<number> {
  const server = createTls(certificate, serve).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return portOf(server);
}

test('syslog: octet-counted messages over a verified connection, which count once the server has read them', async (t) => {
  let received = '';
  const port = await startTls(t, (socket) => {
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
    });
  });
  const records = [record('1'), record('2', { facts: { id: '2', name: 'Zoë' } })];
  await createSyslogSink({ host: 'localhost', port }, { ca }).send(records);
  const messages: string[] = [];
  for (let rest = Buffer.from(received); rest.length > 0; ) {
    const [, digits = ''] = /^(\d+) /.exec(rest.toString('latin1')) ?? [];
    const begin = digits.length + 1;
    messages.push(rest.subarray(begin, begin + Number(digits)).toString());
    rest = rest.subarray(begin + Number(digits));
  }
  assert.deepEqual(
    messages.map((message) => /id="(\d)"/.exec(message)?.[1]),
    ['1', '2'],
  );
  received = '';
  await createSyslogSink({ host: 'localhost', port }, { ca }).sendHead(headOf(7));
  assert.match(
    received,
    / castellan \d+ audit\.head \[castellan@32473 origin="id\.example\.com\/audit\/1" seals="7" root="RkFLRQ=="\] \{/,
  );
  assert.deepEqual(JSON.parse(received.slice(received.indexOf('{'))), headOf(7));
  await assert.rejects(createSyslogSink({ host: 'localhost', port }).send(records), {
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
  await assert.rejects(createSyslogSink({ host: '127.0.0.1', port }, { ca }).send(records), {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
  });
  const cutting = await startTls(t, (socket) => void socket.once('data', () => socket.destroy()));
  // More than the buffers of a connection hold.
  const large = [record('3', { content: { text: 'x'.repeat(16_000_000) } })];
  await assert.rejects(createSyslogSink({ host: 'localhost', port: cutting }, { ca }).send(large));
});

test('webhook: signed by each secret, a repeated batch with the same id, and no redirect is followed', async (t) => {
  const asked: { path: string; headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
  const answers: { status: number; headers?: Record<string, string> }[] = [];
  const server = createHttps(certificate, (request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => {
      body += chunk;
    });
    request.once('end', () => {
      asked.push({ path: request.url ?? '', headers: request.headers, body });
      const { status, headers = {} } = answers.shift() ?? { status: 204 };
      response.writeHead(status, headers).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const url = `https://localhost:${portOf(server)}/in`;
  const secrets = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const sink = createWebhookSink({ url, type: 'audit.entries', secrets, ca });
  const records = [record('1'), record('2')];

  await sink.send(records);
  await sink.send(records);
  await sink.send([record('3')]);
  const [first, repeated, other] = asked;
  assert.ok(first && repeated && other);
  const { type, data } = JSON.parse(first.body) as { type: string; data: { entries: object[] } };
  assert.equal(type, 'audit.entries');
  assert.deepEqual(
    data.entries,
    records.map(({ content }) => content),
  );
  const signed = `${first.headers['webhook-id']}.${first.headers['webhook-timestamp']}.${first.body}`;
  assert.equal(
    first.headers['webhook-signature'],
    secrets.map((secret) => `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`).join(' '),
  );
  assert.equal(repeated.headers['webhook-id'], first.headers['webhook-id']);
  assert.notEqual(other.headers['webhook-id'], first.headers['webhook-id']);

  await sink.sendHead(headOf(7));
  const { type: headType, data: head } = JSON.parse(asked.at(-1)?.body ?? '');
  assert.deepEqual([headType, head], ['audit.head', headOf(7)]);
  assert.equal(String(asked.at(-1)?.headers['webhook-signature']).split(' ').length, 2);

  const failureOf = async (status: number, headers: Record<string, string> = {}): Promise<SinkError> => {
    answers.push({ status, headers });
    const error = await sink.send(records).then(
      () => assert.fail(String(status)),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof SinkError, String(error));
    return error;
  };
  assert.equal((await failureOf(503, { 'retry-after': '7' })).retryAfterMs, 7_000);
  assert.equal((await failureOf(503, { 'retry-after': '999999' })).retryAfterMs, 3_600_000);
  assert.equal((await failureOf(503, { 'retry-after': 'Mon, 01 Jan 2001 00:00:00 GMT' })).retryAfterMs, 0);
  assert.equal((await failureOf(500, { 'retry-after': 'soon' })).retryAfterMs, undefined);
  assert.equal((await failureOf(413)).isTooLarge, true);
  assert.match((await failureOf(302, { location: `${url}/elsewhere` })).message, /answered 302/);
  assert.deepEqual([...new Set(asked.map(({ path }) => path))], ['/in']);
  await assert.rejects(createWebhookSink({ url, type: 'x', secrets }).send(records), {
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  });
});

test('webhook: an answer that changes the protocol is a failure, and is not waited for', async (t) => {
  const server = createTcp((socket) =>
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'),
    ),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const url = `http://127.0.0.1:${portOf(server)}/`;
  await assert.rejects(createWebhookSink({ url, type: 'x', secrets: [] }).send([record('1')]), {
    name: 'SinkError',
  });
});

test('certificates are verified whatever NODE_TLS_REJECT_UNAUTHORIZED says', async (t) => {
  const port = await startTls(t, (socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  t.after(() => delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
  for (const sink of [
    createSyslogSink({ host: 'localhost', port }),
    createWebhookSink({ url: `https://localhost:${port}/`, type: 'x', secrets: [] }),
  ])
    await assert.rejects(sink.send([record('1')]), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
});

test('heads: one that the sink refuses is sent again, unless there is a newer one', async (t) => {
  const asked: number[] = [];
  const refusals: SinkError[] = [new SinkError('no', { retryAfterMs: 1 })];
  let refused = (): void => {};
  let accepted = (): void => {};
  const firstRefusal = new Promise<void>((resolve) => {
    refused = resolve;
  });
  const acceptance = new Promise<void>((resolve) => {
    accepted = resolve;
  });
  const sink: Sink = {
    send: () => Promise.reject(new Error('no entries')),
    async sendHead({ seals }) {
      asked.push(seals);
      const refusal = refusals.shift();
      if (!refusal) return accepted();
      refused();
      throw refusal;
    },
  };
  const sender = createHeadSender({ sink, log: createLog('fatal') });
  sender.offer(headOf(1));
  sender.start();
  t.after(() => sender.stop());
  await firstRefusal;
  sender.offer(headOf(2));
  await acceptance;
  assert.deepEqual(asked, [1, 2]);
});
