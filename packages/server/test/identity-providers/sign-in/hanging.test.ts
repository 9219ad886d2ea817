// A provider that hangs: the sign-ins that wait for it hold no connection of the database, and nobody else waits for them.
// It must not measure how long anything takes.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, startTestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addPerson } from '@castellan/testing/users/people';
import { addProvider, begin, comeBack, pageOf, somebody } from './fixture.ts';

const SIGN_INS = 100;
/** Exchanges that run and wait for one provider. Those beyond it are refused. */
const AT_ONCE = 80;

const service = await startTestService({ after });
const { pool } = service.service.deps;

/** Resolves at a moment in which the service has no connection of its pool in use, and `isHanging` says that all of them wait. */
const eventuallyFree = (isHanging: () => boolean): Promise<true> =>
  eventually(async () => {
    const open = await service.sql(
      `select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
    );
    const isFree = pool.idleCount === pool.totalCount && pool.waitingCount === 0 && open.length === 0;
    return isFree && isHanging() ? true : undefined;
  }, 'a moment in which sign-ins wait and hold no connection');

/** Returns the promises, and how many of them have not ended. */
function counting<T>(promises: Promise<T>[]): { all: Promise<T[]>; left: () => number } {
  let left = promises.length;
  for (const one of promises) void one.then(() => (left -= 1));
  return { all: Promise.all(promises), left: () => left };
}

test('sign-ins that wait for the tokens of a provider hold nothing, and others are answered while they do', async () => {
  const issuer = await startIssuer({ after });
  const provider = await addProvider(service, issuer);
  const person = await addPerson(service);
  const reader = service.client();
  await reader.login(person);
  const client = service.client();
  const begun = [];
  for (let number = 0; number < SIGN_INS; number += 1) {
    const came = issuer.approve(await begin(client, provider));
    const browser = service.client();
    browser.cookies.set('castellan_provider', client.cookies.get('castellan_provider') ?? '');
    begun.push({ browser, came });
  }
  issuer.person = somebody();
  issuer.misbehaviour = { trouble: { token: 'hang' } };
  const { all, left } = counting(begun.map(({ browser, came }) => comeBack(browser, provider, came)));
  await eventuallyFree(() => left() === AT_ONCE && issuer.asked.some(({ endpoint }) => endpoint === 'token'));
  const [me, login] = await Promise.all([reader.get('/api/v1/users/me'), service.client().login(person)]);
  assert.deepEqual([me.status, login.status], [200, 200]);
  assert.ok(left() > 0, 'they were answered while sign-ins waited');
  issuer.misbehaviour = { trouble: { token: 'error' } };
  for (const answer of await all) assert.equal(pageOf(answer).kind, 'unavailable');
});

test('sign-ins that cannot begin, because the provider says nothing of itself, hold nothing', async () => {
  const issuer = await startIssuer({ after });
  const provider = await addProvider(service, issuer);
  issuer.misbehaviour = { trouble: { discovery: 'hang' } };
  const client = service.client();
  await client.get('/api/v1/auth/csrf-token');
  const { all, left } = counting(
    Array.from({ length: SIGN_INS }, () => client.post(`/api/v1/auth/providers/${provider.slug}/start`, {})),
  );
  await eventuallyFree(() => left() === SIGN_INS && issuer.asked.length > 0);
  for (const { status, body } of await all)
    assert.deepEqual([status, body.code], [503, 'provider_unavailable']);
  // All of them waited for one answer.
  assert.equal(issuer.asked.filter(({ endpoint }) => endpoint === 'discovery').length, 1);
});
