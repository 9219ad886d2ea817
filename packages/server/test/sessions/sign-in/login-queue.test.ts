// A full queue of password checks refuses a sign-in before it costs the database anything.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { HashPlace } from '@castellan/server/platform/security/password-hasher';
import { ADMIN, startTestService } from '@castellan/testing/harness';
import { statementsOf } from '@castellan/testing/statements';

const service = await startTestService({ after }, { RATE_LIMIT_LOGIN: 'off' });
const { hasher } = service.service.deps;

/** Takes every free place of the queue. */
function takeAll(): HashPlace[] {
  const places: HashPlace[] = [];
  try {
    for (;;) places.push(hasher.reserve());
  } catch {
    return places;
  }
}

test('a sign-in is refused without a statement while every place is taken, and succeeds afterwards', async () => {
  const client = service.client();
  const places = takeAll();
  const statements = await statementsOf(async () => {
    const answer = await client.login(ADMIN);
    assert.equal(answer.status, 503);
    assert.equal(answer.body.code, 'overloaded');
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
  });
  assert.deepEqual(statements, []);
  for (const place of places) place.free();
  assert.equal((await client.login(ADMIN)).status, 200);
});

test('a sign-in gives its place back, however it ends', async () => {
  const before = takeAll();
  for (const place of before) place.free();
  const client = service.client();
  assert.equal((await client.login(ADMIN)).status, 200);
  for (let attempts = 0; attempts < 6; attempts += 1) await client.login({ ...ADMIN, password: 'wrong' });
  assert.equal((await client.login(ADMIN)).body.code, 'account_locked');
  const afterwards = takeAll();
  for (const place of afterwards) place.free();
  assert.equal(afterwards.length, before.length);
});
