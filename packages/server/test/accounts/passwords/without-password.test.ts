// Accounts without a password: nothing tells them from others before a sign-in, and nothing asks them for a password that they
// cannot have.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { linkTo, paths, strongPasswords } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { ADMIN, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { codeOf, enrol, forgetStep, keepTokens } from '@castellan/testing/second-factors/app';
import { isAccepted } from '@castellan/testing/sessions/accounts';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson, eventsOf, type Person } from '@castellan/testing/users/people';
import { exportRecords, importUsers } from '../../../src/modules/transfer/service.ts';

const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const [NEW] = strongPasswords;
const STEP_UP = '/api/v1/auth/step-up';
const APP = '/api/v1/auth/factors/totp';

/** Returns a signed-in user whose password is gone. */
async function withoutPassword(
  state: Parameters<typeof addPerson>[1] = {},
): Promise<{ person: Person; client: TestClient }> {
  const person = await addPerson(service, state);
  const client = await signIn(service, person);
  await service.sql('update users set password_hash = null where id = $1', [person.id]);
  return { person, client };
}

const beginEarlier = async ({ id }: Person) => {
  await service.sql("update sessions set created_at = created_at - interval '1 hour' where user_id = $1", [
    id,
  ]);
  await service.sql(
    "update session_tokens set auth_time = auth_time - interval '1 hour' where user_id = $1",
    [id],
  );
};

const failuresOf = async ({ email }: Person): Promise<number> => {
  const [row] = await service.sql<{ failures: number }>(
    'select failures from login_attempts where email = $1',
    [email],
  );
  return row?.failures ?? 0;
};

test('a sign-in hashes and answers as with a wrong password, and counts', async () => {
  const { person } = await withoutPassword();
  const other = await addPerson(service);
  const answers = [];
  for (const { email } of [person, other]) {
    const before = service.service.deps.hasher.stats().verifications;
    const answer = await service.client().post('/api/v1/auth/login', { email, password: NEW });
    assert.equal(service.service.deps.hasher.stats().verifications - before, 1);
    const { request_id: _id, ...body } = answer.body;
    answers.push({ status: answer.status, body });
  }
  assert.deepEqual(answers[0], answers[1]);
  assert.equal(answers[0]?.body.code, 'invalid_credentials');
  assert.equal(await failuresOf(person), 1);
  for (const password of ['', 'null', PASSWORD])
    assert.ok(
      (await service.client().post('/api/v1/auth/login', { email: person.email, password })).status >= 400,
    );
});

test('there is no password to change, and nothing counts', async () => {
  const { person, client } = await withoutPassword();
  for (const current_password of [PASSWORD, '', 'null'])
    assertRefused(
      await client.post(paths.changePassword, { current_password, new_password: NEW }),
      400,
      'no_password',
    );
  assert.equal(await failuresOf(person), 0);
  assert.equal(await isAccepted(service, client.accessToken ?? ''), true);
});

test('the mail of a reset gives one, with which the account signs in and changes it', async () => {
  const { person, client } = await withoutPassword();
  const asked = await service.client().post(paths.requestReset, { email: person.email });
  assert.equal(asked.status, 200);
  const token = await linkTo(service, person.email, 'password_reset');
  const reset = await service.client().post(paths.confirmReset, { token, new_password: NEW });
  assert.equal(reset.status, 200, reset.text);
  assert.equal(await isAccepted(service, client.accessToken ?? ''), false, 'its sessions ended');
  const again = await signIn(service, { ...person, password: NEW });
  const changed = await again.post(paths.changePassword, {
    current_password: NEW,
    new_password: strongPasswords[1],
  });
  assert.equal(changed.status, 200, changed.text);
});

test('an administrator sets one', async () => {
  const { person, client } = await withoutPassword();
  const set = await admin.put(`/api/v1/users/${person.id}`, { password: NEW });
  assert.equal(set.status, 200, set.text);
  assert.equal(await isAccepted(service, client.accessToken ?? ''), false);
  await signIn(service, { ...person, password: NEW });
  assert.ok((await eventsOf(service, set)).some(({ action }) => action === 'password_set_by_admin'));
});

test('without a password and without a factor, only a recent sign-in is a proof', async () => {
  const { person, client } = await withoutPassword();
  assert.equal((await client.post(APP)).status, 201, 'the sign-in was a moment ago');
  assertRefused(await client.post(`${STEP_UP}/options`, {}), 400, 'no_password');
  assertRefused(await client.post(`${STEP_UP}/options`, { acr: 'aal1' }), 400, 'no_password');
  assertRefused(
    await client.post(`${STEP_UP}/options`, { acr: 'aal2' }),
    403,
    'second_factor_enrolment_required',
  );
  assertRefused(await client.post(STEP_UP, { password: PASSWORD }), 400, 'no_password');
  assert.equal(await failuresOf(person), 0);
  await beginEarlier(person);
  assertRefused(await client.post(APP), 403, 'step_up_required');
  assertRefused(await client.post(`${APP}/confirm`, { totp: '000000' }), 403, 'step_up_required');
});

test('an account with a factor and no password proves itself by the factor', async () => {
  const { person, client } = await withoutPassword();
  await service.sql("update sessions set proof = 'provider' where user_id = $1", [person.id]);
  const { secret } = await enrol(client);
  await forgetStep(service, person);
  const { claims } = readToken(client.accessToken ?? '');
  assert.deepEqual([claims.acr, claims.amr], ['aal2', ['fed', 'otp', 'mfa']], 'it knew no password');
  await beginEarlier(person);
  assertRefused(await client.delete(APP), 403, 'step_up_required');
  assert.deepEqual((await client.post(`${STEP_UP}/options`, {})).body.data.methods, [
    'totp',
    'recovery_code',
  ]);
  assertRefused(await client.post(STEP_UP, { password: PASSWORD }), 422, 'validation_failed');
  const proved = await client.post(STEP_UP, { totp: codeOf(secret) });
  assert.equal(proved.status, 200, proved.text);
  assert.deepEqual(readToken(proved.body.data.access_token).claims.amr, ['fed', 'otp', 'mfa']);
  client.accessToken = proved.body.data.access_token;
  keepTokens(client, await client.delete(APP));
  const [session] = (await client.get('/api/v1/auth/sessions')).body.data;
  assert.deepEqual(session.methods, ['provider', 'totp']);
});

test('must_change_password waits until there is a password', async () => {
  const { person, client } = await withoutPassword({ superuser: true });
  const demanded = await admin.put(`/api/v1/users/${person.id}`, { must_change_password: true });
  assert.deepEqual([demanded.status, demanded.body.data.must_change_password], [200, true]);
  assert.equal((await client.get('/api/v1/roles')).status, 200);
  const created = await client.post('/api/v1/role-groups', { name: `Open to ${person.id}` });
  assert.equal(created.status, 201, 'also inside the transaction of a change');
  await admin.put(`/api/v1/users/${person.id}`, { password: NEW });
  const again = await signIn(service, { ...person, password: NEW });
  assertRefused(await again.get('/api/v1/roles'), 403, 'password_change_required');
});

test('an export and an import leave the account without a password', async () => {
  const { person } = await withoutPassword();
  let exported: Record<string, unknown> | undefined;
  const write = async (text: string) => {
    for (const line of text.split('\n').filter((one) => one !== '')) {
      const record: Record<string, unknown> = JSON.parse(line);
      if (record.email === person.email) exported = record;
    }
  };
  await exportRecords(service.service.deps, 'users', { withPasswordHashes: true }, write);
  assert.equal(exported?.password_hash, null);
  const email = `copy-${person.email}`;
  const { db, auditLog, settings } = service.service.deps;
  const rows = (async function* () {
    yield { row: 1, value: { ...exported, id: undefined, email } };
  })();
  const options = { source: 'file', dryRun: false, privileged: true, withoutPasswords: false };
  await importUsers({ db, auditLog, settings }, rows, options, async (verdicts) => {
    assert.deepEqual(
      verdicts.map(({ verdict }) => verdict),
      ['created'],
    );
  });
  assert.deepEqual(await service.sql('select password_hash from users where email = $1', [email]), [
    { password_hash: null },
  ]);
});
