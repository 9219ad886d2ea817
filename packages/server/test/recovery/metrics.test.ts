// Metrics of second factors: how many users have one, and what their checks came to.
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ADMIN, signIn, startTestService } from '@castellan/testing/harness';
import {
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  wrongCodeOf,
} from '@castellan/testing/second-factors/app';
import { ageProofs, requireOfPermission } from '@castellan/testing/second-factors/requirements';
import { signedInWith } from '@castellan/testing/users/people';
import { readFigures } from '../../src/metrics/figures-store.ts';
import { countFactorUsers } from '../../src/modules/factors/user-count-store.ts';
import { askSocket, parseMetrics, sampleOf } from '../metrics/prometheus-text.ts';
import { addResetUser } from './fixture.ts';

const folder = await mkdtemp(join(tmpdir(), 'castellan-factor-metrics-'));
const socket = join(folder, 'metrics.sock');
after(() => rm(folder, { recursive: true, force: true }));
const service = await startTestService({ after }, { METRICS_ADDRESS: `unix:${socket}` });
await service.service.scheduler.stop();
const { db } = service.service.deps;

test('users with a factor and the checks of factors are counted', async () => {
  const user = await addAppUser(service);
  const reset = await addResetUser(service, await signIn(service, ADMIN));
  const client = service.client();
  const token = await beginSignIn(client, user);
  const totp = codeOf(user.secret);
  await completeSignIn(client, token, { totp: wrongCodeOf(user.secret) });
  await completeSignIn(client, token, { totp });
  await completeSignIn(client, await beginSignIn(client, user), { totp });
  const pending = await beginSignIn(client, reset.user);
  await completeSignIn(client, pending, { recovery_token: 'wrong' });
  await completeSignIn(client, pending, { recovery_token: reset.token });

  const found = parseMetrics((await askSocket(socket)).text);
  assert.equal(sampleOf(found, 'castellan_users', { state: 'second_factor' }), 1);
  const checks = (method: string, result: string) =>
    sampleOf(found, 'castellan_second_factor_checks_total', { method, result });
  assert.deepEqual([checks('totp', 'wrong'), checks('totp', 'accepted'), checks('totp', 'used')], [1, 1, 1]);
  assert.deepEqual([checks('recovery_link', 'wrong'), checks('recovery_link', 'accepted')], [1, 1]);
});

test('more than 10,000 users with a factor are those that the job counted', async () => {
  await service.sql('delete from factor_user_counts');
  await service.sql(
    `insert into users (id, email, first_name, last_name, has_factor)
     select gen_random_uuid(), 'f' || n || '@example.com', 'F', 'U', true from generate_series(1, 10000) n`,
  );
  assert.equal((await readFigures(db)).factorUsers, null);
  await countFactorUsers(db);
  assert.equal((await readFigures(db)).factorUsers, 10_001);
});

test('requests are counted that were refused until their user proves more, whatever asked for it', async () => {
  const count = async () =>
    sampleOf(parseMetrics((await askSocket(socket)).text), 'castellan_step_ups_required_total');
  assert.equal(await count(), 0);
  const { client } = await signedInWith(service, 'role.read');
  await requireOfPermission(service, 'role.read', 'aal2');
  assert.equal((await client.get('/api/v1/roles')).body.code, 'step_up_required');
  assert.equal(await count(), 1, 'a permission');
  await requireOfPermission(service, 'role.read', null);
  assert.equal((await client.get('/api/v1/roles')).status, 200);
  assert.equal(await count(), 1, 'a request that was answered');
  const user = await addAppUser(service);
  await ageProofs(service, user, 660);
  const old = await user.client.delete('/api/v1/auth/factors/totp');
  assert.equal(old.body.code, 'step_up_required');
  assert.equal(await count(), 2, 'an operation that needs a fresh proof');
});
