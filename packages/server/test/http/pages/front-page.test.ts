// The front page: HTML for browsers, JSON for programs, by the header Accept.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';

const html = /^text\/html/;
const json = /^application\/json/;

test('the front page has the form that Accept prefers, and caches keep the forms apart', async (t) => {
  const service = await startTestService(t);
  for (const [accept, type] of [
    [null, json],
    ['*/*', json],
    ['application/json', json],
    ['application/json, text/html;q=0.1', json],
    ['text/html;q=0', json],
    ['text/html;q=0, */*;q=0', json],
    ['image/png', json],
    ['text/html', html],
    ['text/html, */*', html],
    ['text/html;q=0.5, application/json;q=0.2', html],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', html],
  ] as const) {
    const answer = await service.client().get('/', { headers: { accept } });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get('content-type') ?? '', type, `Accept: ${accept}`);
    assert.equal(answer.headers.get('vary'), 'accept');
    const headers = { accept, 'if-none-match': answer.headers.get('etag') };
    const again = await service.client().get('/', { headers });
    assert.deepEqual([again.status, again.headers.get('vary')], [304, 'accept']);
  }
});

test('the JSON of the front page names the service, and Vary keeps the origin', async (t) => {
  const settings = { SERVICE_NAME: 'Tom & Co <3', CORS_ORIGINS: 'https://app.example.com' };
  const service = await startTestService(t, settings);
  const { body, headers } = await service.client().get('/');
  assert.equal(body.data.service, 'Tom & Co <3');
  assert.match(body.message, /^Tom & Co <3: /);
  assert.equal(headers.get('vary'), 'origin, accept');
});
