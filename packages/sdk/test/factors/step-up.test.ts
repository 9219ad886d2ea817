// The second step of a sign-in, step-up, and what waits for it, against a service in memory.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClientIn } from '../../src/client.ts';
import type { Ceremonies } from '../../src/session/ceremonies.ts';
import type { OnStepUp, StepUpRequirement } from '../../src/session/step-ups.ts';
import {
  BASE_URL,
  createHost,
  createService,
  type FakeService,
  gate,
  json,
  refusal,
  USER,
} from '../fixture.ts';

const LOGIN = 'POST /api/v1/auth/login';
const SECOND = 'POST /api/v1/auth/login/second-factor';
const STEP_UP = 'POST /api/v1/auth/step-up';
const REFUND = 'POST /api/v1/orders/refund';
const NEEDED = { required_acr: 'aal2', max_age: 600 };
const SECOND_FACTOR = { token: 'pending', expires_at: '2030-01-01T00:10:00Z', methods: ['totp'] };

const stepUpRequired = (step_up: object = NEEDED) => refusal(403, 'step_up_required', {}, { step_up });

type Options = { onStepUp?: OnStepUp; passkeys?: Ceremonies };

/** A service with step-up, and a signed-in client of it. */
async function open(options: Options = {}) {
  const service = createService();
  service.always(STEP_UP, () =>
    json(200, {
      data: {
        access_token: service.issueToken(),
        token_type: 'bearer',
        refresh_token: 'refresh',
        acr: 'aal2',
        auth_time: '2030-01-01T00:00:00Z',
      },
      message: '',
    }),
  );
  const client = createClientIn(createHost(service), { baseUrl: BASE_URL, ...options });
  await client.auth.signIn(USER);
  return { service, client };
}

/** Answers calls of one token with `step_up_required`, and the others as ever. */
function requireProof(service: FakeService, operation: string, step_up?: object): void {
  const first = service.requests.at(-1)?.headers.get('authorization');
  let refused: string | null | undefined = first;
  service.always(operation, ({ headers }) => {
    refused ??= headers.get('authorization');
    return headers.get('authorization') === refused
      ? stepUpRequired(step_up)
      : json(200, { data: { done: true }, message: '' });
  });
}

const refund = (client: { request: unknown }): Promise<unknown> =>
  (client.request as (operation: string) => Promise<unknown>)(REFUND);

test('a sign-in with a second factor is refused with what completes it, and completed', async () => {
  const service = createService();
  const client = createClientIn(createHost(service), { baseUrl: BASE_URL });
  service.next(LOGIN, () => refusal(422, 'second_factor_required', {}, { second_factor: SECOND_FACTOR }));
  await assert.rejects(client.auth.signIn(USER), {
    code: 'second_factor_required',
    secondFactor: SECOND_FACTOR,
  });
  assert.equal(client.auth.state, 'unknown');
  service.next(
    SECOND,
    () => refusal(422, 'second_factor_invalid', {}, { attempts_left: 4 }),
    () => json(200, { data: { access_token: service.issueToken(), user: { id: 'u-1' } }, message: '' }),
  );
  const proof = { token: SECOND_FACTOR.token, totp: '492 039' };
  await assert.rejects(client.auth.completeSignIn(proof), {
    code: 'second_factor_invalid',
    secondFactor: null,
  });
  assert.deepEqual(await client.auth.completeSignIn({ ...proof, trust_device: true }), { id: 'u-1' });
  assert.equal(client.auth.state, 'authenticated');
  assert.equal(service.requests.at(-1)?.body, JSON.stringify({ ...proof, trust_device: true }));
});

test('a step-up replaces the token, in silence, and returns no token', async () => {
  const { service, client } = await open();
  const events: string[] = [];
  client.auth.subscribe(({ type }) => void events.push(type));
  assert.deepEqual(await client.auth.stepUp({ totp: '123456' }), {
    acr: 'aal2',
    auth_time: '2030-01-01T00:00:00Z',
  });
  const before = service.requests.at(-1)?.headers.get('authorization');
  await client.get('/api/v1/users/me');
  assert.notEqual(service.requests.at(-1)?.headers.get('authorization'), before);
  assert.deepEqual(events, []);
});

test('ten calls that need a step-up ask once, and are each repeated once', async () => {
  const asked: StepUpRequirement[] = [];
  const { service, client } = await open({
    onStepUp: async (requirement) => {
      asked.push(requirement);
      await client.auth.stepUp({ totp: '123456' });
      return true;
    },
  });
  requireProof(service, REFUND);
  await Promise.all(Array.from({ length: 10 }, () => refund(client)));
  assert.deepEqual(asked, [{ requiredAcr: 'aal2', maxAge: 600 }]);
  assert.equal(service.count(REFUND), 20);
});

test('without a step-up every call ends with its refusal', async () => {
  for (const options of [{}, { onStepUp: () => false }, { onStepUp: async () => false }]) {
    const { service, client } = await open(options);
    service.always(REFUND, () => stepUpRequired());
    const results = await Promise.allSettled([refund(client), refund(client)]);
    for (const result of results)
      assert.ok(
        result.status === 'rejected' &&
          result.reason.code === 'step_up_required' &&
          result.reason.stepUp.maxAge === 600,
      );
    assert.equal(service.count(REFUND), 2);
  }
});

test('a call that is refused again after the step-up is not repeated for ever', async () => {
  let asked = 0;
  const { service, client } = await open({
    onStepUp: () => {
      asked += 1;
      return true;
    },
  });
  service.always(REFUND, () => stepUpRequired());
  await assert.rejects(refund(client), { code: 'step_up_required' });
  assert.deepEqual([asked, service.count(REFUND)], [1, 2]);
});

test('a call that needs more than what was just proved asks again; one that needs less does not', async () => {
  const asked: string[] = [];
  const { opened, open: answer } = gate();
  const { service, client } = await open({
    onStepUp: async ({ requiredAcr }) => {
      asked.push(requiredAcr);
      await opened;
      return true;
    },
  });
  const done = () => json(200, { data: {}, message: '' });
  service.next(
    REFUND,
    () => stepUpRequired({ required_acr: 'aal2', max_age: null }),
    () => stepUpRequired({ required_acr: 'phr', max_age: null }),
    () => stepUpRequired({ required_acr: 'aal1', max_age: 30 }),
    done,
    done,
    done,
  );
  const calls = [refund(client), refund(client), refund(client)];
  while (asked.length === 0) await new Promise(setImmediate);
  answer();
  await Promise.all(calls);
  assert.deepEqual(asked, ['aal2', 'phr']);
});

test('a step-up that failed for one call is asked for anew by a later call', async () => {
  let asked = 0;
  const { service, client } = await open({
    onStepUp: () => {
      asked += 1;
      return asked > 1;
    },
  });
  service.next(
    REFUND,
    () => stepUpRequired(),
    () => stepUpRequired(),
  );
  await assert.rejects(refund(client), { code: 'step_up_required' });
  await refund(client);
  assert.equal(asked, 2);
});

test('an error of onStepUp reaches the call', async () => {
  const { service, client } = await open({
    onStepUp: () => {
      throw new Error('the dialog is broken');
    },
  });
  service.always(REFUND, () => stepUpRequired());
  await assert.rejects(refund(client), { message: 'the dialog is broken' });
});

test('a call is not repeated as another user who signs in during the step-up', async () => {
  const { service, client } = await open({
    onStepUp: async () => {
      service.signInAs('u-2');
      await client.auth.signIn(USER);
      return true;
    },
  });
  service.next(REFUND, () => stepUpRequired());
  await assert.rejects(refund(client), { code: 'session_changed' });
  assert.equal(service.count(REFUND), 1);
});

test('a step-up that arrives after a sign-out starts no session', async () => {
  const { service, client } = await open();
  const { opened, open: answer } = gate();
  const token = service.issueToken();
  service.next(STEP_UP, async () => {
    await opened;
    return json(200, { data: { access_token: token, acr: 'aal2', auth_time: '' }, message: '' });
  });
  const steppedUp = client.auth.stepUp({ totp: '123456' });
  while (service.count(STEP_UP) === 0) await new Promise(setImmediate);
  await client.auth.signOut();
  answer();
  await assert.rejects(steppedUp, { code: 'session_changed' });
  assert.equal(client.auth.state, 'anonymous');
});

test('a change of the factors keeps the session with its new token', async () => {
  const { service, client } = await open();
  const factors = { totp: null };
  service.next('POST /api/v1/auth/factors/totp/confirm', () => {
    service.expireTokens();
    return json(200, {
      data: {
        factors,
        recovery_codes: ['a', 'b'],
        access_token: service.issueToken(),
        token_type: 'bearer',
        refresh_token: 'refresh',
      },
      message: '',
    });
  });
  assert.deepEqual(await client.auth.factors.confirmApp('123456'), { factors, recovery_codes: ['a', 'b'] });
  await client.get('/api/v1/users/me');
  assert.equal(service.count('POST /api/v1/auth/new_access_token'), 0);
});

test('a passkey of the browser signs in', async () => {
  const passkey = {
    id: 'aWQ',
    rawId: 'aWQ',
    type: 'public-key',
    response: { clientDataJSON: 'e30', authenticatorData: 'YQ', signature: 'cw' },
    clientExtensionResults: {},
  } as const;
  const request = { challenge: 'Yw', rpId: 'example.com', timeout: 1, userVerification: 'required' } as const;
  const service = createService();
  const passkeys: Ceremonies = {
    get: async () => passkey,
    async signIn({ run, begin }) {
      const options = await run('POST /api/v1/auth/login/passkey/options', { body: {} });
      assert.deepEqual(options.passkey, request);
      return begin('POST /api/v1/auth/login/passkey', { body: { passkey } });
    },
    own: () => assert.fail('nobody asks for it'),
  };
  const client = createClientIn(createHost(service), { baseUrl: BASE_URL, passkeys });
  service.next('POST /api/v1/auth/login/passkey/options', () =>
    json(200, { data: { passkey: request, expires_at: '' }, message: '' }),
  );
  service.next('POST /api/v1/auth/login/passkey', () =>
    json(200, { data: { access_token: service.issueToken(), user: { id: 'u-1' } }, message: '' }),
  );
  assert.deepEqual(await client.auth.signInWithPasskey(), { id: 'u-1' });
  assert.equal(client.auth.state, 'authenticated');
});

test('a client without the option says so', async () => {
  const { client } = await open();
  await assert.rejects(client.auth.signInWithPasskey(), { name: 'TypeError', message: /passkeys/ });
  assert.throws(() => client.auth.factors.passkeys(), TypeError);
});
