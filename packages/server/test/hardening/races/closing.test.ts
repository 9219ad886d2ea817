// Accounts that are closed, deleted or given a new password by an administrator while their owner signs in and refreshes.
// It must not change accounts in SQL: what is raced is the service's own change.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths, registration, strongPasswords } from '../../accounts/self-service.ts';
import type { Answer, TestClient } from '../../client.ts';
import { signIn } from '../../harness.ts';
import { assertListed, assertSound } from '../../invariants.ts';
import { type Account, addUser, liveSessionIds } from '../../sessions/accounts.ts';
import { WRONG } from '../../sessions/attempts.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import {
  assertAmong,
  assertNothingOpens,
  type Blank,
  fire,
  fireAmong,
  linksTo,
  login,
  newAccessToken,
  openRange,
  opens,
  refresh,
  times,
  underTableLock,
} from './shots.ts';

const scenario = scenariosOf('races');
const range = await openRange({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '1000', CONCURRENT_SESSION_LIMIT: '0' });
const { service, admin, visitor } = range;
const [NEW, OWN] = strongPasswords;

const signedInTwice = async (user: Account): Promise<[TestClient, TestClient]> => [
  await signIn(service, user),
  await signIn(service, user),
];

/** What the owner does meanwhile: signs in, refreshes on both paths, looks at himself. */
const ownersShots = (user: Account, client: TestClient, count: number): Blank[] =>
  times(count, (index) => {
    if (index % 4 === 0) return refresh(client.refreshToken);
    if (index % 4 === 1) return newAccessToken(client.refreshToken);
    return index % 4 === 2
      ? login(user.email, user.password)
      : { client, method: 'GET', path: '/api/v1/auth/sessions' };
  });

const refusals = ['invalid_credentials', 'refresh_token_invalid', 'token_revoked'];

scenario(
  'after a deactivation amid logins and refreshes no session and no token of the account lives',
  async (tally) => {
    for (let round = 0; round < rounds(4, 30); round += 1) {
      const user = await addUser(service);
      const [client, other] = await signedInTwice(user);
      const close = {
        client: admin,
        method: 'PUT',
        path: `/api/v1/users/${user.id}`,
        json: { is_active: false },
      };
      const [closed, answers] = await fireAmong(range, round, close, ownersShots(user, client, 20));
      tally.tried(21);
      assert.equal(closed.status, 200, closed.text);
      assert.equal(closed.body.data.is_active, false);
      tally.held(assertAmong(answers, [200, ...refusals]));
      tally.held(await assertNothingOpens(range, answers));
      for (const { accessToken } of [client, other])
        assert.equal(await opens(range, accessToken as string), false);
      assert.deepEqual(await liveSessionIds(service, user.id), []);
      assert.deepEqual(await service.sql('select from session_tokens where user_id = $1', [user.id]), []);
      tally.held(6);
    }
    tally.held((await assertSound(service)) + (await assertListed(service, admin)));
  },
);

scenario('after a deletion amid logins and refreshes nothing of the account is left', async (tally) => {
  for (let round = 0; round < rounds(6, 40); round += 1) {
    const user = await addUser(service);
    const [client] = await signedInTwice(user);
    const remove = { client: admin, method: 'DELETE', path: `/api/v1/users/${user.id}` };
    const [removed, answers] = await fireAmong(range, round, remove, ownersShots(user, client, 20));
    tally.tried(21);
    assert.equal(removed.status, 200, removed.text);
    tally.held(assertAmong(answers, [200, ...refusals]));
    tally.held(await assertNothingOpens(range, answers));
    for (const table of ['sessions', 'session_tokens', 'one_time_tokens', 'password_history', 'last_logins'])
      assert.deepEqual(await service.sql(`select from ${table} where user_id = $1`, [user.id]), [], table);
    assert.deepEqual(await service.sql('select from users where id = $1', [user.id]), []);
    tally.held(7);
  }
  tally.held((await assertSound(service)) + (await assertListed(service, admin)));
});

scenario(
  'an account that is deleted while its password is changed answers no error and leaves nothing',
  async (tally) => {
    for (let round = 0; round < rounds(4, 25); round += 1) {
      const user = await addUser(service);
      const [client] = await signedInTwice(user);
      const change = {
        client,
        path: '/api/v1/auth/change_password',
        json: { current_password: user.password, new_password: OWN },
      };
      const remove = { client: admin, method: 'DELETE', path: `/api/v1/users/${user.id}` };
      const [changed, ...removals] = (await fire(range, [change, ...times(8, () => remove)], round)) as [
        Answer,
        ...Answer[],
      ];
      tally.tried(9);
      tally.held(assertAmong(removals, [200, 'user_not_found']));
      assert.equal(removals.filter(({ status }) => status === 200).length, 1);
      tally.held(assertAmong([changed], [200, 'token_revoked']));
      tally.held(await assertNothingOpens(range, [changed]));
      assert.deepEqual(await service.sql('select from session_tokens where user_id = $1', [user.id]), []);
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'after an administrator sets a password amid logins and refreshes only that password signs in',
  async (tally) => {
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const user = await addUser(service);
      const [client] = await signedInTwice(user);
      const set = { client: admin, method: 'PUT', path: `/api/v1/users/${user.id}`, json: { password: NEW } };
      const [done, answers] = await fireAmong(range, round, set, ownersShots(user, client, 20));
      tally.tried(21);
      assert.equal(done.status, 200, done.text);
      tally.held(assertAmong(answers, [200, ...refusals]));
      tally.held(await assertNothingOpens(range, answers));
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
  'of an own change of password and one by an administrator at once one wins, and that password holds',
  async (tally) => {
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const user = await addUser(service);
      const [client] = await signedInTwice(user);
      const answers = await fire(
        range,
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
      // The other one may begin after it was done: an administrator's then still replaces the own one.
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
  'of many who set the same password for one account at once one does, and the rest hear of a conflict or of reuse',
  async (tally) => {
    for (let round = 0; round < rounds(1, 8); round += 1) {
      const user = await addUser(service);
      const shots = times(16, () => ({
        client: admin,
        method: 'PUT',
        path: `/api/v1/users/${user.id}`,
        json: { password: NEW },
      }));
      const answers = await fire(range, shots, round);
      tally.tried(16);
      tally.held(assertAmong(answers, [200, 'conflict', 'password_rejected']));
      assert.equal(answers.filter(({ status }) => status === 200).length, 1);
      const former = await service.sql('select from password_history where user_id = $1', [user.id]);
      assert.equal(former.length, 1, 'the password is its own predecessor');
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

/** Lets `run` commit, deletes the user while it waits to write its audit entry, and answers its answer. */
const deletedBeforeAnswer = (email: string, run: () => Promise<Answer>): Promise<Answer> =>
  underTableLock(service, 'audit_logs', async (waiting) => {
    const running = run();
    await waiting('audit_logs');
    await service.sql('delete from user_roles where user_id in (select id from users where email = $1)', [
      email,
    ]);
    const gone = await service.sql('delete from users where email = $1 returning id', [email]);
    assert.equal(gone.length, 1);
    return () => running;
  });

scenario(
  'what is committed before the account is deleted is answered as done, not as a record that is missing',
  async (tally) => {
    const [user, changer] = [await addUser(service), await addUser(service)];
    const client = await signIn(service, changer);
    const stranger = registration();
    const unverified = registration();
    await visitor.post(paths.register, unverified);
    const [token] = await linksTo(range, unverified.email, 'verification', 1);
    const acts: [email: string, status: number, run: () => Promise<Answer>][] = [
      [user.email, 200, () => service.client().login(user)],
      [
        changer.email,
        200,
        () => client.post(paths.changePassword, { current_password: changer.password, new_password: OWN }),
      ],
      [unverified.email, 200, () => visitor.post(paths.verify, { token })],
      [stranger.email, 201, () => visitor.post(paths.register, stranger)],
    ];
    for (const [email, status, run] of acts) {
      const answer = await deletedBeforeAnswer(email, run);
      tally.tried();
      assert.equal(answer.status, status, answer.text);
      assert.equal((answer.body.data.user ?? answer.body.data).email, email);
      tally.held(2 + (await assertNothingOpens(range, [answer])));
    }
    tally.held(await assertSound(service));
  },
);
