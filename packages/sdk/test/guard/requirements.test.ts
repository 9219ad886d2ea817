// What a guard asks of the proof behind a token, over the stand-in.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type BrowserClient,
  createClient,
  createGuard,
  GuardError,
  type Requirement,
  type StepUpRequirement,
} from '../../src/index.ts';
import { createTestCastellan, type TestUser } from '../../src/testing.ts';

const REFUND = 'orders.refund';
const MINUTE_MS = 60_000;

function open() {
  const castellan = createTestCastellan();
  const ada = castellan.addUser({ email: 'ada@example.com', permissions: [REFUND], factors: ['totp'] });
  const answer = async (token: string, requirement?: Requirement): Promise<Response> =>
    castellan.guard.require(REFUND, requirement).fetch(() => new Response('done'))(
      new Request('http://orders.test/', { headers: { authorization: `Bearer ${token}` } }),
    );
  return { castellan, ada, answer };
}

test('a permission with a requirement is open to those who meet it', async () => {
  const { castellan, ada, answer } = open();
  castellan.requireAuthentication(REFUND, { acr: 'aal2', maxAgeSeconds: 600 });
  assert.equal((await answer(await ada.accessToken())).status, 200);
  const weak: Parameters<TestUser['accessToken']>[0][] = [
    { acr: 'aal1' },
    { authTime: Date.now() - 11 * MINUTE_MS },
  ];
  for (const proof of weak) {
    const response = await answer(await ada.accessToken(proof));
    assert.equal(response.status, 401);
    assert.equal(
      response.headers.get('www-authenticate'),
      'Bearer error="insufficient_user_authentication", error_description="A stronger or more recent sign-in is required", acr_values="aal2 phr", max_age="600"',
    );
    assert.deepEqual(await response.json(), {
      detail: 'Confirm that it is you, then repeat the request.',
      code: 'insufficient_user_authentication',
      required_permission: REFUND,
      step_up: { required_acr: 'aal2', max_age: 600 },
    });
  }
});

test('who lacks the permission is not sent to step up', async () => {
  const { castellan, ada, answer } = open();
  castellan.requireAuthentication(REFUND, { acr: 'aal2' });
  ada.revoke(REFUND);
  assert.equal((await answer(await ada.accessToken({ acr: 'aal1' }), { acr: 'phr' })).status, 403);
});

test('a requirement of the service comes on top, and one challenge names both', async () => {
  const { castellan, ada, answer } = open();
  castellan.requireAuthentication(REFUND, { acr: 'aal2', maxAgeSeconds: 3_600 });
  assert.equal((await answer(await ada.accessToken({ acr: 'phr' }), { acr: 'phr' })).status, 200);
  const strong = await answer(await ada.accessToken({ acr: 'aal2' }), { acr: 'phr' });
  assert.match(strong.headers.get('www-authenticate') ?? '', /acr_values="phr"$/);
  const both = await answer(await ada.accessToken({ acr: 'aal1' }), { acr: 'phr', maxAgeSeconds: 60 });
  assert.match(both.headers.get('www-authenticate') ?? '', /acr_values="phr", max_age="60"$/);
});

test('an age is judged with the tolerance of the clocks, and a token without a time is too old', async () => {
  const { ada, answer } = open();
  const ageMs = (ms: number) => ada.accessToken({ authTime: Date.now() - ms });
  const requirement = { maxAgeSeconds: 60 };
  assert.equal((await answer(await ageMs(MINUTE_MS), requirement)).status, 200);
  assert.equal((await answer(await ageMs(3 * MINUTE_MS), requirement)).status, 401);
  assert.equal((await answer(await ageMs(-3 * MINUTE_MS), requirement)).status, 401, 'in the future');
  assert.equal((await answer(await ada.accessToken({ acr: 'aal1' }), requirement)).status, 401);
});

test('authenticated takes a requirement, and works without one as ever', async () => {
  const { castellan, ada } = open();
  const { guard } = castellan;
  const token = await ada.accessToken({ acr: 'aal1' });
  const request = () => new Request('http://orders.test/', { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await guard.authenticated.fetch(() => new Response())(request())).status, 200);
  const strict = guard.authenticated({ acr: 'aal2' });
  assert.equal((await strict.fetch(() => new Response())(request())).status, 401);
});

test('the identity tells the proof', async () => {
  const { castellan, ada } = open();
  const authTime = Math.floor(Date.now() / 1_000) * 1_000;
  const proofOf = async (token: string) => {
    const { acr, amr, authTime } = await castellan.guard.authenticate({
      headers: { authorization: `Bearer ${token}` },
    });
    return { acr, amr, authTime };
  };
  assert.deepEqual(await proofOf(await ada.accessToken({ authTime })), {
    acr: 'aal2',
    amr: ['pwd', 'otp', 'mfa'],
    authTime,
  });
  assert.deepEqual(await proofOf(await ada.accessToken({ acr: 'aal1' })), {
    acr: 'aal1',
    amr: [],
    authTime: undefined,
  });
});

test('requirements do not bind service accounts', async () => {
  const { castellan, answer } = open();
  castellan.requireAuthentication(REFUND, { acr: 'phr' });
  const program = castellan.addProgram({ name: 'Robot', permissions: [REFUND] });
  assert.equal((await answer(program.apiKey, { acr: 'phr', maxAgeSeconds: 60 })).status, 200);
});

test('can is false for a permission whose requirement is not met', async () => {
  const { castellan, ada } = open();
  const { guard } = castellan;
  castellan.requireAuthentication(REFUND, { acr: 'aal2' });
  const identityOf = async (token: string) =>
    guard.authenticate({ headers: { authorization: `Bearer ${token}` } });
  assert.equal(await guard.can(await identityOf(await ada.accessToken()), REFUND), true);
  assert.equal(await guard.can(await identityOf(await ada.accessToken({ acr: 'aal1' })), REFUND), false);
  assert.equal(await guard.can({ type: 'user', id: ada.id }, REFUND), false, 'an account proves nothing');
});

test('requirements that ask for nothing or too much are refused at once', () => {
  const { castellan } = open();
  const wrong = [{}, { acr: 'aal3' }, { maxAgeSeconds: 0 }, { maxAgeSeconds: 1.5 }, { maxAgeSeconds: '60' }];
  for (const one of wrong) {
    const requirement = one as Requirement;
    assert.throws(() => castellan.guard.require(REFUND, requirement), TypeError, JSON.stringify(one));
    assert.throws(() => castellan.guard.authenticated(requirement), TypeError);
  }
});

for (const [what, members] of Object.entries({
  'acr is no text': { acr: 2 },
  'amr is no list': { amr: 'pwd' },
  'auth_time is no number': { auth_time: 'now' },
  'step_up is no list': { step_up: {} },
  'a step_up has no permission': { step_up: [{ acr_values: 'aal2' }] },
  'a step_up has no known level': { step_up: [{ permission: REFUND, acr_values: 'gold' }] },
  'a step_up has no number of seconds': {
    step_up: [{ permission: REFUND, acr_values: 'aal2', max_age: 'x' }],
  },
}))
  test(`nothing passes where ${what}`, async () => {
    const { castellan, ada } = open();
    const { apiKey } = castellan.addProgram({
      name: 'Guard',
      permissions: ['token.introspect', 'access.check'],
    });
    const guard = createGuard({
      baseUrl: castellan.baseUrl,
      apiKey,
      fetch: async (input, init) => {
        const response = await castellan.fetch(input, init);
        if (!String(input).endsWith('/introspect')) return response;
        return Response.json({ ...(await response.json()), ...members });
      },
    });
    const headers = { authorization: `Bearer ${await ada.accessToken()}` };
    await assert.rejects(guard.authenticate({ headers }), (error) =>
      error instanceof GuardError ? error.code === 'unavailable' : false,
    );
  });

/** A browser of somebody without a second factor, who signed in with the password, and what it has sent. */
async function openBrowser(isConfirmed: boolean) {
  const castellan = createTestCastellan();
  const bob = castellan.addUser({ email: 'bob@example.com', permissions: [REFUND] });
  castellan.requireAuthentication(REFUND, { maxAgeSeconds: 600 });
  const sent: string[] = [];
  const asked: StepUpRequirement[] = [];
  const atCastellan = castellan.browserFetch();
  const orders = castellan.guard.require(REFUND).fetch(() => new Response('done'));
  const client: BrowserClient = createClient({
    baseUrl: castellan.baseUrl,
    services: ['http://orders.test'],
    fetch: (input, init) => {
      const request = new Request(input, init);
      sent.push(new URL(request.url).pathname);
      return request.url.startsWith(castellan.baseUrl) ? atCastellan(request) : orders(request);
    },
    onStepUp: async (requirement) => {
      asked.push(requirement);
      if (isConfirmed) await client.auth.stepUp({ password: bob.password });
      return isConfirmed;
    },
  });
  await client.auth.signIn({ email: bob.email, password: bob.password });
  return { client, sent, asked };
}

test('auth.fetch answers the challenge of a guard with one step-up and no refresh', async () => {
  const { client, sent, asked } = await openBrowser(true);
  const responses = await Promise.all([
    client.auth.fetch('http://orders.test/refund'),
    client.auth.fetch('http://orders.test/refund'),
  ]);
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200],
  );
  assert.deepEqual(asked, [{ requiredAcr: 'aal1', maxAge: 600 }]);
  assert.equal(sent.filter((path) => path === '/refund').length, 4);
  assert.ok(!sent.includes('/api/v1/auth/new_access_token'));
});

test('auth.fetch returns the challenge if nobody steps up', async () => {
  const { client, sent, asked } = await openBrowser(false);
  const response = await client.auth.fetch('http://orders.test/refund');
  assert.equal(response.status, 401);
  assert.equal((await response.json()).code, 'insufficient_user_authentication');
  assert.equal(asked.length, 1);
  assert.equal(sent.filter((path) => path === '/refund').length, 1);
  assert.ok(!sent.includes('/api/v1/auth/new_access_token'));
});

test('after the expired token, auth.fetch still answers the challenge for the new one', async () => {
  const castellan = createTestCastellan();
  const ada = castellan.addUser({ email: 'ada@example.com' });
  const challenges = [
    'Bearer error="invalid_token"',
    'Bearer error="insufficient_user_authentication", acr_values="aal1 aal2 phr"',
  ];
  const atCastellan = castellan.browserFetch();
  const client: BrowserClient = createClient({
    baseUrl: castellan.baseUrl,
    services: ['http://orders.test'],
    fetch: async (input, init) => {
      const request = new Request(input, init);
      if (request.url.startsWith(castellan.baseUrl)) return atCastellan(request);
      const challenge = challenges.shift();
      return challenge
        ? new Response('', { status: 401, headers: { 'www-authenticate': challenge } })
        : new Response('done');
    },
    onStepUp: async ({ requiredAcr, maxAge }) => {
      assert.deepEqual([requiredAcr, maxAge], ['aal1', null]);
      await client.auth.stepUp({ password: ada.password });
      return true;
    },
  });
  await client.auth.signIn({ email: ada.email, password: ada.password });
  assert.equal((await client.auth.fetch('http://orders.test/refund')).status, 200);
});
