// Events that tests of receivers sign: they are taken as those of Castellan are, and refused for the same reasons.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestCastellan, signWebhook, TEST_WEBHOOK_SECRET } from '../../src/testing.ts';
import { verifyWebhook, WebhookError } from '../../src/webhooks.ts';

const refuses = (code: string, run: () => Promise<unknown>) =>
  assert.rejects(run, (error) => error instanceof WebhookError && error.code === code);
const other = `whsec_${btoa('another secret of 24 byt')}`;

test('a signed event is taken, with what the test said of it', async () => {
  const ada = createTestCastellan().addUser({ email: 'ada@example.com' });
  const resource = { type: 'user', id: ada.id, name: 'Ädá 検査' };
  const { event, headers, body } = await signWebhook({ type: 'user_updated', data: { resource } });
  assert.deepEqual(await verifyWebhook(body, headers, TEST_WEBHOOK_SECRET), event);
  assert.deepEqual(await verifyWebhook(body, new Headers(headers), [other, TEST_WEBHOOK_SECRET]), event);
  // Frameworks have classes of their own, and a client may send any header.
  const ofFramework = { get: (name: string) => new Headers(headers).get(name) } as Headers;
  assert.deepEqual(await verifyWebhook(body, ofFramework, TEST_WEBHOOK_SECRET), event);
  assert.deepEqual(await verifyWebhook(body, { ...headers, get: 'x' }, TEST_WEBHOOK_SECRET), event);
  assert.deepEqual(event.data.resource, resource);
  const next = await signWebhook({ type: 'role_created' });
  assert.equal(next.event.data.resource.type, 'role');
  assert.ok(next.event.data.sequence > event.data.sequence);
  assert.notEqual(next.headers['webhook-id'], headers['webhook-id']);
});

test('each secret signs, an event comes again with its id, and an old or altered one is refused', async () => {
  const both = await signWebhook({ type: 'user_deleted' }, { secrets: [other, TEST_WEBHOOK_SECRET] });
  for (const secret of [other, TEST_WEBHOOK_SECRET])
    assert.deepEqual(await verifyWebhook(both.body, both.headers, secret), both.event);
  const id = both.headers['webhook-id'];
  const again = await signWebhook(both.event, { id });
  assert.deepEqual([again.headers['webhook-id'], again.event], [id, both.event]);
  await refuses('signature_mismatch', () => verifyWebhook(again.body, again.headers, other));
  await refuses('signature_mismatch', () =>
    verifyWebhook(`${again.body} `, again.headers, TEST_WEBHOOK_SECRET),
  );
  const old = await signWebhook({ type: 'user_deleted' }, { at: Date.now() - 301_000 });
  await refuses('timestamp_off', () => verifyWebhook(old.body, old.headers, TEST_WEBHOOK_SECRET));
  await assert.rejects(() => signWebhook({ type: 'user_deleted' }, { secrets: 'secret' }), TypeError);
});
