// An administrator deactivates or deletes an account, or sets its password, while its owner signs in and refreshes.
// It must make these changes through the API, not in SQL.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths, registration, strongPasswords } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { eventually, signIn } from '@castellan/testing/harness';
import { assertListed, assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Account, addUser, countLiveTokens, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { WRONG } from '@castellan/testing/sessions/attempts';
import {
  assertAmong,
  assertNothingOpens,
  linksTo,
  login,
  newAccessToken,
  openInstances,
  opens,
  type RequestSpec,
  refresh,
  sendAmong,
  sendAtOnce,
  times,
  whileTableIsLocked,
} from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances(
  { after },
  { ACCOUNT_LOCKOUT_ATTEMPTS: '1000', CONCURRENT_SESSION_LIMIT: '0' },
);
const { service, admin, visitor } = instances;
const [NEW, OWN] = strongPasswords;

const signedInTwice = async (user: Account): Promise<[TestClient, TestClient]> => [
  await signIn(service, user),
  await signIn(service, user),
];

/** Returns what the owner sends meanwhile: sign-ins, refreshes on both paths, and reads of the sessions. */
const ownersRequests = (user: Account, client: TestClient, count: number): RequestSpec[] =>
  times(count, (index) => {
    if (index % 4 === 0) return refresh(client.refreshToken);
    if (index % 4 === 1) return newAccessToken(client.refreshToken);
    return index % 4 === 2
      ? login(user.email, user.password)
      : { client, method: 'GET', path: '/api/v1/auth/sessions' };
  });

const refusals = ['invalid_credentials', 'refresh_token_invalid', 'token_revoked'];

scenario(
  'after a deactivation during sign-ins and refreshes no session and no token of the account is live',
  async (tally) => {
    for (let round = 0; round < rounds(2, 30); round += 1) {
      const user = await addUser(service);
      const [client, other] = await signedInTwice(user);
      const close = {
        client: admin,
        method: 'PUT',
        path: `/api/v1/users/${user.id}`,
        json: { is_active: false },
      };
      const [closed, answers] = await sendAmong(instances, round, close, ownersRequests(user, client, 20));
      tally.tried(21);
      assert.equal(closed.status, 200, closed.text);
      assert.equal(closed.body.data.is_active, false);
      tally.held(assertAmong(answers, [200, ...refusals]));
      tally.held(await assertNothingOpens(instances, answers));
      for (const { accessToken } of [client, other])
        assert.equal(await opens(instances, accessToken as string), false);
      assert.deepEqual(await liveSessionIds(service, user.id), []);
      assert.equal(await countLiveTokens(service, user.id), 0);
      tally.held(6);
    }
    tally.held((await assertSound(service)) + (await assertListed(service, admin)));
  },
);

scenario('after a deletion during sign-ins and refreshes nothing of the account is left', async (tally) => {
  for (let round = 0; round < rounds(2, 40); round += 1) {
    const user = await addUser(service);
    const [client] = await signedInTwice(user);
    const remove = { client: admin, method: 'DELETE', path: `/api/v1/users/${user.id}` };
    const [removed, answers] = await sendAmong(instances, round, remove, ownersRequests(user, client, 20));
    tally.tried(21);
    assert.equal(removed.status, 200, removed.text);
    tally.held(assertAmong(answers, [200, ...refusals]));
    tally.held(await assertNothingOpens(instances, answers));
    assert.equal(await countLiveTokens(service, user.id), 0);
    assert.equal(
      (await service.sql('select from session_ends where user_id = $1', [user.id])).length > 0,
      true,
    );
    for (const table of ['one_time_tokens', 'password_history', 'last_logins'])
      assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [user.id]), [], table);
    assert.deepEqual(await service.sql('select from users where id = $1', [user.id]), []);
    tally.held(7);
  }
  tally.held((await assertSound(service)) + (await assertListed(service, admin)));
});

scenario(
  'the deletion of an account during a change of its password answers no error and leaves nothing',
  async (tally) => {
    for (let round = 0; round < rounds(2, 25); round += 1) {
      const user = await addUser(service);
      const [client] = await signedInTwice(user);
      const change = {
        client,
        path: '/api/v1/auth/change_password',
        json: { current_password: user.password, new_password: OWN },
      };
      const remove = { client: admin, method: 'DELETE', path: `/api/v1/users/${user.id}` };
      const [changed, ...removals] = (await sendAtOnce(
        instances,
        [change, ...times(8, () => remove)],
        round,
      )) as [Answer, ...Answer[]];
      tally.tried(9);
      tally.held(assertAmong(removals, [200, 'user_not_found']));
      assert.equal(removals.filter(({ status }) => status === 200).length, 1);
      tally.held(assertAmong([changed], [200, 'token_revoked']));
      tally.held(await assertNothingOpens(instances, [changed]));
      assert.equal(await countLiveTokens(service, user.id), 0);
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'after an administrator sets a password during sign-ins and refreshes only that password signs in',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const [client] = await signedInTwice(user);
      const set = { client: admin, method: 'PUT', path: `/api/v1/users/${user.id}`, json: { password: NEW } };
      const [done, answers] = await sendAmong(instances, round, set, ownersRequests(user, client, 20));
      tally.tried(21);
      assert.equal(done.status, 200, done.text);
      tally.held(assertAmong(answers, [200, ...refusals]));
      tally.held(await assertNothingOpens(instances, answers));
      assert.deepEqual(await liveSessionIds(service, user.id), []);
      for (const password of [user.password, NEW, WRONG]) {
        const { status } = await service.client().login({ email: user.email, password });
        assert.equal(status, password === NEW ? 200 : 422);
      }
      tally.held(5);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'after a change of password by its owner and one by an administrator at once, the password of the last successful one holds',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const [client] = await signedInTwice(user);
      const answers = await sendAtOnce(
        instances,
        [
          { client: admin, method: 'PUT', path: `/api/v1/users/${user.id}`, json: { password: NEW } },
          {
            client,
            path: '/api/v1/auth/change_password',
            json: { current_password: user.password, new_password: OWN },
          },
        ],
        round,
      );
      tally.tried(2);
      tally.held(assertAmong(answers, [200, 'conflict', 'token_revoked', 'wrong_current_password']));
      const [byAdmin, own] = answers.map(({ status }) => status === 200);
      // Both succeed if the administrator's begins after the owner's is done; the administrator's password then holds.
      assert.ok(byAdmin || own);
      for (const password of [user.password, NEW, OWN]) {
        const holds = byAdmin && own ? NEW : byAdmin ? NEW : OWN;
        const { status } = await service.client().login({ email: user.email, password });
        assert.equal(status, password === holds ? 200 : 422, `${byAdmin} ${own}`);
      }
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'of many requests at once that set the same password of an account one is done, and the others get a conflict or a refusal of reuse',
  async (tally) => {
    for (let round = 0; round < rounds(1, 8); round += 1) {
      const user = await addUser(service);
      // The most attempts that one administrator has for one account within an hour.
      const requests = times(10, () => ({
        client: admin,
        method: 'PUT',
        path: `/api/v1/users/${user.id}`,
        json: { password: NEW },
      }));
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(10);
      tally.held(assertAmong(answers, [200, 'conflict', 'password_rejected']));
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      const former = await service.sql('select from password_history where user_id = $1', [user.id]);
      assert.equal(former.length, 1, 'the password is in its own history');
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

/**
 * Deletes the user while `run` waits to write its audit entry, and returns the answer. Most write it after their commit; a
 * sign-in writes it before, and the deletion waits until it has given up. Returns null
 * if the answer came before the deletion: on a busy machine the wait for the audit log may time out first.
 */
async function deletedBeforeAnswer(email: string, run: () => Promise<Answer>): Promise<Answer | null> {
  const said = (message: string): number => service.logLines.filter((line) => line.includes(message)).length;
  // After a timeout on the audit log, answers do not wait for it until it has been written again.
  await eventually(
    () => said('audit entry delayed') === said('the audit log can be written again') || undefined,
    'the log to be written again',
  );
  return whileTableIsLocked(service, 'audit_logs', async (waiting) => {
    let isAnswered = false;
    const running = run().finally(() => {
      isAnswered = true;
    });
    await waiting('audit_logs', 1, () => isAnswered);
    await service.sql('delete from user_roles where user_id in (select id from users where email = $1)', [
      email,
    ]);
    const gone = await service.sql('delete from users where email = $1 returning id', [email]);
    assert.equal(gone.length, 1);
    const isTooLate = isAnswered;
    return async () => {
      const answer = await running;
      return isTooLate ? null : answer;
    };
  });
}

scenario(
  'a sign-in whose account is deleted while it waits to write its audit entry is refused, and leaves no session',
  async (tally) => {
    const { user, answer } = await eventually(async () => {
      const user = await addUser(service);
      tally.tried();
      const answer = await deletedBeforeAnswer(user.email, () => service.client().login(user));
      // The entry is part of its commit, so the deletion comes first.
      return answer ? { user, answer } : undefined;
    }, 'an answer that comes after its user is deleted');
    assert.equal(answer.body.code, 'invalid_credentials', answer.text);
    assert.deepEqual(await service.sql('select from sessions where user_id = $1', [user.id]), []);
    tally.held(2 + (await assertSound(service)));
  },
);

scenario(
  'a change that is committed before the account is deleted is answered as done, not as a missing record',
  async (tally) => {
    type Prepared = [email: string, status: number, run: () => Promise<Answer>];
    // Each case has its own account.
    const cases: (() => Promise<Prepared>)[] = [
      async () => {
        const user = await addUser(service);
        const client = await signIn(service, user);
        const body = { current_password: user.password, new_password: OWN };
        return [user.email, 200, () => client.post(paths.changePassword, body)];
      },
      async () => {
        const unverified = registration();
        await visitor.post(paths.register, unverified);
        const [token] = await linksTo(instances, unverified.email, 'verification', 1);
        return [unverified.email, 200, () => visitor.post(paths.verify, { token })];
      },
      async () => {
        const stranger = registration();
        return [stranger.email, 201, () => visitor.post(paths.register, stranger)];
      },
    ];
    for (const prepare of cases) {
      const [email, status, answer] = await eventually(async () => {
        const [address, wanted, run] = await prepare();
        tally.tried();
        const got = await deletedBeforeAnswer(address, run);
        return got ? ([address, wanted, got] as const) : undefined;
      }, 'an answer that comes after its user is deleted');
      assert.equal(answer.status, status, answer.text);
      assert.equal((answer.body.data.user ?? answer.body.data).email, email);
      tally.held(2 + (await assertNothingOpens(instances, [answer])));
    }
    tally.held(await assertSound(service));
  },
);
