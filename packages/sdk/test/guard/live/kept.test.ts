// What a live guard keeps, and which changes make it forget that.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { makeKey } from '../../../src/guard/api-key.ts';
import type { GuardOptions, Identity } from '../../../src/index.ts';
import { bearing, createFakeCastellan, said, settle, stopClock } from './fake-feed.ts';

/** Returns a guard with a feed that is live. */
async function started(t: TestContext, options: Partial<GuardOptions> = {}) {
  const clock = stopClock(t);
  const castellan = createFakeCastellan(t, clock);
  const guard = castellan.guard({ live: true, ...options });
  await settle();
  await castellan.stream().tell('hello', { live: true, resumed: false }, '1.a');
  assert.equal(guard.state().live, true);
  /** Asks once, so that the answer is kept. */
  const keep = async (token: string): Promise<Identity> => {
    const identity = await guard.authenticate(bearing(token));
    assert.notEqual(said(guard, token), 'ask');
    return identity;
  };
  const change = (...changes: object[]) => castellan.stream().tell('changes', { changes }, '2.a');
  return { clock, castellan, guard, keep, change };
}

test('an answer is kept until its token ends, and asked for once', async (t) => {
  const { castellan, guard, keep } = await started(t);
  const token = await castellan.token(['orders.read']);
  assert.equal(said(guard, token), 'ask');
  const identity = await keep(token);
  assert.equal(guard.check(bearing(token), 'Orders.Read'), identity);
  assert.equal(said(guard, token, 'orders.delete'), 'permission_denied');
  const handler = guard
    .require('orders.read')
    .fetch((request) => Response.json({ id: guard.identityOf(request).id }));
  const answer = await handler(new Request('http://orders.test', bearing(token)));
  assert.equal((await answer.json()).id, identity.id);
  assert.equal(await guard.can(identity, 'orders.read'), true);
  assert.deepEqual(
    castellan.asked.map(({ include }) => include),
    ['permissions live'],
  );
});

test('refusals that need no question are told at once', async (t) => {
  const { guard } = await started(t);
  const checked = (authorization?: string) => {
    const answer = guard.check({ headers: authorization === undefined ? {} : { authorization } }, 'a.b');
    return answer instanceof Error ? answer.code : answer;
  };
  assert.equal(checked(), 'missing_token');
  assert.equal(checked('Basic YTpi'), 'invalid_token');
  assert.equal(checked('Bearer a, Bearer b'), 'invalid_token');
  assert.equal(checked('bearer abc'), undefined);
  assert.throws(() => guard.check(bearing('x'), 'orders'), TypeError);
  assert.throws(() => guard.check(bearing('x'), 'orders.read', {}), TypeError);
});

test('a token is found by its end and compared whole', async (t) => {
  const { castellan, guard, keep } = await started(t);
  const token = await castellan.token(['orders.read']);
  await keep(token);
  const other = `x${token.slice(1)}`;
  assert.equal(other.slice(-24), token.slice(-24));
  for (const one of [other, `${token}x`, token.slice(1), ` ${token}`, token.slice(-24)])
    assert.notEqual(said(guard, one), 'known');
});

for (const [name, change] of Object.entries({
  'its session': ({ sid }: Record<string, unknown>) => ({ type: 'session', id: sid }),
  'the token': ({ jti }: Record<string, unknown>) => ({ type: 'token', id: jti }),
  'its user': ({ sub }: Record<string, unknown>) => ({ type: 'user', id: sub }),
  'its signing key': () => ({ type: 'signing_key', id: 'key-1' }),
  'one of its roles': () => ({ type: 'graph', id: 's', role_ids: [ROLE], permission_ids: [] }),
  'a permission': () => ({ type: 'graph', id: 's', role_ids: [], permission_ids: [randomUUID()] }),
  'more roles than are listed': () => ({ type: 'graph', id: 's', role_ids: null, permission_ids: [] }),
  'more permissions than are listed': () => ({
    type: 'graph',
    id: 's',
    role_ids: [],
    permission_ids: null,
  }),
  'a graph that says nothing': () => ({ type: 'graph', id: 's' }),
  everything: () => ({ type: 'everything', id: '*' }),
  'a type of a later version': () => ({ type: 'weather', id: 'rain' }),
  'a change without an id': () => ({ type: 'session' }),
  'no change at all': () => 7 as unknown as object,
}))
  test(`an identity is dropped by a change of ${name}`, async (t) => {
    const { castellan, guard, keep, change: tell } = await started(t);
    const token = await castellan.token(['orders.read'], { role_ids: [randomUUID(), ROLE] });
    await keep(token);
    await tell(change(castellan.answers.get(token) ?? {}));
    assert.equal(said(guard, token), 'ask');
    assert.equal(guard.state().kept, 0);
  });

const ROLE = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be211';

test('an identity is not dropped by what does not concern it', async (t) => {
  const { castellan, guard, keep, change } = await started(t);
  const token = await castellan.token(['orders.read'], { role_ids: [ROLE] });
  await keep(token);
  await change(
    ...['session', 'token', 'user', 'service_account', 'signing_key'].map((type) => ({
      type,
      id: randomUUID(),
    })),
    { type: 'graph', id: 's', role_ids: [randomUUID()], permission_ids: [] },
  );
  assert.equal(said(guard, token), 'known');
});

test('a change drops every token of a user or a session, and no other', async (t) => {
  const { castellan, guard, keep, change } = await started(t);
  const sub = randomUUID();
  const sid = randomUUID();
  const tokens = await Promise.all([
    castellan.token(['orders.read'], { sub, sid }),
    castellan.token(['orders.read'], { sub, sid }),
    castellan.token(['orders.read'], { sub }),
    castellan.token(['orders.read']),
  ]);
  for (const token of tokens) await keep(token);
  const all = () => tokens.map((token) => said(guard, token));
  await change({ type: 'session', id: sid });
  assert.deepEqual(all(), ['ask', 'ask', 'known', 'known']);
  for (const token of tokens) await keep(token);
  await change({ type: 'user', id: sub });
  assert.deepEqual(all(), ['ask', 'ask', 'ask', 'known']);
});

test('the key of a service account is dropped by a change of the account, and of its roles', async (t) => {
  const { castellan, guard, keep, change } = await started(t);
  const key = castellan.key(['orders.read'], { role_ids: [ROLE] });
  const { id } = await keep(key);
  for (const one of [
    { type: 'service_account', id },
    { type: 'graph', id: 's', role_ids: [ROLE], permission_ids: [] },
  ]) {
    await keep(key);
    await change(one);
    assert.equal(said(guard, key), 'ask');
  }
});

test('answers without fresh_for or roles are not kept, nor are refusals', async (t) => {
  const { castellan, guard } = await started(t);
  for (const more of [{ fresh_for: undefined }, { role_ids: undefined }, { fresh_for: 0 }]) {
    const token = await castellan.token(['orders.read'], more);
    await guard.authenticate(bearing(token));
    assert.equal(said(guard, token), 'ask');
  }
  const key = makeKey();
  for (let times = 0; times < 2; times += 1)
    await assert.rejects(guard.authenticate(bearing(key)), { code: 'invalid_token' });
  assert.equal(said(guard, key), 'ask');
});

test('an answer counts for fresh_for at most, from when it was asked for, by either clock', async (t) => {
  const { clock, castellan, guard, keep } = await started(t);
  const beatFor = async (seconds: number) => {
    for (let second = 0; second < seconds; second += 1) {
      await clock.pass(1_000);
      await castellan.stream().tell('beat', { live: true });
    }
  };
  const key = castellan.key(['orders.read'], { fresh_for: 5 });
  await keep(key);
  await beatFor(4);
  assert.equal(said(guard, key), 'known');
  await beatFor(1);
  assert.equal(said(guard, key), 'ask');
  // The machine sleeps: the stream ends with it, and its successor finds nothing that counts.
  await keep(key);
  await clock.sleep(5_000);
  await clock.pass(1_000);
  await castellan.stream().tell('hello', { live: true, resumed: true }, '2.a');
  assert.equal(guard.state().live, true);
  assert.equal(said(guard, key), 'ask');
});

test('a token does not count after its end, whatever the answer says', async (t) => {
  const { clock, castellan, guard, keep } = await started(t);
  const now = Math.floor(clock.now() / 1_000);
  const token = await castellan.token(['orders.read'], { exp: now + 2 });
  await keep(token);
  await clock.pass(1_000);
  await castellan.stream().tell('beat', { live: true });
  assert.equal(said(guard, token), 'known');
  await clock.pass(1_000);
  await castellan.stream().tell('beat', { live: true });
  assert.equal(said(guard, token), 'ask');
});

test('what the user must prove is judged at each check', async (t) => {
  const { clock, castellan, guard, keep } = await started(t, { clockToleranceMs: 0 });
  const now = Math.floor(clock.now() / 1_000);
  const token = await castellan.token(['orders.read'], {
    acr: 'aal2',
    amr: ['pwd', 'otp'],
    auth_time: now,
    step_up: [{ permission: 'orders.delete', acr_values: 'phr', max_age: 60 }],
  });
  await keep(token);
  const requirementOf = (permission: string, requirement?: { acr?: 'phr'; maxAgeSeconds?: number }) => {
    const answer = guard.check(bearing(token), permission, requirement);
    return answer instanceof Error ? [answer.code, answer.requirement] : 'known';
  };
  const needed = { acr: 'phr', maxAgeSeconds: 60 };
  assert.deepEqual(requirementOf('orders.delete'), ['insufficient_user_authentication', needed]);
  assert.equal(requirementOf('orders.read', { maxAgeSeconds: 3 }), 'known');
  assert.deepEqual(requirementOf('orders.read', { acr: 'phr' }), [
    'insufficient_user_authentication',
    { acr: 'phr' },
  ]);
  for (let second = 0; second < 4; second += 1) {
    await clock.pass(1_000);
    await castellan.stream().tell('beat', { live: true });
  }
  assert.deepEqual(requirementOf('orders.read', { maxAgeSeconds: 3 }), [
    'insufficient_user_authentication',
    { maxAgeSeconds: 3 },
  ]);
});

test('the number of kept answers is limited to two generations, and the ones in use stay', async (t) => {
  const { castellan, guard, keep } = await started(t, { cacheSize: 10 });
  const used = castellan.key(['orders.read']);
  await keep(used);
  for (let count = 0; count < 100; count += 1) {
    await keep(castellan.key(['orders.read']));
    assert.equal(said(guard, used), 'known');
    assert.ok(guard.state().kept <= 20);
  }
  assert.ok(guard.state().kept >= 10);
});

test('callers with the same rights share them in memory, and lose them together', async (t) => {
  const { castellan, guard, keep, change } = await started(t);
  const keys = Array.from({ length: 5 }, () =>
    castellan.key(['orders.read', 'orders.write'], { role_ids: [ROLE] }),
  );
  for (const key of keys) await keep(key);
  await change({ type: 'graph', id: 's', role_ids: [ROLE], permission_ids: [] });
  assert.equal(guard.state().kept, 0);
});

test('requests with one token that arrive during its first question wait for that one', async (t) => {
  const { castellan, guard } = await started(t);
  const token = await castellan.token(['orders.read']);
  const release = castellan.hold();
  const arrival = castellan.arrival();
  const first = guard.authenticate(bearing(token));
  await arrival;
  const others = [guard.authenticate(bearing(token)), guard.authenticate(bearing(token))];
  await settle();
  release();
  const [one, ...rest] = await Promise.all([first, ...others]);
  assert.ok(rest.every((identity) => identity === one));
  assert.equal(castellan.asked.length, 1);
});

const RIGHT = { decision: true, context: { reason: 'granted', permission: 'orders.read', fresh_for: 60 } };
const user = (id: string) => ({ type: 'user', id }) as const;

test('a decision about an id is kept until a change of its subject, or of the roles', async (t) => {
  const { castellan, guard, change } = await started(t);
  const id = randomUUID();
  castellan.decisions.set(id, RIGHT);
  const asks = async (): Promise<number> => {
    const before = castellan.asked.length;
    assert.equal(await guard.can(user(id), 'orders.read'), true);
    return castellan.asked.length - before;
  };
  assert.deepEqual([await asks(), await asks()], [1, 0]);
  assert.equal(castellan.asked[0]?.prefer, 'live');
  await change({ type: 'user', id: randomUUID() }, { type: 'session', id: randomUUID() });
  assert.equal(await asks(), 0);
  for (const one of [
    { type: 'user', id },
    { type: 'graph', id: 's', role_ids: [randomUUID()], permission_ids: [] },
    { type: 'everything', id: '*' },
  ]) {
    await change(one);
    assert.deepEqual([await asks(), await asks()], [1, 0], JSON.stringify(one));
  }
});

test('decisions that may change without a message are not kept', async (t) => {
  const { castellan, guard } = await started(t);
  const unknown = { decision: true, context: { ...RIGHT.context, reason: 'unknown_subject' } };
  const undated = { decision: true, context: { reason: 'granted', permission: 'orders.read' } };
  for (const [id, answer] of [
    ['ada@example.com', RIGHT],
    ['A-Name', RIGHT],
    [randomUUID(), unknown],
    [randomUUID(), undated],
  ] as const) {
    castellan.decisions.set(id, answer);
    const before = castellan.asked.length;
    for (let times = 0; times < 2; times += 1) await guard.can(user(id), 'orders.read');
    assert.equal(castellan.asked.length - before, 2, id);
  }
});
