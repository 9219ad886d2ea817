// The lockout counts exactly when attempts come at once, over two instances.
// Route limits are off, as in all of these tests: the lockout must hold by itself.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import { eventually, newEmail, signIn, type TestMail } from '@castellan/testing/harness';
import { assertCap, assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { codesOf, counterOf, expireLock, failLogins, WRONG } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { assertAmong, login, openInstances, sendAtOnce, times } from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances({ after });
const { service, twin, visitor } = instances;

const verifications = (): number =>
  [service, twin].reduce((sum, { service: { deps } }) => sum + deps.hasher.stats().verifications, 0);

// The worker of either instance may send it.
const anyMailTo = (email: string): Promise<TestMail> =>
  eventually(() => service.mails().find((mail) => mail.to === email), `a mail to ${email}`);

/** Checks for five failures, no running attempt and one event. Returns the number of statements checked. */
async function assertLockedOnce(email: string): Promise<number> {
  const { failures, running, locked_until } = await counterOf(service, email);
  assert.deepEqual({ failures, running }, { failures: 5, running: 0 });
  assert.ok(locked_until);
  assert.equal((await eventsOf(service, 'account_locked', { email })).length, 1);
  return 4;
}

async function assertOneMail(email: string): Promise<number> {
  const queued = await service.sql(
    "select from outbox where kind = 'account_locked' and payload->>'email' = $1",
    [email],
  );
  assert.equal(queued.length, 1);
  assert.equal((await anyMailTo(email)).kind, 'account_locked');
  return 2;
}

scenario(
  'of fifty wrong logins at once exactly five are counted and one locks; one mail is sent, and all cost one verification',
  async (tally) => {
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const user = await addUser(service);
      const before = verifications();
      const answers = await sendAtOnce(
        instances,
        times(50, () => login(user.email, WRONG)),
        round,
      );
      tally.tried(50);
      assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: 45 });
      assert.equal(verifications() - before, 50);
      tally.held(2 + (await assertLockedOnce(user.email)) + (await assertOneMail(user.email)));
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'fifty wrong logins at once with an unknown email are counted in the same way, and no mail is sent',
  async (tally) => {
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const email = newEmail();
      const answers = await sendAtOnce(
        instances,
        times(50, () => login(email, WRONG)),
        round,
      );
      tally.tried(50);
      assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: 45 });
      tally.held(1 + (await assertLockedOnce(email)));
      const gone = 'the mail for an unknown email to be dropped';
      await eventually(async () => {
        const rows = await service.sql("select from outbox where payload->>'email' = $1", [email]);
        return rows.length === 0 || undefined;
      }, gone);
      tally.held();
    }
  },
);

scenario('wrong logins and wrong current passwords at once share one limit of five', async (tally) => {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const user = await addUser(service);
    const signedIn = await signIn(service, user);
    const guess = {
      client: signedIn,
      path: paths.changePassword,
      json: { current_password: WRONG, new_password: 'ReplacementPassword!42' },
    };
    // A login reaches the counter a little earlier than a change. With only three logins, guesses are counted as well.
    const isLogin = (index: number): boolean => index % (round % 2 === 0 ? 16 : 2) === 0;
    const requests = times(48, (index) => (isLogin(index) ? login(user.email, WRONG) : guess));
    const answers = await sendAtOnce(instances, requests, round);
    tally.tried(48);
    const { invalid_credentials = 0, wrong_current_password = 0, account_locked } = codesOf(answers);
    assert.equal(invalid_credentials + wrong_current_password, 5, JSON.stringify(codesOf(answers)));
    assert.equal(account_locked, 43);
    tally.held(2 + (await assertLockedOnce(user.email)) + (await assertOneMail(user.email)));
    // The lockout ends no session.
    assert.equal((await signedIn.get(paths.me)).status, 200);
    tally.held();
  }
  tally.held(await assertSound(service));
});

scenario('a right password is never refused among four wrong ones at once', async (tally) => {
  for (let round = 0; round < rounds(2, 60); round += 1) {
    const user = await addUser(service);
    const right = round % 5;
    const requests = times(5, (index) => login(user.email, index === right ? user.password : WRONG));
    const answers = await sendAtOnce(instances, requests, round);
    tally.tried(5);
    assert.deepEqual(codesOf(answers), { ok: 1, invalid_credentials: 4 });
    assert.equal(answers[right]?.status, 200);
    const { failures, locked_until } = await counterOf(service, user.email);
    assert.ok(failures <= 4);
    assert.equal(locked_until, null);
    tally.held(4);
  }
  tally.held(await assertSound(service));
});

scenario('many right logins at once after four failures all succeed and reset the counter', async (tally) => {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const user = await addUser(service);
    await failLogins(visitor, user.email, 4);
    const answers = await sendAtOnce(
      instances,
      times(16, () => login(user.email, user.password)),
      round,
    );
    tally.tried(16);
    assert.deepEqual(codesOf(answers), { ok: 16 });
    const counter = await counterOf(service, user.email);
    assert.deepEqual(counter, { failures: 0, running: 0, locked_until: null });
    tally.held(2);
  }
  tally.held((await assertSound(service)) + (await assertCap(service, 5)));
});

scenario(
  'a right password among many wrong ones signs in or gets account_locked, and allows at most four more guesses',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const user = await addUser(service);
      const isRight = (index: number): boolean => (index + round) % 10 === 4;
      const requests = times(50, (index) => login(user.email, isRight(index) ? user.password : WRONG));
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(50);
      tally.held(
        assertAmong(
          answers.filter((_, index) => isRight(index)),
          [200, 'account_locked'],
        ),
      );
      const wrong = answers.filter((_, index) => !isRight(index));
      tally.held(assertAmong(wrong, ['invalid_credentials', 'account_locked']));
      const { ok = 0, invalid_credentials = 0 } = codesOf(answers);
      // Each success resets at most the four failures before it.
      assert.ok(invalid_credentials <= 5 + 4 * ok, JSON.stringify(codesOf(answers)));
      const { failures, running, locked_until } = await counterOf(service, user.email);
      assert.equal(running, 0);
      assert.ok(failures <= 5);
      assert.equal(failures === 5, locked_until !== null);
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'of many wrong attempts at once after a lock has expired one unlocks the account, and five are counted anew',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addUser(service);
      await failLogins(visitor, user.email, 5);
      await expireLock(service, user.email);
      const answers = await sendAtOnce(
        instances,
        times(16, () => login(user.email, WRONG)),
        round,
      );
      tally.tried(16);
      assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: 11 });
      assert.equal((await eventsOf(service, 'account_unlocked', { email: user.email })).length, 1);
      assert.equal((await eventsOf(service, 'account_locked', { email: user.email })).length, 2);
      assert.equal((await counterOf(service, user.email)).failures, 5);
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'of many right attempts at once after a lock has expired one unlocks the account, and all sign in',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addUser(service);
      await failLogins(visitor, user.email, 5);
      await expireLock(service, user.email);
      const answers = await sendAtOnce(
        instances,
        times(16, () => login(user.email, user.password)),
        round,
      );
      tally.tried(16);
      assert.deepEqual(codesOf(answers), { ok: 16 });
      assert.equal((await eventsOf(service, 'account_unlocked', { email: user.email })).length, 1);
      tally.held(2);
    }
    tally.held((await assertSound(service)) + (await assertCap(service, 5)));
  },
);
