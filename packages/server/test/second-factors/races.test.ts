// One code, one recovery code and one sign-in, used by many requests at the same moment: one session.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  forgetStep,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { liveSessionIds, readyClient } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { volley } from '@castellan/testing/volley';

const service = await startTestService({ after });
const other = await service.another();

const SHOTS = 30;

/** Fires the proof from `SHOTS` browsers, each with a sign-in of its own, at two instances. */
async function fromManyBrowsers(user: AppUser, proof: Record<string, unknown>) {
  const shots = [];
  for (let count = 0; count < SHOTS; count += 1) {
    const client = (await readyClient(service)).at(count % 2 === 0 ? service.url : other.url);
    const token = await beginSignIn(client, user);
    shots.push({
      client,
      method: 'POST',
      path: '/api/v1/auth/login/second-factor',
      json: { token, ...proof },
    });
  }
  return codesOf(await volley(shots));
}

test('one code of the app, used by 30 sign-ins: one session', async () => {
  const user = await addAppUser(service);
  const before = (await liveSessionIds(service, user.id)).length;
  const codes = await fromManyBrowsers(user, { totp: codeOf(user.secret) });
  assert.deepEqual(codes, { ok: 1, code_already_used: SHOTS - 1 });
  assert.equal((await liveSessionIds(service, user.id)).length, before + 1);
});

test('one recovery code, used by 30 sign-ins: one session', async () => {
  const user = await addAppUser(service);
  const codes = await fromManyBrowsers(user, { recovery_code: user.recoveryCodes[0] });
  assert.deepEqual(codes, { ok: 1, second_factor_invalid: SHOTS - 1 });
});

test('one sign-in, completed by 30 requests with different proofs: one session', async () => {
  const user = await addAppUser(service);
  const client = await readyClient(service);
  const token = await beginSignIn(client, user);
  const before = (await liveSessionIds(service, user.id)).length;
  const proofs = Array.from({ length: SHOTS }, (_, n) => ({ recovery_code: user.recoveryCodes[n % 10] }));
  const answers = await volley(
    proofs.map((proof, n) => ({
      client: client.at(n % 2 === 0 ? service.url : other.url),
      method: 'POST',
      path: '/api/v1/auth/login/second-factor',
      json: { token, ...proof },
    })),
  );
  assert.equal(codesOf(answers).ok, 1);
  assert.equal((await liveSessionIds(service, user.id)).length, before + 1);
});

test('30 wrong codes at once: five are verified and counted for the sign-in', async () => {
  const user = await addAppUser(service);
  const client = await readyClient(service);
  const token = await beginSignIn(client, user);
  const answers = await volley(
    Array.from({ length: SHOTS }, (_, n) => ({
      client: client.at(n % 2 === 0 ? service.url : other.url),
      method: 'POST',
      path: '/api/v1/auth/login/second-factor',
      json: { token, totp: wrongCodeOf(user.secret) },
    })),
  );
  assert.equal(codesOf(answers).second_factor_invalid, 5);
  const [row] = await service.sql<{ total: number }>('select total from factor_attempts where user_id = $1', [
    user.id,
  ]);
  assert.equal(row?.total, 5);
});

test('two first set-ups confirmed at once leave one set of recovery codes that works', async () => {
  const user = await addAppUser(service);
  await user.client.delete('/api/v1/auth/factors/totp').then(({ body }) => {
    user.client.accessToken = body.data.access_token;
  });
  const begun = await user.client.post('/api/v1/auth/factors/totp');
  const totp = codeOf(begun.body.data.secret);
  const shot = {
    client: user.client,
    method: 'POST',
    path: '/api/v1/auth/factors/totp/confirm',
    json: { totp },
  };
  const answers = await volley([shot, { ...shot, client: user.client.at(other.url) }]);
  const [won] = answers.filter(({ status }) => status === 200);
  assert.equal(answers.filter(({ status }) => status === 200).length, 1, JSON.stringify(codesOf(answers)));
  const [row] = await service.sql<{ count: number }>(
    'select count(*)::int as count from recovery_codes where user_id = $1',
    [user.id],
  );
  assert.deepEqual([won?.body.data.recovery_codes.length, row?.count], [10, 10]);
});

test('the app removed twice at once is removed once', async () => {
  const user = await addAppUser(service);
  await forgetStep(service, user);
  const shot = { client: user.client, method: 'DELETE', path: '/api/v1/auth/factors/totp' };
  const answers = await volley([shot, { ...shot, client: user.client.at(other.url) }]);
  assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 401]);
});
