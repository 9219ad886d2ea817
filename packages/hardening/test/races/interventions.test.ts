// Administrators who change an account during its sign-ins, its mails and other changes: links and tokens from before
// the change do not outlive it, and refused passwords are counted exactly. It must make these changes through the API;
// SQL only undoes them.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { newEmail, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { permissionId } from '@castellan/testing/records/fixture';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { addPerson, addRole, tally as statusesOf } from '@castellan/testing/users/people';
import {
  assertAmong,
  assertNothingOpens,
  login,
  newAccessToken,
  openInstances,
  type RequestSpec,
  refresh,
  sendAmong,
  sendAtOnce,
  times,
} from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances(
  { after },
  { ACCOUNT_LOCKOUT_ATTEMPTS: '1000', CONCURRENT_SESSION_LIMIT: '0' },
);
const { service, admin, visitor } = instances;

const put = (id: string, json: object, client: TestClient = admin): RequestSpec => ({
  client,
  method: 'PUT',
  path: `/api/v1/users/${id}`,
  json,
});

const changes: Record<string, () => object> = {
  'a new email': () => ({ email: newEmail() }),
  '`verified: false`': () => ({ verified: false }),
};
for (const [what, fields] of Object.entries(changes))
  scenario(
    `after ${what} during sign-ins and refreshes no session and no token of the account is live`,
    async (tally) => {
      for (let round = 0; round < rounds(2, 30); round += 1) {
        const user = await addUser(service);
        const client = await signIn(service, user);
        const requests = times(18, (index): RequestSpec => {
          if (index % 3 === 0) return refresh(client.refreshToken);
          return index % 3 === 1 ? newAccessToken(client.refreshToken) : login(user.email, user.password);
        });
        const [changed, answers] = await sendAmong(instances, round, put(user.id, fields()), requests);
        tally.tried(19);
        assert.equal(changed.status, 200, changed.text);
        tally.held(
          assertAmong(answers, [
            200,
            'invalid_credentials',
            'email_not_verified',
            'refresh_token_invalid',
            'token_revoked',
          ]),
        );
        tally.held(await assertNothingOpens(instances, answers));
        assert.deepEqual(await liveSessionIds(service, user.id), []);
        tally.held();
      }
      tally.held(await assertSound(service));
    },
  );

const actions: Record<string, (id: string) => RequestSpec> = {
  'the end of the sessions': (id) => ({
    client: admin,
    method: 'DELETE',
    path: `/api/v1/users/${id}/sessions`,
  }),
  deactivation: (id) => put(id, { is_active: false }),
};
for (const [what, act] of Object.entries(actions))
  scenario(`a mail that is being written at ${what} contains no link that stays valid`, async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const users = await Promise.all(times(12, () => addPerson(service, { verified: false })));
      // All mails are requested and acknowledged first; both instances are writing them, or are about to.
      const asked = users.flatMap(({ email }) =>
        [paths.requestReset, paths.resend].map((path) => ({ path, json: { email } })),
      );
      for (const { status, text } of await sendAtOnce(instances, asked, round))
        assert.equal(status, 200, text);
      const acted = await sendAtOnce(
        instances,
        users.map(({ id }) => act(id)),
        round,
      );
      for (const { status, text } of acted) assert.equal(status, 200, text);
      await service.sql('update users set is_active = true where id = any($1)', [users.map(({ id }) => id)]);
      await waitForEmptyOutbox(service);
      const live = await service.sql(
        'select purpose from one_time_tokens where user_id = any($1) and used_at is null',
        [users.map(({ id }) => id)],
      );
      assert.deepEqual(live, []);
      const sent = service.mails().filter(({ to }) => users.some(({ email }) => email === to));
      for (const { kind, token } of sent) {
        const answer =
          kind === 'verification'
            ? await visitor.post(paths.verify, { token })
            : await visitor.post(paths.confirmReset, { token, new_password: 'Marble?Tundra61Fox' });
        assert.equal(answer.status, 400, answer.text);
      }
      tally.tried(36);
      tally.held(1 + sent.length);
    }
    tally.held(await assertSound(service));
  });

scenario(
  'of many refused passwords at once exactly ten are checked, on two instances together',
  async (tally) => {
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const user = await addUser(service);
      const guesses = times(24, (index) => put(user.id, { password: index % 2 ? user.password : 'short' }));
      const answers = await sendAtOnce(instances, guesses, round);
      tally.tried(24);
      assert.deepEqual(statusesOf(answers), { 400: 10, 429: 14 });
      const [entries] = await service.sql(
        "select count(*)::int as refused from audit_logs where action = 'password_refused' and resource_id = $1",
        [user.id],
      );
      assert.deepEqual(entries, { refused: 10 });
      tally.held(2);
    }
  },
);

scenario(
  'a password sent with a taken email is never judged: both instances answer email_taken',
  async (tally) => {
    const taken = await addUser(service);
    for (let round = 0; round < rounds(1, 5); round += 1) {
      const user = await addUser(service);
      const answers = await sendAtOnce(
        instances,
        [user.password, 'Marble?Tundra61Fox', 'short'].flatMap((password) =>
          times(4, () => put(user.id, { password, email: taken.email })),
        ),
        round,
      );
      tally.tried(12);
      for (const { body, text } of answers) assert.equal(body.code, 'email_taken', text);
      tally.held(12);
    }
  },
);

scenario(
  'an administrator loses nothing to callers with fewer permissions while others change the same roles',
  async (tally) => {
    const HELPDESK = ['users.update', 'user.update', 'role.update'];
    const removing = await permissionId(service, 'role.delete');
    for (let round = 0; round < rounds(2, 15); round += 1) {
      const role = await addRole(service, 'role.delete');
      const senior = await addPerson(service, { roles: [role] });
      const helpdeskUser = await addPerson(service, { roles: [await addRole(service, ...HELPDESK)] });
      const helpdesk = await signIn(service, helpdeskUser);
      const attempts: RequestSpec[] = [
        put(senior.id, { is_active: false }, helpdesk),
        put(senior.id, { role_id: [] }, helpdesk),
        put(senior.id, { password: 'Marble?Tundra61Fox' }, helpdesk),
        { client: helpdesk, path: `/api/v1/users/${senior.id}/roles`, json: [] },
        { client: helpdesk, method: 'DELETE', path: `/api/v1/users/${senior.id}/roles`, json: [role] },
        { client: helpdesk, path: `/api/v1/roles/${role}/permissions`, json: [] },
        { client: helpdesk, method: 'DELETE', path: `/api/v1/roles/${role}/permissions/${removing}` },
        put('bulk-update', { user_ids: [senior.id], updates: { is_active: false } }, helpdesk),
      ];
      // A superuser changes the same records meanwhile, so that the requests wait for each other's row locks.
      const [renamed, answers] = (await sendAmong(instances, round, put(senior.id, { first_name: 'Grace' }), [
        ...attempts,
        ...attempts,
      ])) as [Answer, Answer[]];
      tally.tried(17);
      assert.equal(renamed.status, 200, renamed.text);
      for (const { body, text } of answers) assert.equal(body.code, 'privilege_escalation', text);
      const held = await service.sql(
        `select from users u join user_roles ur on ur.user_id = u.id
       join role_permissions rp on rp.role_id = ur.role_id
       where u.id = $1 and u.is_active and rp.permission_id = $2`,
        [senior.id, removing],
      );
      assert.equal(held.length, 1);
      tally.held(17);
    }
    tally.held(await assertSound(service));
  },
);
