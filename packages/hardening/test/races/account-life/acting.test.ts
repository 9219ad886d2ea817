// Administrators who begin to act as somebody while the right to it ends: no token that they got outlives the end. It must end the right
// through the API, as other administrators and the person do.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { permissionId } from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { REASON } from '@castellan/testing/sessions/acting';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import {
  assertAmong,
  assertNothingOpens,
  openInstances,
  opens,
  type RequestSpec,
  sendAmong,
  times,
} from '../requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances({ after }, { CONCURRENT_SESSION_LIMIT: '0', ACT_AS_MAIL: 'false' });
const { service, admin } = instances;
const acting = await permissionId(service, 'users.act_as');

type Cast = { actor: Person; role: string; desk: TestClient; user: Person };

async function cast(): Promise<Cast> {
  const role = await addRole(service, 'users.act_as', 'user.read');
  const actor = await addPerson(service, { roles: [role] });
  const user = await addPerson(service, { roles: [await addRole(service, 'user.read')] });
  return { actor, role, desk: await signIn(service, actor), user };
}

const update = (id: string, json: object): RequestSpec => ({
  client: admin,
  method: 'PUT',
  path: `/api/v1/users/${id}`,
  json,
});

const ends: Record<string, (cast: Cast, more: string) => RequestSpec> = {
  'the administrator is deactivated': ({ actor }) => update(actor.id, { is_active: false }),
  'the administrator loses the role': ({ actor }) => update(actor.id, { role_id: [] }),
  'the role loses the permission': ({ role }) => ({
    client: admin,
    method: 'DELETE',
    path: `/api/v1/roles/${role}/permissions/${acting}`,
  }),
  'the session of the administrator ends': ({ desk }) => ({ client: desk, path: '/api/v1/auth/logout' }),
  'the sessions of the administrator are ended': ({ actor }) => ({
    client: admin,
    method: 'DELETE',
    path: `/api/v1/users/${actor.id}/sessions`,
  }),
  'the administrator must change the password': ({ actor }) =>
    update(actor.id, { must_change_password: true }),
  'the user is deactivated': ({ user }) => update(user.id, { is_active: false }),
  'the user becomes a superuser': ({ user }) => update(user.id, { is_superuser: true }),
  'the user gets a role beyond the administrator': ({ user }, more) => update(user.id, { role_id: [more] }),
  'the sessions of the user are ended': ({ user }) => ({
    client: admin,
    method: 'DELETE',
    path: `/api/v1/users/${user.id}/sessions`,
  }),
};

for (const [what, end] of Object.entries(ends))
  scenario(`no token of who acts outlives the moment at which ${what}`, async (tally) => {
    const more = await addRole(service, 'role.delete');
    for (let round = 0; round < rounds(2, 15); round += 1) {
      const about = await cast();
      const attempts = times(
        8,
        (): RequestSpec => ({
          client: about.desk,
          path: `/api/v1/users/${about.user.id}/act-as`,
          json: { reason: REASON },
        }),
      );
      const [ended, answers] = await sendAmong(instances, round, end(about, more), attempts);
      assert.equal(ended.status, 200, ended.text);
      tally.tried(9);
      tally.held(
        assertAmong(answers, [
          200,
          'token_revoked',
          'permission_denied',
          'password_change_required',
          'superuser_required',
          'privilege_escalation',
          'conflict',
        ]),
      );
      // A person who begins to act after the end of the user's sessions has a new right to it, so that only the earlier ones end.
      if (what === 'the sessions of the user are ended') tally.held(await assertEarlierEnded(about, answers));
      else tally.held(await assertNothingOpens(instances, answers));
    }
    tally.held(await assertSound(service));
  });

/** Of the tokens, those live whose session began after the end: their epoch is that of the user. Returns how many were tried. */
async function assertEarlierEnded({ user }: Cast, answers: readonly Answer[]): Promise<number> {
  const tokens = answers.flatMap(({ body }) => body?.data?.access_token ?? []);
  let live = 0;
  for (const token of tokens) live += Number(await opens(instances, token));
  const later = await service.sql(
    `select from sessions s join users u on u.id = s.user_id
     where s.user_id = $1 and s.acted_by_id is not null
       and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)`,
    [user.id],
  );
  assert.equal(live, later.length);
  return tokens.length + 1;
}

scenario(
  'who acts ends neither the account nor its links, in any order with its own session',
  async (tally) => {
    const refused = [
      (id: string): RequestSpec => ({ method: 'PUT', path: paths.me, json: { first_name: id } }),
      (): RequestSpec => ({ path: paths.changeEmail, json: { new_email: 'taken@example.com' } }),
      (): RequestSpec => ({
        path: '/api/v1/users/me/tokens',
        json: { name: 'x', expires_at: '2030-01-01T00:00:00Z' },
      }),
      (): RequestSpec => ({ method: 'DELETE', path: paths.me, json: {} }),
      (): RequestSpec => ({ method: 'GET', path: '/api/v1/users/me/export' }),
      (): RequestSpec => ({ path: '/api/v1/auth/logout/all' }),
    ];
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const { desk, user } = await cast();
      const made = await desk.post(`/api/v1/users/${user.id}/act-as`, { reason: REASON });
      assert.equal(made.status, 200, made.text);
      const headers = { authorization: `Bearer ${made.body.data.access_token}` };
      const requests = refused.flatMap((one) => times(2, () => ({ ...one(user.id), headers })));
      const [ended, answers] = await sendAmong(
        instances,
        round,
        { client: desk, path: '/api/v1/auth/logout' },
        requests,
      );
      assert.equal(ended.status, 200, ended.text);
      tally.tried(requests.length + 1);
      tally.held(assertAmong(answers, ['acting_as', 'token_revoked', 'self_deletion_off']));
      const [row] = await service.sql<{ first_name: string; email: string; is_active: boolean }>(
        'select first_name, email, is_active from users where id = $1',
        [user.id],
      );
      assert.deepEqual([row?.email, row?.is_active, row?.first_name === user.id], [user.email, true, false]);
      tally.held();
    }
    tally.held(await assertSound(service));
  },
);
