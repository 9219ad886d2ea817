// The feed of the stand-in: what a test of somebody's service may rely on with a live guard.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { LiveOptions } from '../../src/index.ts';
import { createTestCastellan } from '../../src/testing.ts';
import { bearing, said, settle, stopClock } from '../guard/live/fake-feed.ts';

const READ = 'orders.read';

async function started(t: TestContext, live?: LiveOptions) {
  const clock = stopClock(t);
  const castellan = createTestCastellan();
  const guard = castellan.liveGuard(live);
  t.after(() => guard.close());
  await guard.ready();
  const ada = castellan.addUser({ email: 'ada@example.com', permissions: [READ] });
  const token = await ada.accessToken();
  const says = (one = token): string => said(guard, one, READ);
  const keep = async (one = token): Promise<void> => {
    await guard.authenticate(bearing(one));
    assert.notEqual(says(one), 'ask');
  };
  await keep();
  assert.equal(says(), 'known');
  return { clock, castellan, guard, ada, token, says, keep };
}

test('one session ends alone, and at once', async (t) => {
  const { ada, guard, token, says, keep } = await started(t);
  const other = await ada.accessToken();
  await keep(other);
  ada.endSession(token);
  await settle();
  assert.deepEqual([says(), says(other)], ['ask', 'known']);
  await assert.rejects(guard.authenticate(bearing(token)), { code: 'invalid_token' });
  assert.throws(() => ada.endSession(token), /no live access token/);
});

test('a change counts at the next request, also in the same turn', async (t) => {
  const { ada, guard, token, says, keep } = await started(t);
  const request = () => new Request('http://orders.test', bearing(token));
  const orders = guard.require(READ).fetch(() => new Response('orders'));
  const identity = await guard.authenticate(bearing(token));
  assert.equal((await orders(request())).status, 200);
  ada.revoke(READ);
  assert.equal(says(), 'ask');
  assert.equal((await orders(request())).status, 403);
  ada.grant(READ);
  assert.equal(await guard.can(identity, READ), true);
  await keep();
  ada.endSession(token);
  await assert.rejects(guard.authenticate(bearing(token)), { code: 'invalid_token' });
});

test('a permission that is taken away or given counts at once, and so do sessions that end', async (t) => {
  const { castellan, ada, guard, says, keep } = await started(t);
  const program = castellan.addProgram({ name: 'Import', permissions: [READ] });
  await keep(program.apiKey);
  ada.revoke(READ);
  program.revoke(READ);
  await settle();
  await keep();
  await keep(program.apiKey);
  assert.deepEqual([says(), says(program.apiKey)], ['permission_denied', 'permission_denied']);
  assert.equal(await guard.can({ type: 'user', id: ada.id }, READ), false);
  ada.grant(READ);
  await settle();
  await keep();
  assert.equal(says(), 'known');
  assert.equal(await guard.can({ type: 'user', id: ada.id }, READ), true);
  ada.deactivate();
  program.deactivate();
  await settle();
  assert.deepEqual([says(), says(program.apiKey)], ['ask', 'ask']);
  assert.equal(guard.state().kept, 0);
});

test('a requirement counts at once, and a proof that grows too old asks for a new one', async (t) => {
  const { clock, castellan, ada, says, keep } = await started(t);
  castellan.requireAuthentication(READ, { acr: 'aal2', maxAgeSeconds: 60 });
  await settle();
  await keep();
  assert.equal(says(), 'insufficient_user_authentication');
  const proved = await ada.accessToken({ acr: 'aal2' });
  await keep(proved);
  assert.equal(says(proved), 'known');
  await clock.pass(61_000);
  assert.equal(says(proved), 'ask');
  await keep(proved);
  assert.equal(says(proved), 'insufficient_user_authentication');
});

test('a silent feed leaves a guard to ask, and recover makes up for what it missed', async (t) => {
  const { clock, castellan, ada, guard, says, keep } = await started(t, { maxSilenceMs: 1_500 });
  castellan.silence();
  ada.revoke(READ);
  await settle();
  // This is what a live guard admits for at most maxSilenceMs.
  assert.equal(says(), 'known');
  await clock.pass(1_600);
  assert.equal(says(), 'ask');
  await guard.authenticate(bearing(await ada.accessToken()));
  castellan.recover();
  await clock.pass(20_000);
  await guard.ready();
  await keep();
  assert.equal(says(), 'permission_denied');
});

test('a service that is down takes the feed with it', async (t) => {
  const { clock, castellan, guard, says, keep } = await started(t, { onSilence: 'refuse' });
  castellan.fail('no answer');
  await clock.pass(2_900);
  assert.equal(says(), 'known');
  await clock.pass(200);
  assert.equal(says(), 'unavailable');
  castellan.recover();
  await clock.pass(20_000);
  await guard.ready();
  await keep();
});

test('the feed is for service accounts with access.watch', async (t) => {
  const { castellan, ada } = await started(t);
  const ask = async (key: string | undefined, accept = 'text/event-stream'): Promise<number> => {
    const headers = { accept, ...(key && { authorization: `Bearer ${key}` }) };
    const { status, body } = await castellan.fetch(`${castellan.baseUrl}/api/v1/access/feed`, { headers });
    await body?.cancel();
    return status;
  };
  const plain = castellan.addProgram({ name: 'Plain' });
  const reader = castellan.addProgram({ name: 'Reader', permissions: ['access.watch'] });
  ada.grant('access.watch');
  assert.deepEqual(
    [
      await ask(undefined),
      await ask(plain.apiKey),
      await ask(await ada.accessToken()),
      await ask(reader.apiKey, 'application/json'),
      await ask(reader.apiKey),
    ],
    [401, 403, 403, 406, 200],
  );
});
