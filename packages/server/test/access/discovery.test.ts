// The discovery document of the AuthZEN API.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { isUnsafe, routesOf } from '@castellan/testing/http/fixture';

const publicUrl = 'https://id.example.com';
const service = await startTestService({ after }, { PUBLIC_URL: `${publicUrl}/` });

test('the discovery document names every endpoint at its public URL, without a sign-in', async () => {
  const client = service.client();
  const { status, body, headers } = await client.get('/.well-known/authzen-configuration/api/v1');
  assert.equal(status, 200);
  assert.match(headers.get('content-type') ?? '', /^application\/json/);
  assert.equal(headers.get('cache-control'), 'public, max-age=300');
  const point = `${publicUrl}/api/v1`;
  assert.deepEqual(body, {
    policy_decision_point: point,
    access_evaluation_endpoint: `${point}/access/v1/evaluation`,
    access_evaluations_endpoint: `${point}/access/v1/evaluations`,
    search_subject_endpoint: `${point}/access/v1/search/subject`,
    search_action_endpoint: `${point}/access/v1/search/action`,
  });
  const copy = await client.get('/.well-known/authzen-configuration');
  assert.deepEqual(copy.body, body);
  const routes = (await routesOf(service)).filter(isUnsafe).map(({ url }) => `${publicUrl}${url}`);
  for (const [name, endpoint] of Object.entries(body))
    if (name !== 'policy_decision_point') assert.ok(routes.includes(endpoint as string), `${endpoint}`);
  assert.ok(!routes.some((url) => url.endsWith('/search/resource')));
});

test('behind a proxy that serves the API below a path, the path derived from its own point leads to it', async (t) => {
  const below = await startTestService(t, { PUBLIC_URL: 'https://example.com/id' });
  const point = 'https://example.com/id/api/v1';
  const { status, body } = await below.client().get('/.well-known/authzen-configuration/id/api/v1');
  assert.equal(status, 200);
  assert.equal(body.policy_decision_point, point);
});
