// Personal access tokens that are made and used while they end: no token outlives what ends it, and none keeps a permission that its
// owner loses. It must ask both instances about each token.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newEmail, PASSWORD, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { permissionId } from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import {
  assertAmong,
  firstResetLink,
  linksTo,
  openInstances,
  type RequestSpec,
  sendAmong,
  times,
} from '../requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances(
  { after },
  {
    CONCURRENT_SESSION_LIMIT: '0',
    ACCOUNT_EMAIL_LIMIT: 'off',
    SELF_DELETION_DAYS: '14',
    TRUSTED_PROXIES: '127.0.0.1',
  },
);
const { service, twin, admin, visitor } = instances;
const NEW_PASSWORD = 'Vexing#Quartz82Lime';
const own = '/api/v1/users/me/tokens';

type Owner = Person & { client: TestClient; token: string };
const inADay = (): string => new Date(Date.now() + 86_400_000).toISOString();
const making = (client: TestClient, permissions?: readonly string[]): RequestSpec => ({
  client,
  path: own,
  json: { name: 'Program', expires_at: inADay(), ...(permissions && { permissions }) },
});
let networks = 0;
/** Each from a network of its own, because ended tokens are limited by the network. */
const using = (token: string, path: string = paths.me): RequestSpec => ({
  method: 'GET',
  path,
  headers: {
    authorization: `Bearer ${token}`,
    'x-forwarded-for': `10.${Math.floor(networks / 256)}.${networks++ % 256}.1`,
  },
});

async function owner(...permissions: string[]): Promise<Owner> {
  const person = await addPerson(service, { roles: [await addRole(service, ...permissions)] });
  const client = await signIn(service, person);
  const made = await client.post(own, { name: 'Program', expires_at: inADay() });
  assert.equal(made.status, 201, made.text);
  return { ...person, client, token: made.body.data.token };
}

/** Throws if an instance takes one of the tokens. Returns their number. */
async function assertRefused(
  tokens: readonly string[],
  path: string,
  statuses: readonly number[],
): Promise<number> {
  for (const token of tokens)
    for (const { url } of [service, twin]) {
      const { headers } = using(token);
      const { status, text } = await visitor
        .at(url)
        .get(path, { headers: headers as Record<string, string> });
      assert.ok(statuses.includes(status), `${status}: ${text}`);
    }
  return tokens.length;
}

const tokensIn = (answers: readonly Answer[]): string[] =>
  answers.flatMap(({ body }) => body?.data?.token ?? []);

const byAdmin = (method: string, path: string, json?: object): RequestSpec => ({
  client: admin,
  method,
  path: `/api/v1/${path}`,
  ...(json && { json }),
});

const ends: Record<string, (about: Owner) => RequestSpec | Promise<RequestSpec>> = {
  'a new password': ({ client }) => ({
    client,
    path: paths.changePassword,
    json: { current_password: PASSWORD, new_password: NEW_PASSWORD },
  }),
  'a reset': async ({ email }) => ({
    path: paths.confirmReset,
    json: { token: await firstResetLink(instances, email), new_password: NEW_PASSWORD },
  }),
  'a password by an administrator': ({ id }) => byAdmin('PUT', `users/${id}`, { password: NEW_PASSWORD }),
  'another address': ({ id }) => byAdmin('PUT', `users/${id}`, { email: newEmail('moved') }),
  'another address by the owner': async ({ client }) => {
    const to = newEmail('own');
    await client.post(paths.changeEmail, { new_email: to, current_password: PASSWORD });
    const [token] = await linksTo(instances, to, 'email_change', 1);
    return { path: paths.confirmEmail, json: { token } };
  },
  deactivation: ({ id }) => byAdmin('PUT', `users/${id}`, { is_active: false }),
  'a deletion by the owner': ({ client }) => ({
    client,
    method: 'DELETE',
    path: paths.me,
    json: { current_password: PASSWORD },
  }),
  'an erasure': ({ id }) => byAdmin('POST', `users/${id}/erase`),
  'the end of the sessions': ({ id }) => byAdmin('DELETE', `users/${id}/sessions`),
  'the end of the sessions by a filter': ({ id }) => byAdmin('DELETE', `sessions?user_id=${id}`),
};

for (const [what, end] of Object.entries(ends))
  scenario(`no personal token outlives ${what}, also one that is made at that moment`, async (tally) => {
    for (let round = 0; round < rounds(2, 15); round += 1) {
      const about = await owner('role.read');
      const another = await signIn(service, about);
      const act = await end(about);
      const [ended, answers] = await sendAmong(instances, round, act, [
        ...times(5, (index) => making(index % 2 ? another : about.client)),
        ...times(5, () => using(about.token)),
      ]);
      assert.ok([200, 202].includes(ended.status), ended.text);
      tally.tried(11);
      tally.held(
        assertAmong(
          answers.filter(({ status }) => status !== 201),
          [200, 'token_revoked', 'personal_token_revoked', 'personal_token_invalid'],
        ),
      );
      // The session that asked for another address, or has set the password, goes on, and makes tokens afterwards.
      const before = tokensIn(answers).filter(() => !goesOn.has(what));
      tally.held(await assertRefused([about.token, ...before], paths.me, [401]));
      if (goesOn.has(what)) tally.held(await assertNewestEpoch(about));
    }
    tally.held(await assertSound(service));
  });

/** What leaves the session that makes the tokens alive. */
const goesOn: ReadonlySet<string> = new Set(['another address by the owner']);

/** Throws if a token of an earlier epoch than that of its owner counts. */
async function assertNewestEpoch({ id }: Owner): Promise<number> {
  const { body } = await admin.get(`/api/v1/users/${id}/tokens`);
  const live = await service.sql<{ id: string }>(
    `select t.id from personal_tokens t join users u on u.id = t.user_id
     where t.user_id = $1 and t.user_epoch = u.session_epoch and t.revoked_at is null`,
    [id],
  );
  assert.deepEqual(
    body.data.map((token: { id: string }) => token.id).sort(),
    live.map((token) => token.id).sort(),
  );
  return 1;
}

scenario(
  'a permission that the owner loses is lost to the tokens at once, however they are narrowed',
  async (tally) => {
    const reading = await permissionId(service, 'role.read');
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const role = await addRole(service, 'role.read', 'users.read');
      const person = await addPerson(service, { roles: [role] });
      const client = await signIn(service, person);
      const narrowings = [undefined, ['role.read'], ['users.read', 'role.read']];
      const before: string[] = [];
      for (const permissions of narrowings) {
        const { path, json } = making(client, permissions);
        before.push((await client.post(path, json)).body.data.token);
      }
      const loss =
        round % 2 === 0
          ? byAdmin('DELETE', `roles/${role}/permissions/${reading}`)
          : byAdmin('PUT', `users/${person.id}`, { role_id: [] });
      const [lost, answers] = await sendAmong(instances, round, loss, [
        ...before.map((token) => using(token, '/api/v1/roles')),
        ...narrowings.map((permissions) => making(client, permissions)),
      ]);
      assert.equal(lost.status, 200, lost.text);
      tally.tried(7);
      tally.held(
        assertAmong(
          answers.filter(({ status }) => status !== 201),
          [200, 'permission_denied', 'privilege_escalation'],
        ),
      );
      tally.held(await assertRefused([...before, ...tokensIn(answers)], '/api/v1/roles', [403]));
    }
    tally.held(await assertSound(service));
  },
);
