// Wrong codes, set-ups and removals of one account at the same moment, at two instances. The hardening suite has the right proofs.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  beginSignIn,
  codeOf,
  forgetStep,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { readyClient } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { volley } from '@castellan/testing/volley';

const service = await startTestService({ after });
const other = await service.another();

const SHOTS = 30;

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
