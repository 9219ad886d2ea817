// One challenge, used by many requests at the same moment, at two instances: once. The hardening suite has those that sign in.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { startTestService } from '@castellan/testing/harness';
import { addPasskeyUser, beginSecondStep, PASSKEY_URL } from '@castellan/testing/passkeys/own';
import { liveSessionIds, readyClient } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { volley } from '@castellan/testing/volley';

const service = await startTestService({ after }, { PUBLIC_URL: PASSKEY_URL });
const other = await service.another();
const SHOTS = 30;

const fire = async (client: TestClient, path: string, json: unknown, shots = SHOTS) =>
  codesOf(
    await volley(
      Array.from({ length: shots }, (_, count) => ({
        client: client.at(count % 2 === 0 ? service.url : other.url),
        method: 'POST',
        path,
        json,
      })),
    ),
  );

test('one answer of a passkey, sent 30 times as a second step: one session', async () => {
  const user = await addPasskeyUser(service);
  const before = (await liveSessionIds(service, user.id)).length;
  const client = await readyClient(service);
  const { token, passkey: options } = await beginSecondStep(client, user);
  const passkey = user.authenticator.assert(options);
  const codes = await fire(client, '/api/v1/auth/login/second-factor', { token, passkey });
  assert.deepEqual(codes, { ok: 1, sign_in_expired: SHOTS - 1 });
  assert.equal((await liveSessionIds(service, user.id)).length, before + 1);
  assert.deepEqual(await eventsOf(service, 'passkey_counter_regressed', user), [], 'no sign of a copy');
});

test('one answer of a passkey, sent 20 times as a step-up: one pair of tokens', async () => {
  const user = await addPasskeyUser(service);
  const { passkey: options } = (await user.client.post('/api/v1/auth/step-up/options', {})).body.data;
  const passkey = user.authenticator.assert(options);
  const codes = await fire(user.client, '/api/v1/auth/step-up', { passkey }, 20);
  assert.deepEqual(codes, { ok: 1, passkey_refused: 19 });
  assert.equal((await eventsOf(service, 'step_up_succeeded', user)).length, 1);
});
