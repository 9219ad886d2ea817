// New heads of the sealed audit log are told to webhooks that want them and to the sink, and kept in the file of the instance.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { eventually, startTestService } from '@castellan/testing/harness';
import { portOf } from '@castellan/testing/ports';
import { addWebhook, signInAdmin } from '@castellan/testing/webhooks/fixture';
import { checkpointsIn } from '../../../src/platform/evidence/note-file.ts';
import { readCheckpoint, readNote } from '../../../src/platform/evidence/signed-note.ts';

/** A sink that refuses the first head. */
const atSink: { type: string; data: Record<string, unknown> }[] = [];
const sink = createServer((request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
  });
  request.once('end', () => {
    const message = JSON.parse(text);
    if (message.type === 'audit.head') atSink.push(message);
    response.writeHead(atSink.length === 1 ? 503 : 204).end();
  });
}).listen(0, '127.0.0.1');
await once(sink, 'listening');
after(() => sink.close());

const service = await startTestService(
  { after },
  {
    AUDIT_SEALING: 'off',
    AUDIT_SINK: `http://127.0.0.1:${portOf(sink)}/in`,
    AUDIT_SINK_SECRET: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  },
);
const { sealer, settings } = service.service.deps;

test('a new head is queued for the webhook that wants it, once, is in the file, and is sent to the sink until it is accepted', async () => {
  const admin = await signInAdmin(service);
  const wanting = await addWebhook(admin, 'http://127.0.0.1:9/heads', { events: ['audit_log_sealed'] });
  await addWebhook(admin, 'http://127.0.0.1:9/roles', { name: 'Others' });
  await sealer.run();
  await sealer.run();
  const queued = await service.sql<{ target_id: string; content: { details: Record<string, unknown> } }>(
    `select target_id, content from deliveries where type = 'audit_log_sealed'`,
  );
  assert.deepEqual(
    queued.map(({ target_id }) => target_id),
    [wanting.id],
  );
  const { checkpoint, origin, seals, root } = queued[0]?.content.details ?? {};
  const head = readCheckpoint(readNote(String(checkpoint)).text);
  assert.deepEqual([origin, seals, root], [head.origin, head.size, head.root.toString('base64')]);
  const file = await readFile(settings.auditHeadsFile ?? join(settings.dataDir, 'audit-heads.txt'), 'utf8');
  assert.ok(file.includes(String(checkpoint)));
  await eventually(() => (atSink.length > 1 ? true : undefined), 'the head that was refused');
  const expected = { type: 'audit.head', data: { origin, seals, root, checkpoint } };
  assert.deepEqual(
    atSink.map(({ type, data }) => ({ type, data })),
    [expected, expected],
  );
});

test('what was sealed and published while the clock was ahead holds up neither', async () => {
  const file = () =>
    readFile(settings.auditHeadsFile ?? join(settings.dataDir, 'audit-heads.txt'), 'utf8').then((text) => [
      ...checkpointsIn(text),
    ]);
  const before = await file();
  await service.sql(
    `update audit_log_head set sealed_at = sealed_at + interval '1 day', published_at = published_at + interval '1 day'`,
  );
  // Nothing waits: this is the seal of an hour without entries.
  await sealer.run();
  await sealer.run();
  const sizes = (await file()).slice(before.length).map(({ size }) => size);
  assert.deepEqual(sizes, [(before.at(-1)?.size ?? 0) + 1]);
});
