// After a move of the service, an account is judged by the passkeys that work here, wherever a requirement is told or counted.
// What browsers are asked for after a move: domains.test.ts.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { type Authenticator, createAuthenticator } from '@castellan/testing/passkeys/authenticator';
import { beginSecondStep, passkeySignIn, register } from '@castellan/testing/passkeys/own';
import { completeSignIn, keepTokens } from '@castellan/testing/second-factors/app';
import { requireOfRole } from '@castellan/testing/second-factors/requirements';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';

const OLD = 'old.example';
const NEW = 'new.example';
const PUBLIC_URL = `https://${NEW}`;
const onNew = { clientData: { origin: PUBLIC_URL } };
const old = await startTestService({ after }, { PUBLIC_URL: `https://${OLD}` });
const moved = await old.another({ PUBLIC_URL, PASSKEY_FORMER_RP_IDS: OLD });
const forgetful = await old.another({ PUBLIC_URL });

type Mover = Person & { authenticator: Authenticator; passkeyId: string; recoveryCodes: string[] };

/** Returns a person whose passkey was made before the service moved. */
async function addMover(state: Parameters<typeof addPerson>[1] = {}): Promise<Mover> {
  const person = await addPerson(old, state);
  const authenticator = createAuthenticator({ rpId: OLD, origin: `https://${OLD}` });
  const { passkey, recovery_codes: recoveryCodes } = await register(await signIn(old, person), authenticator);
  return { ...person, authenticator, passkeyId: passkey.id, recoveryCodes };
}

/** Adds a passkey of the present domain. */
async function addNewPasskey(mover: Mover): Promise<{ authenticator: Authenticator; passkeyId: string }> {
  const client = await signInOn(moved, mover.authenticator, onNew);
  const authenticator = createAuthenticator({ rpId: NEW, origin: PUBLIC_URL });
  const { passkey } = await register(client, authenticator);
  return { authenticator, passkeyId: passkey.id };
}

async function signInOn(
  service: TestService,
  authenticator: Authenticator,
  tweaks: typeof onNew | Record<string, never> = {},
): Promise<TestClient> {
  const client = service.client();
  const answer = await passkeySignIn(client, authenticator, tweaks);
  assert.equal(answer.status, 200, answer.text);
  keepTokens(client, answer);
  return client;
}

/** Returns a client that signed in with the password and a recovery code, and what the sign-in told. */
async function signInByCode(service: TestService, mover: Mover) {
  const client = service.client();
  const { token } = await beginSecondStep(client, mover);
  const answer = await completeSignIn(client, token, { recovery_code: mover.recoveryCodes.pop() });
  assert.equal(answer.status, 200, answer.text);
  keepTokens(client, answer);
  return { client, told: answer.body.data.second_factor };
}

const useUpCodes = ({ id }: Person) =>
  old.sql('update recovery_codes set used_at = now() where user_id = $1', [id]);

test('holders of a role that requires a passkey are told to add one where theirs cannot be used, and to use it where it can', async () => {
  const role = await addRole(old, 'role.read');
  const mover = await addMover({ roles: [role] });
  await requireOfRole(old, role, 'phr');
  for (const [service, code, isMet] of [
    [moved, 'step_up_required', true],
    [forgetful, 'second_factor_enrolment_required', false],
  ] as const) {
    const { client, told } = await signInByCode(service, mover);
    assert.deepEqual([told.required_acr, told.enrolled], ['phr', isMet]);
    const refused = await client.get('/api/v1/roles');
    assert.deepEqual([refused.status, refused.body.code], [403, code]);
    const { requirement } = (await client.get('/api/v1/auth/factors')).body.data;
    assert.deepEqual([requirement.required_acr, requirement.met], ['phr', isMet]);
  }
  const { client } = await signInByCode(forgetful, mover);
  await register(client, createAuthenticator({ rpId: NEW, origin: PUBLIC_URL }));
  assert.equal((await client.get('/api/v1/auth/factors')).body.data.requirement.met, true);
});

test('the last passkey that can be used stays while a role requires one', async () => {
  const role = await addRole(old);
  const mover = await addMover({ roles: [role] });
  const added = await addNewPasskey(mover);
  await requireOfRole(old, role, 'phr');
  const remove = async (service: TestService, id: string) => {
    const client = await signInOn(service, added.authenticator);
    return client.delete(`/api/v1/auth/factors/passkeys/${id}`);
  };
  const refused = await remove(forgetful, added.passkeyId);
  assert.deepEqual([refused.status, refused.body.code], [409, 'last_factor']);
  assert.equal((await remove(forgetful, mover.passkeyId)).status, 200);
  const other = await addMover({ roles: [role] });
  const { authenticator, passkeyId } = await addNewPasskey(other);
  const client = await signInOn(moved, authenticator);
  assert.equal((await client.delete(`/api/v1/auth/factors/passkeys/${passkeyId}`)).status, 200);
});

test('without a recovery code, a passkey that cannot be used leaves no method, and the password alone signs nobody in', async () => {
  const mover = await addMover();
  await useUpCodes(mover);
  const client = forgetful.client();
  const { methods, passkey, token } = await beginSecondStep(client, mover);
  assert.deepEqual([methods, passkey], [[], undefined]);
  const tried = await completeSignIn(client, token, { totp: '123456' });
  assert.deepEqual([tried.status, tried.body.code], [422, 'second_factor_invalid']);
  assert.deepEqual((await beginSecondStep(moved.client(), mover)).methods, ['passkey']);
});

test('lists, counts and previews leave out passkeys that cannot be used', async () => {
  const role = await addRole(old);
  const mover = await addMover({ roles: [role] });
  const settled = await addMover({ roles: [role] });
  await addNewPasskey(settled);
  await requireOfRole(old, role, 'phr');
  const { authenticator } = await addNewPasskey(await addMover({ superuser: true }));
  for (const [service, lacking] of [
    [moved, []],
    [forgetful, [mover.id]],
  ] as const) {
    const admin = await signInOn(service, authenticator);
    const missing = await admin.get(`/api/v1/users/list?role_id=${role}&second_factor=missing`);
    assert.deepEqual(
      missing.body.data.items.map(({ id }: Person) => id),
      lacking,
      missing.text,
    );
    const { data: users } = (await admin.get(`/api/v1/users/list?role_id=${role}&include=second_factor`))
      .body;
    const shown = users.items.find(({ id }: Person) => id === mover.id).second_factor;
    assert.deepEqual(
      [shown.on, shown.met, shown.methods],
      lacking.length === 0 ? [true, true, ['passkey', 'recovery_code']] : [true, false, ['recovery_code']],
    );
    const { roles } = (await admin.get('/api/v1/authentication/requirements')).body.data;
    const listed = roles.find((one: { role: { id: string } }) => one.role.id === role);
    assert.deepEqual([listed.holders, listed.without_factor], [2, lacking.length]);
    const body = { required_acr: 'phr' };
    const preview = await admin.put(`/api/v1/roles/${role}/authentication?dry_run=true`, body);
    assert.deepEqual(
      preview.body.data.impact.subjects.map(({ id }: Person) => id),
      lacking,
      preview.text,
    );
    const { body: attention } = await admin.get('/api/v1/dashboard/attention');
    const { count } = attention.data.items.find(
      ({ code }: { code: string }) => code === 'users_without_required_factor',
    );
    const all = await admin.get('/api/v1/users/list?second_factor=missing&is_active=true&size=100');
    assert.equal(count, all.body.data.total);
  }
});
