// People who leave, and keep their account, while others use the account, its links, or the right to remove it: in every order the account
// is in one of the states that the acts one after the other leave. It must take links from the mails.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { newEmail, PASSWORD, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { liveSessionIds } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { addPerson, addRole, type Person } from '@castellan/testing/users/people';
import {
  assertAmong,
  assertNothingOpens,
  linksTo,
  login,
  openInstances,
  type RequestSpec,
  refresh,
  sendAmong,
  sendAtOnce,
  times,
} from '../requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances(
  { after },
  { SELF_DELETION_DAYS: '14', CONCURRENT_SESSION_LIMIT: '0', ACCOUNT_EMAIL_LIMIT: 'off' },
);
const { service, admin, visitor } = instances;

const leave = (client: TestClient): RequestSpec => ({
  client,
  method: 'DELETE',
  path: paths.me,
  json: { current_password: PASSWORD },
});
const undoDeletion = (token: string): RequestSpec => ({ path: paths.undoDeletion, json: { token } });
const undoAddress = (token: string): RequestSpec => ({ path: paths.undoEmail, json: { token } });
const setActive = ({ id }: Person, is_active: boolean): RequestSpec => ({
  client: admin,
  method: 'PUT',
  path: `/api/v1/users/${id}`,
  json: { is_active },
});
const erase = ({ id }: Person): RequestSpec => ({ client: admin, path: `/api/v1/users/${id}/erase` });

type State = { email: string; is_active: boolean; is_planned: boolean };
const stateOf = async ({ id }: Person): Promise<State | undefined> =>
  (
    await service.sql<State>(
      'select email, is_active, deletion_due_at is not null as is_planned from users where id = $1',
      [id],
    )
  )[0];

async function somebody(): Promise<Person & { client: TestClient }> {
  const person = await addPerson(service, { roles: [await addRole(service, 'role.read')] });
  return { ...person, client: await signIn(service, person) };
}

/** Somebody who has deleted their account. `token` keeps it. */
async function leaving(): Promise<Person & { token: string }> {
  const { client, ...person } = await somebody();
  const answer = await client.delete(paths.me, { current_password: PASSWORD });
  assert.equal(answer.status, 202, answer.text);
  const [token] = await linksTo(instances, person.email, 'deletion_planned', 1);
  return { ...person, token: token as string };
}

scenario(
  'of many deletions of one account at once one is planned, and nothing of the account is live',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const person = await somebody();
      const others = await Promise.all(times(3, () => signIn(service, person)));
      const sessions = [person.client, ...others];
      const requests = [
        ...sessions.flatMap((client) => [leave(client), leave(client)]),
        ...sessions.map(({ refreshToken }) => refresh(refreshToken)),
        ...times(3, () => login(person.email, PASSWORD)),
      ];
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(answers.length);
      assert.equal(answers.filter(({ status }) => status === 202).length, 1);
      tally.held(
        assertAmong(
          answers.filter(({ status }) => status !== 202),
          [200, 'token_revoked', 'invalid_credentials', 'refresh_token_invalid'],
        ),
      );
      tally.held(await assertNothingOpens(instances, answers));
      assert.deepEqual(await liveSessionIds(service, person.id), []);
      assert.equal((await linksTo(instances, person.email, 'deletion_planned', 1)).length, 1);
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

scenario('an account that is kept while an administrator deactivates it stays deactivated', async (tally) => {
  for (let round = 0; round < rounds(3, 20); round += 1) {
    const person = await leaving();
    const [deactivated, answers] = await sendAmong(
      instances,
      round,
      setActive(person, false),
      times(4, () => undoDeletion(person.token)),
    );
    assert.equal(deactivated.status, 200, deactivated.text);
    tally.tried(5);
    tally.held(assertAmong(answers, [200, 'undo_token_invalid']));
    assert.deepEqual(await stateOf(person), { email: person.email, is_active: false, is_planned: false });
    tally.held();
  }
  tally.held(await assertSound(service));
});

scenario('an account that is kept by its owner and by an administrator at once is active', async (tally) => {
  for (let round = 0; round < rounds(2, 20); round += 1) {
    const person = await leaving();
    const [activated, answers] = await sendAmong(
      instances,
      round,
      setActive(person, true),
      times(4, () => undoDeletion(person.token)),
    );
    assert.equal(activated.status, 200, activated.text);
    tally.tried(5);
    const { ok = 0, ...refused } = codesOf(answers);
    assert.ok(ok <= 1 && Object.keys(refused).every((code) => code === 'undo_token_invalid'));
    assert.deepEqual(await stateOf(person), { email: person.email, is_active: true, is_planned: false });
    tally.held(2);
  }
  tally.held(await assertSound(service));
});

scenario(
  'an account that is erased while it is kept and used is gone with everything of it',
  async (tally) => {
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const person = await leaving();
      const [erased, answers] = await sendAmong(instances, round, erase(person), [
        ...times(3, () => undoDeletion(person.token)),
        setActive(person, true),
        ...times(3, () => login(person.email, PASSWORD)),
      ]);
      assert.equal(erased.status, 200, erased.text);
      tally.tried(8);
      tally.held(assertAmong(answers, [200, 'undo_token_invalid', 'user_not_found', 'invalid_credentials']));
      tally.held(await assertNothingOpens(instances, answers));
      assert.equal(await stateOf(person), undefined);
      assert.deepEqual(await liveSessionIds(service, person.id), []);
      for (const table of ['user_roles', 'one_time_tokens', 'password_history'])
        assert.deepEqual(
          await service.sql(`select from ${table} where user_id = $1`, [person.id]),
          [],
          table,
        );
      const entries = await service.sql(
        "select from audit_logs where resource_id = $1 and action in ('user_deleted', 'user_erased')",
        [person.id],
      );
      assert.equal(entries.length, 2);
      tally.held(6);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'the owner gets an account back whose address was changed, however often it is deleted and kept',
  async (tally) => {
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const person = await somebody();
      const theirs = newEmail('theirs');
      const asked = { new_email: theirs, current_password: PASSWORD };
      assert.equal((await person.client.post(paths.changeEmail, asked)).status, 202);
      const [confirming] = await linksTo(instances, theirs, 'email_change', 1);
      assert.equal((await visitor.post(paths.confirmEmail, { token: confirming })).status, 200);
      const [owners] = await linksTo(instances, person.email, 'email_changed', 1);
      // In two rounds of three the hijacker has planned the deletion before, in the others they do so now.
      const isPlanned = round % 3 !== 0;
      if (isPlanned) {
        const left = await person.client.delete(paths.me, { current_password: PASSWORD });
        assert.equal(left.status, 202, left.text);
      }
      const others = isPlanned
        ? (await linksTo(instances, theirs, 'deletion_planned', 1)).flatMap((token) =>
            times(4, () => undoDeletion(token)),
          )
        : times(4, () => leave(person.client));
      const [answer, answers] = await sendAmong(instances, round, undoAddress(owners as string), others);
      assert.equal(answer.status, 200, answer.text);
      tally.tried(5);
      tally.held(
        assertAmong(
          answers.filter(({ status }) => status !== 202),
          // The undo ends the password before a deletion that waits for it.
          [200, 'undo_token_invalid', 'token_revoked', 'wrong_current_password', 'step_up_required'],
        ),
      );
      assert.deepEqual(await stateOf(person), { email: person.email, is_active: true, is_planned: false });
      assert.deepEqual(await liveSessionIds(service, person.id), []);
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);
