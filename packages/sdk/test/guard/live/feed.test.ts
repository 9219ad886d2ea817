// When kept answers of a live guard count: while the feed vouches for them, whatever happens to it.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import { createGuard, type GuardError, type GuardOptions } from '../../../src/index.ts';
import { bearing, createFakeCastellan, said, settle, stopClock } from './fake-feed.ts';

async function started(t: TestContext, options: Partial<GuardOptions> = {}) {
  const clock = stopClock(t);
  const castellan = createFakeCastellan(t, clock);
  const guard = castellan.guard({ live: true, ...options });
  await settle();
  const hello = (told: object = {}, id = '1.a') =>
    castellan.stream().tell('hello', { live: true, resumed: false, ...told }, id);
  const token = await castellan.token(['orders.read']);
  /** Asks, so that the answer is kept if it may be. */
  const ask = () => guard.authenticate(bearing(token));
  const says = () => said(guard, token);
  return { clock, castellan, guard, hello, token, ask, says };
}

/** As `started`, with an answer that is kept. */
async function keeping(t: TestContext, options: Partial<GuardOptions> = {}) {
  const all = await started(t, options);
  await all.hello();
  await all.ask();
  assert.equal(all.says(), 'known');
  return all;
}

test('nothing is kept before the feed is live, and until then a guard asks as any other', async (t) => {
  const { castellan, guard, hello, ask, says } = await started(t);
  await ask();
  assert.deepEqual([says(), castellan.asked.at(-1)?.include], ['ask', 'permissions']);
  await hello({ live: false });
  await ask();
  assert.deepEqual([says(), castellan.asked.at(-1)?.include], ['ask', 'permissions']);
  await castellan.stream().tell('beat', { live: true });
  assert.equal(says(), 'ask');
  await ask();
  assert.equal(says(), 'known');
  await castellan.stream().tell('beat', { live: false });
  assert.deepEqual([says(), guard.state().live], ['ask', false]);
});

test('kept answers count for maxSilenceMs after the latest message, and again from the next one', async (t) => {
  const { clock, castellan, guard, says } = await keeping(t, { live: { maxSilenceMs: 2_000 } });
  const stream = castellan.stream();
  await clock.pass(1_000);
  await stream.tell('beat', { live: true });
  await clock.pass(2_000);
  assert.deepEqual([says(), guard.state().ageMs], ['known', 2_000]);
  await clock.pass(50);
  assert.deepEqual([says(), guard.state().live], ['ask', false]);
  await stream.tell('beat', { live: true });
  assert.equal(says(), 'known');
});

test('a message that has been on its way for long says little', async (t) => {
  const { clock, castellan, guard, says } = await keeping(t);
  await clock.pass(2_900);
  // A proxy held it back since 500 ms after the request.
  await castellan.stream().send('beat', { at: 500, live: true });
  assert.deepEqual([says(), guard.state().ageMs], ['known', 2_400]);
  await clock.pass(650);
  assert.equal(says(), 'ask');
});

test('while the service cannot say what has happened, at stands still and kept answers stop counting', async (t) => {
  const { clock, castellan, says } = await keeping(t);
  const stream = castellan.stream();
  for (let second = 0; second < 3; second += 1) {
    await clock.pass(1_000);
    assert.equal(says(), 'known');
    await stream.send('beat', { at: 0, live: true });
  }
  await clock.pass(50);
  assert.equal(says(), 'ask');
});

test('a silent connection is given up, and its successor goes on from the cursor', async (t) => {
  const { clock, castellan, says, hello } = await keeping(t);
  await castellan.stream().tell('changes', { changes: [] }, '7.b');
  await clock.pass(3_500);
  assert.equal(says(), 'ask');
  await clock.pass(500);
  assert.deepEqual([castellan.streams.length, castellan.streams[0]?.isOpen], [2, false]);
  assert.equal(castellan.stream().cursor, '7.b');
  await hello({ resumed: true }, '7.b');
  assert.equal(says(), 'known');
});

test('a connection that is cut costs nothing if the next one comes in time', async (t) => {
  const { clock, castellan, hello, says } = await keeping(t);
  await castellan.stream().cut();
  assert.equal(says(), 'known');
  await clock.pass(300);
  assert.equal(castellan.streams.length, 2);
  assert.equal(says(), 'known');
  await hello({ resumed: true });
  await clock.pass(2_900);
  assert.equal(says(), 'known');
});

test('a new stream counts when it has told what was missed', async (t) => {
  const { clock, castellan, hello, token, says } = await keeping(t);
  await castellan.stream().cut();
  await clock.pass(2_900);
  await hello({ resumed: true, at: -86_400_000 });
  assert.equal(says(), 'known');
  await clock.pass(150);
  assert.equal(says(), 'ask');
  const { sid } = castellan.answers.get(token) ?? {};
  await castellan.stream().tell('changes', { changes: [{ type: 'session', id: sid }] }, '2.a');
  assert.equal(says(), 'ask');
});

for (const [name, told] of Object.entries({
  'a hello of another history': ['hello', { resumed: false }],
  'a hello that says nothing': ['hello', { resumed: undefined }],
  'a reset': ['reset', { reason: 'behind' }],
  'a message of a later version': ['weather', {}],
  'changes that are no list': ['changes', { changes: {} }],
  'a time that is no number': ['beat', { at: 'soon', live: true }],
  'a time in the future': ['beat', { at: 3_600_000, live: true }],
} satisfies Record<string, [string, object]>))
  test(`everything is dropped by ${name}`, async (t) => {
    const { castellan, guard, says } = await keeping(t);
    const [event, data] = told;
    await castellan.stream().tell(event, { live: true, ...data }, '9.z');
    assert.equal(says(), 'ask');
    assert.equal(guard.state().kept, 0);
  });

for (const [name, text] of Object.entries({
  'no JSON': '{"at":',
  'no object': '[1]',
  'an empty object': '{}',
}))
  test(`everything is dropped by a message that is ${name}`, async (t) => {
    const { castellan, guard } = await keeping(t);
    await castellan.stream().send('changes', text);
    assert.equal(guard.state().kept, 0);
  });

test('a stream that does not begin with hello vouches for nothing', async (t) => {
  const { clock, castellan, guard, says } = await keeping(t);
  await castellan.stream().cut();
  await clock.pass(300);
  await castellan.stream().tell('beat', { live: true });
  assert.equal(guard.state().kept, 0);
  assert.equal(says(), 'ask');
});

test('an answer is not kept if a change concerned it while it was asked for', async (t) => {
  const { castellan, guard, hello, token, says } = await started(t);
  await hello();
  const { sid, sub, jti } = castellan.answers.get(token) ?? {};
  for (const changes of [
    [{ type: 'session', id: sid }],
    [{ type: 'user', id: sub }],
    [{ type: 'token', id: jti }],
    [{ type: 'signing_key', id: 'key-1' }],
    [{ type: 'graph', id: 's', role_ids: [], permission_ids: [randomUUID()] }],
    [{ type: 'everything', id: '*' }],
  ]) {
    const release = castellan.hold();
    const arrival = castellan.arrival();
    const answer = guard.authenticate(bearing(token));
    await arrival;
    await castellan.stream().tell('changes', { changes }, '2.a');
    await castellan.stream().tell('changes', { changes: [{ type: 'user', id: randomUUID() }] }, '3.a');
    release();
    assert.equal((await answer).id, sub);
    assert.equal(says(), 'ask', JSON.stringify(changes));
  }
  const release = castellan.hold();
  const arrival = castellan.arrival();
  const answer = guard.authenticate(bearing(token));
  await arrival;
  await castellan.stream().tell('changes', { changes: [{ type: 'user', id: randomUUID() }] }, '4.a');
  release();
  await answer;
  assert.equal(says(), 'known');
});

test('a decision is not kept if a change concerned it while it was asked for', async (t) => {
  const { castellan, guard, hello } = await started(t);
  await hello();
  const id = randomUUID();
  const context = { reason: 'granted', permission: 'orders.read', fresh_for: 60 };
  castellan.decisions.set(id, { decision: true, context });
  for (const change of [
    { type: 'user', id },
    { type: 'graph', id: 's', role_ids: [], permission_ids: [] },
  ]) {
    const release = castellan.hold();
    const arrival = castellan.arrival();
    const answer = guard.can({ type: 'user', id }, 'orders.read');
    await arrival;
    await castellan.stream().tell('changes', { changes: [change] }, '2.a');
    release();
    assert.equal(await answer, true);
    assert.equal(guard.state().kept, 0);
  }
});

test('an answer that was asked for before a reset is not kept after it', async (t) => {
  const { castellan, guard, hello, says, token } = await started(t);
  await hello();
  const release = castellan.hold();
  const arrival = castellan.arrival();
  const answer = guard.authenticate(bearing(token));
  await arrival;
  await castellan.stream().tell('reset', { reason: 'other_history' }, '1.b');
  release();
  await answer;
  assert.equal(says(), 'ask');
});

test('a guard whose clock is set wrong keeps no answer for longer', async (t) => {
  const { clock, guard, hello, says } = await keeping(t);
  clock.setDate(clock.now() - 3_600_000);
  assert.equal(says(), 'known');
  await clock.pass(3_050);
  assert.equal(says(), 'ask');
  await clock.pass(1_000);
  await hello({ resumed: true });
  assert.equal(says(), 'known');
  clock.setDate(clock.now() + 3_600_000);
  // By this clock an hour has passed.
  assert.equal(says(), 'ask');
  await clock.pass(500);
  await hello({ resumed: true });
  assert.equal(guard.state().live, true);
});

test('a machine that slept asks, and does not trust what it kept until it is connected again', async (t) => {
  const { clock, castellan, hello, says } = await keeping(t);
  await clock.sleep(60_000);
  assert.equal(says(), 'ask');
  // What arrived before it fell asleep is read now.
  await castellan.stream().send('beat', { at: 900, live: true });
  assert.equal(says(), 'ask');
  await clock.pass(500);
  await hello({ resumed: true });
  assert.equal(says(), 'known');
});

test('bye ends a stream, and its successor begins after the time that it names', async (t) => {
  const { clock, castellan, says } = await keeping(t);
  await castellan.stream().send('bye', { retry_ms: 400 });
  assert.equal(castellan.stream().isOpen, false);
  await clock.pass(350);
  assert.equal(castellan.streams.length, 1);
  await clock.pass(50);
  assert.deepEqual([castellan.streams.length, says()], [2, 'known']);
});

test('a stream that does not end is renewed, so that clocks cannot drift apart', async (t) => {
  const { clock, castellan } = await keeping(t);
  for (let second = 0; second < 962; second += 1) {
    if (castellan.streams.length > 1) break;
    await castellan.stream().tell('beat', { live: true });
    await clock.pass(1_000);
  }
  assert.deepEqual([castellan.streams.length, castellan.streams[0]?.isOpen], [2, false]);
});

test('pauses between attempts grow, up to ten seconds', async (t) => {
  const clock = stopClock(t);
  const castellan = createFakeCastellan(t, clock);
  const attempts: number[] = [];
  castellan.refuse(() => {
    attempts.push(performance.now());
    throw new TypeError('fetch failed');
  });
  castellan.guard();
  await clock.pass(60_000);
  const pauses = attempts.slice(1).map((at, index) => at - (attempts[index] ?? 0));
  assert.ok(pauses.length >= 8 && pauses.length <= 40, `${pauses.length}`);
  assert.ok(Math.max(...pauses) <= 10_050);
  assert.ok(Math.max(...pauses.slice(0, 2)) <= 500);
});

for (const status of [401, 403, 404])
  test(`a feed that answers ${status} is told once a minute, and the guard works as without one`, async (t) => {
    const clock = stopClock(t);
    const castellan = createFakeCastellan(t, clock);
    castellan.refuse(() => new Response('{}', { status }));
    const told: GuardError[] = [];
    const guard = castellan.guard({ live: true, onUnavailable: (error) => told.push(error) });
    await assert.rejects(guard.ready(), { code: 'unavailable' });
    await clock.pass(119_000);
    assert.equal(told.length, 2);
    // Also between two attempts, which are a minute apart.
    await assert.rejects(guard.ready(), { code: 'unavailable' });
    assert.match(told[0]?.message ?? '', new RegExp(`answered ${status}\\.`));
    const token = await castellan.token(['orders.read']);
    assert.equal((await guard.authenticate(bearing(token))).name, 'ada@example.com');
    assert.equal(said(guard, token), 'ask');
    castellan.refuse(undefined);
    await clock.pass(2_000);
    await castellan.stream().tell('hello', { live: true, resumed: false }, '1.a');
    assert.equal(guard.state().live, true);
    await guard.ready();
  });

for (const [name, answer] of Object.entries({
  'is JSON': () => Response.json({}),
  'is a page': () => new Response('<h1>Welcome</h1>', { headers: { 'content-type': 'text/html' } }),
  'is a redirect': () => new Response(null, { status: 302, headers: { location: 'http://other.test' } }),
}))
  test(`a feed whose answer ${name} is refused`, async (t) => {
    const castellan = createFakeCastellan(t, stopClock(t));
    castellan.refuse(answer);
    await assert.rejects(castellan.guard().ready(), { code: 'unavailable' });
  });

test('a cursor that Castellan cannot read is given up', async (t) => {
  const { clock, castellan } = await keeping(t);
  castellan.refuse(() => new Response('{}', { status: 400 }));
  await castellan.stream().cut();
  await clock.pass(500);
  castellan.refuse(undefined);
  await clock.pass(5_000);
  assert.equal(castellan.stream().cursor, null);
});

test('with onSilence "refuse", every check is refused while the feed is silent, and none is asked', async (t) => {
  const { clock, castellan, hello, guard, token, says, ask } = await started(t, {
    live: { onSilence: 'refuse' },
  });
  assert.equal(says(), 'unavailable');
  await assert.rejects(ask(), { code: 'unavailable' });
  await assert.rejects(guard.can({ type: 'user', id: randomUUID() }, 'orders.read'), { code: 'unavailable' });
  assert.equal(castellan.asked.length, 0);
  await hello();
  assert.equal(says(), 'ask');
  await ask();
  assert.equal(says(), 'known');
  await clock.pass(3_050);
  assert.equal(says(), 'unavailable');
  const handler = guard.require('orders.read').fetch(() => new Response('done'));
  assert.equal((await handler(new Request('http://orders.test', bearing(token)))).status, 503);
  assert.equal(castellan.asked.length, 1);
});

test('ready resolves when kept answers count; a closed guard rejects it and keeps nothing', async (t) => {
  const { castellan, guard, hello, ask, says } = await started(t);
  let isReady = false;
  const ready = guard.ready().then(() => {
    isReady = true;
  });
  await hello({ live: false });
  assert.equal(isReady, false);
  await castellan.stream().tell('beat', { live: true });
  await ready;
  await guard.ready();
  await ask();
  assert.equal(guard.state().kept, 1);
  guard.close();
  await settle();
  assert.deepEqual(guard.state(), { live: false, ageMs: Number.POSITIVE_INFINITY, kept: 0 });
  assert.equal(castellan.stream().isOpen, false);
  await assert.rejects(guard.ready(), { code: 'unavailable' });
  await ask();
  assert.equal(says(), 'ask');
});

test('a guard that is not live keeps nothing, and is ready', async (t) => {
  const clock = stopClock(t);
  const castellan = createFakeCastellan(t, clock);
  const guard = castellan.guard({ live: undefined });
  await guard.ready();
  const token = await castellan.token(['orders.read']);
  await guard.authenticate(bearing(token));
  assert.deepEqual([said(guard, token), castellan.streams.length], ['ask', 0]);
  assert.deepEqual(guard.state(), { live: false, ageMs: Number.POSITIVE_INFINITY, kept: 0 });
});

test('options that cannot work are refused', (t) => {
  const create = (options: Partial<GuardOptions>) => () =>
    createGuard({ baseUrl: 'http://castellan.test', apiKey: 'castellan_guard', ...options });
  for (const live of [{ maxSilenceMs: 1_499 }, { maxSilenceMs: Number.NaN }, { onSilence: 'hope' as 'ask' }])
    assert.throws(create({ live }), TypeError);
  for (const maxStaleMs of [0, 1_000])
    assert.throws(create({ live: true, maxStaleMs }), { name: 'TypeError', message: /maxStaleMs/ });
  t.mock.getter(globalThis, 'navigator', () => ({ userAgent: 'Cloudflare-Workers' }));
  assert.throws(create({ live: true }), { name: 'TypeError', message: /Cloudflare/ });
});
