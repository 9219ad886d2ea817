// The answers of every route while the database is unreachable, and of requests that run when it becomes so.
// It must take the routes from the service, so that a new one is included.
import assert from 'node:assert/strict';
import { suite } from 'node:test';
import { until } from '@castellan/embedded-postgres/testing';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, signIn } from '@castellan/testing/harness';
import { assertRefused, routesOf } from '@castellan/testing/http/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { assertUnavailable, hold, openBehindRelay, untilReady } from './fixture.ts';

const scenario = scenariosOf('faults');

const limits = {
  RATE_LIMIT_LOGIN: '1000/minute',
  RATE_LIMIT_SECOND_FACTOR: '1000/minute',
  RATE_LIMIT_PASSKEY_OPTIONS: '1000/minute',
  RATE_LIMIT_REGISTER: '1000/minute',
  RATE_LIMIT_PASSWORD_RESET: '1000/minute',
  RATE_LIMIT_NEW_ACCESS_TOKEN: '1000/minute',
  RATE_LIMIT_RESEND_VERIFICATION: '1000/minute',
  RATE_LIMIT_LINK_CHECK: '1000/minute',
  RATE_LIMIT_REVOKE: '1000/minute',
  RATE_LIMIT_PROVIDER_START: '1000/minute',
};

const needsNoDatabase = [
  '/api/v1/auth/csrf-token',
  '/api/v1/auth/password-policy',
  '/api/v1/auth/sign-in-methods',
  '/api/v1/oauth/jwks.json',
  '/api/v1/webhooks/events',
  // Of a browser without a session: there is nothing to end.
  '/api/v1/oauth/logout',
];

// Routes that only lead a browser on to a page of words, without asking who it is → the page.
const pages: Readonly<Record<string, string>> = { '/api/v1/auth/providers/:slug/signed-out': '/sign-out' };

/** Checks that an answer leads to this page, and gives the browser nothing. */
function assertLeadsOnly(answer: Answer, page: string): void {
  assert.equal(answer.status, 303);
  assert.equal(answer.headers.get('location'), page);
  assert.equal(answer.text, '');
  assert.deepEqual(answer.headers.getSetCookie(), []);
}

suite('lost', { concurrency: 2 }, () => {
  scenario('without its database no route of either instance answers with success', async (tally, t) => {
    const target = await openBehindRelay(t, limits);
    const { relay, service, twin } = target;
    const client = await signIn(service, ADMIN);
    const routes = (await routesOf(service)).filter(({ url }) => url.startsWith('/api/'));
    // An earlier answer must not be repeated from memory.
    for (const { url } of [service, twin])
      for (const { method, path } of routes) if (method === 'GET') await client.at(url).request(method, path);
    await relay.cut();
    tally.injected();
    for (const instance of [service, twin]) {
      const at = client.at(instance.url);
      const ready = await at.get('/health/ready');
      assert.equal(ready.status, 503);
      assert.equal(ready.body.status, 'not_ready');
      assert.match(ready.body.reason, /database/);
      assert.ok(Number(ready.headers.get('retry-after')) >= 1);
      assert.equal((await at.get('/health/live')).status, 200);
      for (const { method, path, url, config } of routes) {
        // They need no database: CSRF tokens are signed, keys are in memory, and the others are settings.
        if (needsNoDatabase.includes(url)) continue;
        const answer = await at.request(method, path, method === 'GET' ? {} : { json: {} });
        tally.tried();
        tally.held();
        const page = method === 'GET' ? pages[url] : undefined;
        if (page !== undefined) {
          assertLeadsOnly(answer, page);
          continue;
        }
        assert.ok(answer.status >= 400, `${method} ${url}: ${answer.status}`);
        if (config.access === 'public' && !config.limit) continue;
        // The token services refuse a body of JSON before anything else.
        if (config.errorShape) continue;
        assertUnavailable(answer);
      }
      assertUnavailable(await at.login(ADMIN));
    }
    await relay.restore();
    await untilReady(target);
    assert.equal((await client.get('/api/v1/users/me')).status, 200, 'the token outlived the outage');
    assert.equal((await client.login(ADMIN)).status, 200);
    tally.held(2);
  });

  scenario(
    'running requests are answered 503 when the database connection breaks, and their changes are not half done',
    async (tally, t) => {
      const target = await openBehindRelay(t);
      const { direct, relay, service } = target;
      const admin = await signIn(service, ADMIN);
      const person = ADMIN;
      const client = await signIn(service, person);
      const [before] = await direct.sql('select first_name from users where email = $1', [person.email]);
      for (let round = 0; round < rounds(2, 12); round += 1) {
        const held = await hold(t, direct.databaseUrl, 'lock table users in access exclusive mode');
        const answers = Promise.all([
          client.put('/api/v1/users/me', { first_name: 'Lost' }),
          client.get('/api/v1/users/me'),
          admin.get('/api/v1/users/list'),
          client.login(person),
        ]);
        await held.waiting(1);
        await relay.cut();
        tally.injected();
        for (const answer of await answers) assertUnavailable(answer);
        await held.release();
        await relay.restore();
        await untilReady(target);
        const [after] = await direct.sql('select first_name from users where email = $1', [person.email]);
        assert.deepEqual(after, before);
        assert.equal((await client.get('/api/v1/users/me')).status, 200);
        tally.tried(4);
        tally.held(6);
      }
    },
  );

  scenario(
    'a refused CSRF token stays a 403 without the database, and its audit entry is written when the database is back',
    async (tally, t) => {
      const { direct, relay, service } = await openBehindRelay(t);
      await relay.cut();
      tally.injected();
      const answer = await service
        .client()
        .request('POST', '/api/v1/auth/login', { headers: { 'x-csrf-token': null } });
      assertRefused(answer, 403, 'csrf_invalid');
      assert.ok(
        service.logLines.some((one) => one.includes('audit entry delayed') && one.includes('csrf_refused')),
      );
      await relay.restore();
      await until('the entry is written', async () => {
        const entries = await direct.sql("select from audit_logs where action = 'csrf_refused'");
        return entries.length === 1;
      });
      tally.tried();
      tally.held(3);
    },
  );
});
