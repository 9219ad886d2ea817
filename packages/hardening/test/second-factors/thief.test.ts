// Somebody holds tokens of a session, and often the password with them. They gain nothing of the owner's second factor: no
// change of it, no younger proof, no code that was used before. It must not ask what an ended session opens: test/tokens does.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { freshPermissions } from '@castellan/contract/permissions';
import type { Answer, TestClient } from '@castellan/testing/client';
import { assertSound } from '@castellan/testing/invariants';
import {
  addPasskeyUser,
  age,
  PASSKEY_URL,
  passkeySignIn,
  passkeyStepUp,
} from '@castellan/testing/passkeys/own';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import {
  type AppUser,
  addAppUser,
  beginSignIn,
  codeOf,
  completeSignIn,
  keepTokens,
} from '@castellan/testing/second-factors/app';
import {
  browserWith,
  deviceTokens,
  passwordAlone,
  signInByApp,
  trustedBrowser,
} from '@castellan/testing/second-factors/devices';
import {
  addStrong,
  requireOfPermission,
  requireOfRole,
} from '@castellan/testing/second-factors/requirements';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import { readToken } from '@castellan/testing/sessions/own-tokens';
import { addPerson, addRole } from '@castellan/testing/users/people';
import { openPair } from '../fixture.ts';
import { AUTH, type Owner, owners, stateOf } from './fixture.ts';

const scenario = scenariosOf('factors');
const { service, twin, admin } = await openPair(
  { after },
  { PUBLIC_URL: PASSKEY_URL, CONCURRENT_SESSION_LIMIT: '0' },
);
const NEW_PASSWORD = 'Copper+Violin95Moss';
const FACTORS = `${AUTH}/factors`;

/** Everything that changes a factor, as far as it is answered before its proof is looked at. */
const changesOf = async (client: TestClient, passkeyId: string): Promise<Answer[]> => [
  await client.post(`${FACTORS}/totp`),
  await client.post(`${FACTORS}/totp/confirm`, { totp: '123456' }),
  await client.delete(`${FACTORS}/totp`),
  await client.post(`${FACTORS}/passkeys/options`, { kind: 'passkey' }),
  await client.post(`${FACTORS}/passkeys/options`, { kind: 'security_key' }),
  await client.post(`${FACTORS}/passkeys`, { kind: 'passkey', passkey: {} }),
  await client.delete(`${FACTORS}/passkeys/${passkeyId}`),
  await client.post(`${FACTORS}/recovery-codes`),
];

function assertAllAskForProof(answers: readonly Answer[], what: string): void {
  for (const { status, body, text } of answers)
    assert.deepEqual([status, body.code], [403, 'step_up_required'], `${what}: ${text}`);
}

/** Returns the id of a passkey of the owner, or one that nobody has. */
async function passkeyOf({ id }: Owner): Promise<string> {
  const [row] = await service.sql<{ id: string }>('select id from passkeys where user_id = $1', [id]);
  return row?.id ?? '00000000-0000-4000-8000-000000000000';
}

scenario('a stolen session and the password change no factor, at whichever instance', async (tally) => {
  for (const [kind, addOwner] of Object.entries(owners)) {
    const owner = await addOwner(service);
    await age(service, owner);
    const before = await stateOf(service, owner);
    const passkeyId = await passkeyOf(owner);
    for (const { url } of [service, twin]) {
      const thief = owner.client.at(url);
      const answers = await changesOf(thief, passkeyId);
      assertAllAskForProof(answers, kind);
      const byPassword = await thief.post(`${AUTH}/step-up`, { password: owner.password });
      assert.deepEqual([byPassword.status, byPassword.body.code], [422, 'validation_failed']);
      tally.tried(answers.length + 1);
      tally.held(answers.length + 1);
    }
    assert.deepEqual(await stateOf(service, owner), before, kind);
    tally.held();
  }
  tally.held(await assertSound(service));
});

/** What makes new tokens without a proof of the factor. Each returns those. */
const renewals: Record<string, (thief: TestClient, owner: Owner) => Promise<Answer>> = {
  'a refresh': (thief) => thief.post(`${AUTH}/refresh`, { refresh_token: thief.refreshToken }),
  'an access token by the cookie': (thief) => thief.post(`${AUTH}/new_access_token`),
  'an access token by the body': (thief) =>
    thief.post(`${AUTH}/new_access_token`, { refresh_token: thief.refreshToken }),
  'a change of the password': (thief, { password }) =>
    thief.post(`${AUTH}/change_password`, { current_password: password, new_password: NEW_PASSWORD }),
};

scenario('no renewal of tokens makes a proof younger or stronger', async (tally) => {
  for (const [what, renew] of Object.entries(renewals))
    for (const addOwner of Object.values(owners)) {
      const owner = await addOwner(service);
      await age(service, owner);
      const thief = owner.client;
      const { acr, amr, auth_time } = readToken(await oldToken(thief)).claims;
      const answer = await renew(thief, owner);
      assert.equal(answer.status, 200, answer.text);
      const renewed = readToken(answer.body.data.access_token).claims;
      assert.deepEqual([renewed.acr, renewed.amr, renewed.auth_time], [acr, amr, auth_time], what);
      thief.accessToken = answer.body.data.access_token;
      assertAllAskForProof(await changesOf(thief, await passkeyOf(owner)), what);
      tally.tried(9);
      tally.held(9);
    }
  tally.held(await assertSound(service));
});

/** The first refresh gives a token whose claims are those of the aged row. */
async function oldToken(thief: TestClient): Promise<string> {
  const answer = await thief.post(`${AUTH}/refresh`, { refresh_token: thief.refreshToken });
  keepTokens(thief, answer);
  return answer.body.data.access_token;
}

scenario('a step-up of the owner raises no copy of the tokens that somebody else holds', async (tally) => {
  for (let round = 0; round < rounds(2, 12); round += 1) {
    const user = await addStrong(service, 'role.read');
    await age(service, user);
    const thief = service.client().at((round % 2 ? service : twin).url);
    thief.accessToken = user.client.accessToken;
    thief.refreshToken = user.client.refreshToken;
    const proved = await user.client.post(`${AUTH}/step-up`, { totp: codeOf(user.secret) });
    keepTokens(user.client, proved);
    const asks = async (): Promise<void> => {
      assertAllAskForProof([await thief.post(`${FACTORS}/recovery-codes`)], 'the copy');
      tally.tried();
      tally.held();
    };
    await asks();
    await oldToken(thief);
    await asks();
    // The owner goes on with the tokens of the step-up.
    assert.equal((await user.client.post(`${FACTORS}/recovery-codes`)).status, 201);
    tally.held();
  }
  tally.held(await assertSound(service));
});

scenario(
  'the owner of an account with a factor is the only one who moves its address, also by requests for many',
  async (tally) => {
    const user = await addStrong(service, 'users.update', 'user.update', 'self.update_profile');
    await age(service, user);
    const before = await stateOf(service, user);
    const updates: [string, object][] = [
      [`/api/v1/users/${user.id}`, { email: 'thief@example.com' }],
      [`/api/v1/users/${user.id.toUpperCase()}`, { email: 'thief@example.com', first_name: 'Eve' }],
      ['/api/v1/users/bulk-update', { users: [{ id: user.id, email: 'thief@example.com' }] }],
      ['/api/v1/users/bulk-update', { user_ids: [user.id], updates: { email: 'thief@example.com' } }],
    ];
    for (const [path, body] of updates) {
      const answer = await user.client.put(path, body);
      assert.ok(answer.status === 403 || answer.status === 400, answer.text);
      assert.deepEqual(await stateOf(service, user), before);
      tally.tried();
      tally.held(2);
    }
    const me = await user.client.put('/api/v1/users/me', { email: 'thief@example.com' });
    assert.equal(me.status, 400, me.text);
    tally.tried();
    tally.held();
  },
);

type Place = (user: AppUser, totp: string) => Promise<Answer>;
const places: Record<string, Place> = {
  'a sign-in': async (user, totp) => {
    const client = service.client();
    return completeSignIn(client, await beginSignIn(client, user), { totp });
  },
  'a sign-in at the other instance': async (user, totp) => {
    const client = twin.client();
    return completeSignIn(client, await beginSignIn(client, user), { totp });
  },
  'a step-up': (user, totp) => user.client.post(`${AUTH}/step-up`, { totp }),
};

scenario(
  'a code that somebody read over a shoulder is worth nothing once its owner has used it',
  async (tally) => {
    for (const [used, use] of Object.entries(places))
      for (const [replayed, replay] of Object.entries(places)) {
        const user = await addAppUser(service);
        // The code of the next step is accepted too, and both stay in the window while this runs.
        const [before, totp] = [codeOf(user.secret), codeOf(user.secret, 1)];
        assert.equal((await use(user, totp)).status, 200, used);
        const answer = await replay(user, totp);
        assert.deepEqual(
          [answer.status, answer.body.code],
          [422, 'code_already_used'],
          `${used}, ${replayed}`,
        );
        // Nor is the code of the step before it.
        const earlier = await replay(user, before);
        assert.deepEqual([earlier.status, earlier.body.code], [422, 'code_already_used']);
        tally.tried(3);
        tally.held(2);
      }
    tally.held(await assertSound(service));
  },
);

scenario(
  'a session below what its account requires opens nothing at other services either',
  async (tally) => {
    const machine = await addServiceAccount(service, { permissions: ['token.introspect', 'access.check'] });
    const headers = { authorization: `Bearer ${machine.key}` };
    for (const acr of ['aal2', 'phr'] as const) {
      const role = await addRole(service, 'role.read');
      const person = await addPerson(service, { roles: [role] });
      const client = service.client();
      await client.login(person);
      await requireOfRole(service, role, acr);
      const token = client.accessToken ?? '';
      for (const where of [service, twin]) {
        for (const fields of [{ token }, { token, include: 'permissions' }]) {
          const told = await postForm(where, 'introspect', fields, headers);
          assert.deepEqual(told.body, { active: false });
        }
        for (const path of ['/api/v1/access/forward?permission=role.read', '/api/v1/access/forward'])
          assert.equal((await client.at(where.url).get(path)).status, 403);
        tally.tried(4);
        tally.held(4);
      }
      const own = {
        subject: { type: 'user', id: person.id },
        action: { name: 'read' },
        resource: { type: 'role', id: 'any' },
        context: { acr, auth_time: Math.floor(Date.now() / 1_000) },
      };
      // They may claim whatever they like about themselves.
      const asked = await client.post('/api/v1/access/v1/evaluation', own);
      assert.notEqual(asked.body.decision, true, asked.text);
      tally.tried();
      tally.held();
    }
  },
);

scenario('an administrator with a password alone hands out nothing that they may not use', async (tally) => {
  const guarded = 'audit_log.read';
  const holder = await addRole(service, guarded);
  const boss = await addPerson(service, { superuser: true });
  const thief = service.client();
  await thief.login(boss);
  const account = await addServiceAccount(service, { permissions: [guarded] });
  await requireOfPermission(service, guarded, 'aal2');
  const attempts: [string, object][] = [
    [`/api/v1/service-accounts/${account.id}/keys`, { name: 'mine' }],
    ['/api/v1/service-accounts', { name: 'mine', role_ids: [holder] }],
    ['/api/v1/users', { ...newUser, role_id: [holder] }],
    [`/api/v1/users/${boss.id}/roles`, { role_ids: [holder] }],
    ['/api/v1/access/changes', { changes: [{ user_id: boss.id, add_role_ids: [holder] }] }],
  ];
  for (const [path, body] of attempts) {
    const answer = await thief.post(path, body);
    assert.deepEqual([answer.status, answer.body.code], [403, 'step_up_required'], `${path}: ${answer.text}`);
    tally.tried();
    tally.held();
  }
  const lifted = await thief.put(`/api/v1/roles/${holder}/authentication`, { required_acr: 'aal2' });
  assert.equal(lifted.body.code, 'step_up_required', lifted.text);
  await requireOfPermission(service, guarded, null);
  tally.tried();
  tally.held(1 + (await assertSound(service)));
});

const newUser = {
  email: 'made-by-a-thief@example.com',
  password: NEW_PASSWORD,
  first_name: 'Eve',
  last_name: 'Doe',
};

/** What the owner or an administrator does about a device that was stolen. */
const answersToTheft: Record<string, (user: AppUser) => Promise<Answer>> = {
  'a reset of the factors': async ({ id }) => admin.post(`/api/v1/users/${id}/factors/reset`, {}),
  'the end of all sessions': ({ client }) => client.post(`${AUTH}/logout/all`),
  'forgetting all devices': ({ client }) => client.delete(`${AUTH}/devices`),
  'forgotten devices by an administrator': ({ id }) => admin.delete(`/api/v1/users/${id}/devices`),
};

scenario('a stolen cookie of a trusted device is worth a password, until trust ends', async (tally) => {
  for (const [what, answerTheft] of Object.entries(answersToTheft)) {
    const user = await addAppUser(service);
    const stolen = deviceTokens(await trustedBrowser(service, user));
    const thief = browserWith(service, stolen).at(twin.url);
    keepTokens(thief, await thief.post(`${AUTH}/login`, { email: user.email, password: user.password }));
    assert.equal(readToken(thief.accessToken ?? '').claims.acr, undefined);
    assertAllAskForProof([await thief.post(`${FACTORS}/recovery-codes`)], what);
    assert.equal((await answerTheft(user)).status, 200, what);
    thief.accessToken = null;
    assert.equal(await passwordAlone(thief, user), 'second_factor_required', what);
    tally.tried(3);
    tally.held(4);
  }
  tally.held(await assertSound(service));
});

scenario('a cookie that somebody planted is never trusted in the name of its victim', async (tally) => {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const [victim, planter] = [await addAppUser(service), await addAppUser(service)];
    const planted = deviceTokens(await trustedBrowser(service, planter));
    const browser = browserWith(service, planted);
    await signInByApp(service, browser, victim, { trust_device: true });
    assert.equal(await passwordAlone(browserWith(service, planted), victim), 'second_factor_required');
    // A known device of the victim, planted again, gets no trust by the token that it had.
    const known = service.client();
    await signInByApp(service, known, victim);
    const copied = deviceTokens(known);
    await signInByApp(service, known, victim, { trust_device: true });
    assert.equal(await passwordAlone(browserWith(service, copied), victim), 'second_factor_required');
    tally.tried(2);
    tally.held(2);
  }
});

scenario(
  'in a session that a passkey began, a passkey that verifies nobody makes no proof',
  async (tally) => {
    for (const { url } of [service, twin]) {
      const { authenticator } = await addPasskeyUser(service);
      const client = service.client().at(url);
      keepTokens(client, await passkeySignIn(client, authenticator));
      const present = await passkeyStepUp(client, authenticator, { verified: false });
      assert.deepEqual([present.status, present.body.code], [422, 'passkey_refused']);
      const verified = await passkeyStepUp(client, authenticator);
      assert.equal(verified.status, 200, verified.text);
      tally.tried(2);
      tally.held(2);
    }
  },
);

scenario('an old session makes no account that changes factors or requirements for it', async (tally) => {
  const boss = await addStrong(service, 'role.read');
  await service.sql('update users set is_superuser = true where id = $1', [boss.id]);
  await age(service, boss);
  for (const permission of freshPermissions) {
    const role = await addRole(service, permission);
    const account = await addServiceAccount(service, { permissions: [permission] });
    const victim = await addPerson(service);
    const attempts: [string, object][] = [
      [`/api/v1/service-accounts/${account.id}/keys`, { name: 'mine' }],
      [`/api/v1/service-accounts/${account.id}/keys`, { name: 'mine', permissions: [permission] }],
      ['/api/v1/service-accounts', { name: 'mine', role_ids: [role] }],
      ['/api/v1/users', { ...newUser, role_id: [role] }],
      [`/api/v1/users/${victim.id}/roles`, { role_ids: [role] }],
      ['/api/v1/access/changes', { changes: [{ user_id: victim.id, add_role_ids: [role] }] }],
    ];
    for (const { url } of [service, twin])
      for (const [path, body] of attempts) {
        const { status, body: answer, text } = await boss.client.at(url).post(path, body);
        assert.deepEqual([status, answer.code], [403, 'step_up_required'], `${path}: ${text}`);
        tally.tried();
        tally.held();
      }
    const raised = await boss.client.put(`/api/v1/users/${victim.id}`, { is_superuser: true });
    assert.equal(raised.body.code, 'step_up_required', raised.text);
    tally.tried();
    tally.held();
  }
  tally.held(await assertSound(service));
});
