// What a passkey tells about itself at each use: a counter that must rise, unless it is synced, and whether it is.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import type { AssertionTweaks } from '@castellan/testing/passkeys/authenticator';
import {
  addPasskeyUser,
  PASSKEY_URL,
  type PasskeyUser,
  passkeySignIn,
} from '@castellan/testing/passkeys/own';
import { eventsOf } from '@castellan/testing/sessions/audit-events';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });

const use = async (user: PasskeyUser, tweaks: AssertionTweaks): Promise<string | number> => {
  const answer = await passkeySignIn(service.client(), user.authenticator, tweaks);
  return answer.body.code ?? answer.status;
};
const storedOf = async ({ passkeyId }: PasskeyUser): Promise<number> => {
  const [row] = await service.sql<{ sign_count: string }>('select sign_count from passkeys where id = $1', [
    passkeyId,
  ]);
  return Number(row?.sign_count);
};
const regressionsOf = async (user: PasskeyUser): Promise<unknown[]> =>
  (await eventsOf(service, 'passkey_counter_regressed', user)).map(({ details }) => details.accepted);

test('a counter that does not rise refuses a passkey that is not synced', async () => {
  const user = await addPasskeyUser(service);
  assert.equal(await use(user, { signCount: 7 }), 200);
  for (const signCount of [7, 6, 0]) assert.equal(await use(user, { signCount }), 'passkey_refused');
  assert.equal(await storedOf(user), 7);
  assert.equal(await use(user, { signCount: 8 }), 200);
  assert.equal(await storedOf(user), 8);
  assert.deepEqual(await regressionsOf(user), [false, false, false]);
  const [event] = await eventsOf(service, 'passkey_counter_regressed', user);
  assert.equal(event?.details.passkey_id, user.passkeyId);
});

test('a copy that says it is synced is refused all the same', async () => {
  const user = await addPasskeyUser(service);
  assert.equal(await use(user, { signCount: 7 }), 200);
  assert.equal(await use(user, { signCount: 7, backupEligible: true, backedUp: true }), 'passkey_refused');
  assert.deepEqual(await eventsOf(service, 'passkey_backup_changed', user), []);
});

test('a synced passkey may count on each device: it is noted, and the highest count kept', async () => {
  const user = await addPasskeyUser(service, { isSynced: true });
  for (const signCount of [0, 0, 5, 3, 0]) assert.equal(await use(user, { signCount }), 200);
  assert.equal(await storedOf(user), 5);
  assert.deepEqual(await regressionsOf(user), [true, true]);
});

test('a passkey that does not count is no copy', async () => {
  const user = await addPasskeyUser(service, { isSynced: true });
  for (let count = 0; count < 3; count += 1) assert.equal(await use(user, {}), 200);
  assert.deepEqual(await regressionsOf(user), []);
});

test('a passkey that becomes synced, or no longer is, is accepted and noted once', async () => {
  const user = await addPasskeyUser(service);
  assert.equal(await use(user, { backupEligible: true, backedUp: false }), 200);
  assert.equal(await use(user, { backupEligible: true, backedUp: true }), 200);
  const shown = (await user.client.get('/api/v1/auth/factors')).body.data.passkeys[0];
  assert.equal(shown.backed_up, true);
  assert.ok(Date.parse(shown.last_used_at) > Date.parse(shown.created_at));
  assert.equal(await use(user, { backupEligible: false, backedUp: false }), 200);
  const events = await eventsOf(service, 'passkey_backup_changed', user);
  assert.deepEqual(
    events.map(({ details }) => [details.backup_eligible, details.backed_up]),
    [
      [true, false],
      [false, false],
    ],
  );
});
