// GET /api/v1/webhooks/events: the types of events with their schemas, for everybody, and unchanged until the next release.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTypes } from '@castellan/contract/events';
import { startTestService } from '@castellan/testing/harness';

test('everybody reads every type, with a schema that its sample has, and again only after a change', async (t) => {
  const service = await startTestService(t);
  const client = service.client();
  const answer = await client.get('/api/v1/webhooks/events');
  assert.equal(answer.status, 200);
  const { data } = answer.body;
  assert.deepEqual(
    data.map(({ type }: { type: string }) => type),
    eventTypes,
  );
  const failed = data.find(({ type }: { type: string }) => type === 'login_failed');
  assert.deepEqual(
    [failed.version, failed.result, failed.resource_types],
    [1, 'failure', ['security_event']],
  );
  assert.equal(failed.schema.properties.data.properties.details.properties.email['x-personal'], 'subject');
  assert.equal(failed.sample.data.details.email, 'ada@example.com');
  assert.equal(answer.headers.get('cache-control'), 'public, max-age=3600');
  const etag = answer.headers.get('etag') ?? '';
  const again = await client.request('GET', '/api/v1/webhooks/events', {
    headers: { 'if-none-match': etag },
  });
  assert.deepEqual([again.status, again.text], [304, '']);
});
