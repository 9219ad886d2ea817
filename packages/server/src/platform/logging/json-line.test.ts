// Every way in which JSON lines leave the process escapes what ends a line or controls a terminal.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { createStdoutSink } from '../../modules/audit/sinks/stdout.ts';
import { createWebhookSink } from '../../modules/audit/sinks/webhook.ts';
import { jsonLine } from './json-line.ts';
import { createLog } from './log.ts';

const unsafe = [...Array(0x21).keys()].map((offset) => String.fromCharCode(0x7f + offset)).join('');
const name = `Ada${unsafe}\u2028\u2029Zoë`;
const record = {
  id: '1',
  time: '2026-11-01T00:00:00.000Z',
  name: 'user_created',
  isFailure: false,
  facts: {},
  content: { name },
};

function assertSafe(line: string): void {
  assert.doesNotMatch(line, /[\u007f-\u009f\u2028\u2029]/);
  assert.ok(line.includes('\\u007f') && line.includes('\\u009b') && line.includes('\\u2029Zoë'), line);
}

test('a line says the same as its value', () => {
  assertSafe(jsonLine({ name }));
  assert.deepEqual(JSON.parse(jsonLine({ name })), { name });
});

test('lines of the log are safe, wherever the text is', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  log.info({ name }, 'with a field');
  log.info(name);
  log.child({ name }).info('of a child');
  log.error({ err: new Error(name) }, 'with an error');
  assert.equal(lines.length, 4);
  for (const line of lines) {
    assertSafe(line);
    assert.equal(line.indexOf('\n'), line.length - 1);
  }
  assert.equal(JSON.parse(lines[0] ?? '').name, name);
});

test('lines of the sink on standard output are safe', async () => {
  const lines: string[] = [];
  const sink = createStdoutSink({ write: (line) => lines.push(line) }, 'audit');
  await sink.send([record]);
  const [line = ''] = lines;
  assertSafe(line);
  assert.equal(JSON.parse(line).entry.name, name);
});

test('what a webhook gets is safe', async (t) => {
  const bodies: string[] = [];
  const receiver = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('end', () => {
        bodies.push(Buffer.concat(chunks).toString());
        response.writeHead(204).end();
      });
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  t.after(() => receiver.close());
  const address = receiver.address();
  assert.ok(typeof address === 'object' && address !== null);
  const url = `http://127.0.0.1:${address.port}/`;
  await createWebhookSink({ url, type: 'audit.entries', secrets: [Buffer.alloc(32)] }).send([record]);
  assertSafe(bodies[0] ?? '');
  assert.equal(JSON.parse(bodies[0] ?? '').data.entries[0].name, name);
});
