// Changes of webhooks at two instances at once, and while their events are being sent.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { after } from 'node:test';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { volley } from '@castellan/testing/volley';
import { addWebhook, insertEntries } from '@castellan/testing/webhooks/fixture';
import { type Received, startReceiver } from '@castellan/testing/webhooks/receiver';
import { holdOf, openPair } from '../fixture.ts';

const scenario = scenariosOf('races');
const { service, admin, at } = await openPair({ after });
const webhooks = '/api/v1/webhooks';
const PARALLEL = 8;
const record = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Sends requests in one tick, in turns to both instances. */
const atOnce = (
  method: string,
  requests: { path: string; json?: unknown; headers?: Record<string, string> }[],
) =>
  volley(
    requests.map((one, index) => ({
      client: at(admin, index),
      method,
      hold: one.json === undefined ? 'head' : holdOf(index),
      ...one,
    })),
  );

scenario('of 60 webhooks that are created at once, 50 are', async ({ tried, held }) => {
  const answers = await atOnce(
    'POST',
    times(60, (index) => ({
      path: webhooks,
      json: { name: `Many ${index}`, url: 'https://billing.example.com/', events: ['role_*'] },
    })),
  );
  tried(answers.length);
  const made = answers.filter(({ status }) => status === 201);
  assert.equal(made.length, 50);
  assert.ok(
    answers.every(
      ({ status, body }) => status === 201 || (status === 409 && body.code === 'too_many_webhooks'),
    ),
  );
  const [row] = await service.sql<{ all: number; targets: number; secrets: number }>(
    `select (select count(*) from webhooks)::integer as all, (select count(*) from delivery_targets)::integer as targets,
       (select count(*) from webhook_secrets)::integer as secrets`,
  );
  assert.deepEqual(row, { all: 50, targets: 50, secrets: 50 });
  held(3);
  const deleted = await atOnce(
    'DELETE',
    made.map(({ body }) => ({ path: `${webhooks}/${body.data.id}` })),
  );
  tried(deleted.length);
  assert.ok(deleted.every(({ status }) => status === 200));
  held();
});

scenario('of changes of a webhook that were made for one version, one counts', async ({ tried, held }) => {
  const { path } = await addWebhook(admin, 'https://billing.example.com/');
  for (let round = 0; round < rounds(3, 40); round += 1) {
    const etag = (await admin.get(path)).headers.get('etag') ?? '';
    const fields = [
      { name: 'A' },
      { personal: round % 2 === 0 },
      { results: round % 2 ? 'all' : 'failure' },
      { events: ['*'] },
    ];
    const answers = await atOnce(
      'PUT',
      times(8, (index) => ({
        path,
        json: { ...fields[index % fields.length], name: `Round ${round}, ${index}` },
        headers: { 'if-match': etag },
      })),
    );
    tried(answers.length);
    const changed = answers.filter(({ status }) => status === 200);
    assert.equal(changed.length, 1);
    assert.ok(answers.every(({ status }) => status === 200 || status === 412));
    assert.equal((await admin.get(path)).body.data.name, changed[0]?.body.data.name);
    held(3);
  }
  await admin.request('DELETE', path, {});
});

const isSignedBy = (secret: string, { headers, body }: Received): boolean =>
  String(headers['webhook-signature'])
    .split(' ')
    .includes(
      `v1,${createHmac('sha256', Buffer.from(secret.slice(6), 'base64'))
        .update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
        .digest('base64')}`,
    );

scenario(
  'while secrets are replaced at once, at most three live, and each event verifies with one that was shown',
  async ({ tried, held }, t) => {
    for (let round = 0; round < rounds(1, 10); round += 1) {
      const receiver = await startReceiver(t);
      const { id, path, secret } = await addWebhook(admin, receiver.url);
      for (let i = 0; i < 200; i += 1) await insertEntries(service, record(i));
      const answers = await atOnce(
        'POST',
        times(10, (index) => ({
          path: `${path}/secrets`,
          json: { overlap_seconds: index % 3 === 0 ? 0 : 3_600 },
        })),
      );
      tried(answers.length);
      assert.ok(answers.every(({ status, body }) => status === 201 || body.code === 'too_many_secrets'));
      const [row] = await service.sql<{ live: number }>(
        `select count(*)::integer as live from webhook_secrets where webhook_id = $1 and (ends_at is null or ends_at > now())`,
        [id],
      );
      assert.ok(row && row.live >= 1 && row.live <= 3);
      held(2);
      const shown = [secret, ...answers.flatMap(({ body }) => body.data?.secret ?? [])];
      for (const one of await receiver.until(200)) {
        assert.ok(shown.some((known) => isSignedBy(known, one)));
        held();
      }
      await insertEntries(service, record(999));
      const [last] = await receiver.until(1, ({ event }) => event.data.resource.id === record(999));
      assert.ok(last);
      assert.equal(String(last.headers['webhook-signature']).split(' ').length, row.live);
      held();
      await admin.request('DELETE', path, {});
    }
  },
);

scenario(
  'a webhook that is deleted while its events are sent gets no more than those under way',
  async ({ tried, held }, t) => {
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const receiver = await startReceiver(t);
      receiver.answer = () => (response) => void setTimeout(() => response.writeHead(204).end(), 20);
      const { id, path } = await addWebhook(admin, receiver.url);
      for (let i = 0; i < 300; i += 1) await insertEntries(service, record(i));
      await receiver.until(20);
      const [answer] = await atOnce('DELETE', [{ path }]);
      const begun = receiver.received.length;
      tried();
      assert.equal(answer?.status, 200);
      const alive = await addWebhook(admin, receiver.url, { events: ['role_updated'] });
      await insertEntries(service, record(1_000));
      await receiver.until(1, ({ event }) => event.data.resource.id === record(1_000));
      const late = receiver.received.length - begun - 1;
      assert.ok(late <= PARALLEL, String(late));
      const [row] = await service.sql<{ secrets: number; targets: number; queued: number }>(
        `select (select count(*) from webhook_secrets where webhook_id = $1)::integer as secrets,
           (select count(*) from delivery_targets where id = $1)::integer as targets,
           (select count(*) from deliveries where target_id = $1)::integer as queued`,
        [id],
      );
      assert.ok(row);
      assert.deepEqual([row.secrets, row.targets], [0, 0]);
      assert.ok(row.queued <= 300, 'a deleted webhook was queued for');
      held(3);
      await admin.request('DELETE', alive.path, {});
    }
  },
);
