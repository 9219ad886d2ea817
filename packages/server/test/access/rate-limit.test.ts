// RATE_LIMIT_ACCESS: how often one caller may ask for decisions.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { signedInWith } from '@castellan/testing/users/people';
import { type Ask, asking, question } from './authzen.ts';

const service = await startTestService({ after }, { RATE_LIMIT_ACCESS: '4/hour' });

const evaluation = question('role', 'Admin', 'users.read');
const subject = { type: 'role', id: 'Admin' };
const { action, resource } = evaluation;
/** Every operation that counts, with a request for it. */
const requests: [string, object][] = [
  ['evaluation', evaluation],
  ['evaluations', { ...evaluation, evaluations: Array(50).fill({}) }],
  ['search/subject', { subject: { type: 'role' }, action, resource }],
  ['search/action', { subject, resource }],
];

async function useUp(ask: Ask): Promise<void> {
  for (const [path, body] of requests) {
    const answer = await ask(path, body);
    assert.equal(answer.status, 200, answer.text);
  }
}

const refusals = (id: string) =>
  service.sql<{ actor_type: string; details: { limit: string } }>(
    "select actor_type, details from audit_logs where action = 'rate_limited' and actor_id = $1",
    [id],
  );

test('decisions and searches count for one bucket of their caller, whatever the body', async () => {
  const account = await addServiceAccount(service, { permissions: ['access.check'] });
  await useUp(asking(service, account.key));
  // Another key of the account has the same bucket. A wrong body is refused for the limit first.
  const second = asking(service, (await addApiKey(service, account.id)).key);
  for (const [path, body] of [...requests, ['evaluation', {}] as const]) {
    const answer = await second(path, body);
    assertRefused(answer, 429, 'rate_limited');
    assert.equal(answer.headers.get('ratelimit-limit'), '4');
    assert.equal(answer.headers.get('ratelimit-remaining'), '0');
    const reset = Number(answer.headers.get('ratelimit-reset'));
    assert.ok(reset > 3_500 && reset <= 3_600);
    assert.equal(answer.headers.get('retry-after'), String(reset));
  }
  const events = await refusals(account.id);
  assert.deepEqual(
    events.map(({ actor_type, details }) => [actor_type, details.limit]),
    [['service_account', 'access']],
  );
});

test('other callers, and other operations of the same caller, are not limited', async () => {
  const { client, person } = await signedInWith(service, 'access.check');
  const ask = asking(service, client.accessToken);
  await useUp(ask);
  assertRefused(await ask('evaluation', evaluation), 429, 'rate_limited');
  assert.equal((await refusals(person.id)).length, 1);
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
  const other = await signedInWith(service, 'access.check');
  await useUp(asking(service, other.client.accessToken));
});

test('there is no limit by default', async (t) => {
  const free = await startTestService(t);
  assert.equal(free.service.deps.settings.rateLimitAccess, null);
  assert.equal(free.service.deps.accessLimit, null);
});
