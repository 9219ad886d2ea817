// Requests wait for one proof, are sent once more after it, and fail with their refusal after Cancel.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { acrossStepUps, stepUp, wasDeclined } from './step-up.ts';

const refusal = (acr: string): Error =>
  Object.assign(new Error('Confirm that it is you.'), {
    code: 'step_up_required',
    body: { step_up: { required_acr: acr, max_age: 600 } },
  });

/** A request that is refused so often before it succeeds. */
function refusedRequest(times: number, acr = 'aal2'): { send: () => Promise<string>; sent: () => number } {
  let sent = 0;
  return {
    sent: () => sent,
    send: async () => {
      sent += 1;
      if (sent <= times) throw refusal(acr);
      return 'done';
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a request that is not refused asks for nothing', async () => {
  assert.equal(await acrossStepUps('GET /a', async () => 'read'), 'read');
  assert.equal(stepUp.current(), null);
});

test('one question is asked for all that wait, at the highest level, and each is sent once more', async () => {
  const changes: unknown[] = [];
  const stop = stepUp.subscribe(() => changes.push(stepUp.current()));
  const [first, second] = [refusedRequest(1, 'aal1'), refusedRequest(1, 'phr')];
  const answers = Promise.all([
    acrossStepUps('POST /first', first.send),
    acrossStepUps('GET /second', second.send),
  ]);
  await turn();
  assert.deepEqual(stepUp.current(), { operation: 'POST /first', acr: 'phr' });
  stepUp.done();
  assert.deepEqual(await answers, ['done', 'done']);
  assert.deepEqual([first.sent(), second.sent()], [2, 2]);
  assert.equal(stepUp.current(), null);
  assert.equal(changes.at(-1), null);
  stop();
});

test('a second refusal is not asked about again', async () => {
  const request = refusedRequest(2);
  const answer = acrossStepUps('POST /a', request.send);
  await turn();
  stepUp.done();
  await assert.rejects(answer, { code: 'step_up_required' });
  assert.equal(request.sent(), 2);
});

test('after Cancel a request fails, and reads ask again only when the person tries again', async () => {
  const answer = acrossStepUps('POST /a', refusedRequest(1).send);
  await turn();
  stepUp.cancel();
  await assert.rejects(answer, (error) => wasDeclined(error));
  for (const read of [
    acrossStepUps('GET /b', refusedRequest(1).send),
    acrossStepUps('POST /preview', refusedRequest(1).send, { isRead: true }),
  ])
    await assert.rejects(read, (error) => !wasDeclined(error));
  stepUp.allowAgain();
  const again = acrossStepUps('GET /b', refusedRequest(1).send);
  await turn();
  stepUp.done();
  assert.equal(await again, 'done');
});

test('a request that is no longer wanted does not wait', async () => {
  const controller = new AbortController();
  const answer = acrossStepUps('GET /a', refusedRequest(1).send, { signal: controller.signal });
  await turn();
  controller.abort(new Error('gone'));
  await assert.rejects(answer, { message: 'gone' });
  assert.equal(stepUp.current(), null);
});

test('other failures pass', async () => {
  const other = Object.assign(new Error('No.'), { code: 'permission_denied', body: {} });
  await assert.rejects(
    acrossStepUps('GET /a', async () => {
      throw other;
    }),
    other,
  );
});
