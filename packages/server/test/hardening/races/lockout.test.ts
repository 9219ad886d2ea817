// That the lock counts exactly when attempts come at once, over two instances.
// Route limits are off, as everywhere in these tests: the lock has to hold by itself.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '../../accounts/self-service.ts';
import { eventually, newEmail, signIn, type TestMail } from '../../harness.ts';
import { assertCap, assertSound } from '../../invariants.ts';
import { addUser } from '../../sessions/accounts.ts';
import { codesOf, counterOf, failLogins, passLock, WRONG } from '../../sessions/attempts.ts';
import { eventsOf } from '../../sessions/audit-events.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { assertAmong, fire, login, openRange, times } from './shots.ts';

const scenario = scenariosOf('races');
const range = await openRange({ after });
const { service, twin, visitor } = range;

const verifications = (): number =>
  [service, twin].reduce((sum, { service: { deps } }) => sum + deps.hasher.stats().verifications, 0);

// Whichever instance's worker takes the row sends it.
const anyMailTo = (email: string): Promise<TestMail> =>
  eventually(
    () => [...service.mails(), ...twin.mails()].find((mail) => mail.to === email),
    `a mail to ${email}`,
  );

/** Five failures, nothing under way, one event; answers how many statements that was. */
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
  'of fifty wrong logins at once exactly five are counted, one locks, one mail goes out, all cost the same',
  async (tally) => {
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const user = await addUser(service);
      const before = verifications();
      const answers = await fire(
        range,
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
  'fifty wrong logins at once with an address that nobody has are counted just the same, and mailed to nobody',
  async (tally) => {
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const email = newEmail();
      const answers = await fire(
        range,
        times(50, () => login(email, WRONG)),
        round,
      );
      tally.tried(50);
      assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: 45 });
      tally.held(1 + (await assertLockedOnce(email)));
      const gone = 'the mail for nobody to be dropped';
      await eventually(async () => {
        const rows = await service.sql("select from outbox where payload->>'email' = $1", [email]);
        return rows.length === 0 || undefined;
      }, gone);
      tally.held();
    }
  },
);

scenario('wrong logins and wrong current passwords at once share the five', async (tally) => {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const user = await addUser(service);
    const signedIn = await signIn(service, user);
    const guess = {
      client: signedIn,
      path: paths.changePassword,
      json: { current_password: WRONG, new_password: 'ReplacementPassword!42' },
    };
    // A login asks the counter a little earlier than a change. Of three logins and many guesses, guesses too are counted.
    const isLogin = (index: number): boolean => index % (round % 2 === 0 ? 16 : 2) === 0;
    const shots = times(48, (index) => (isLogin(index) ? login(user.email, WRONG) : guess));
    const answers = await fire(range, shots, round);
    tally.tried(48);
    const { invalid_credentials = 0, wrong_current_password = 0, account_locked } = codesOf(answers);
    assert.equal(invalid_credentials + wrong_current_password, 5, JSON.stringify(codesOf(answers)));
    assert.equal(account_locked, 43);
    tally.held(2 + (await assertLockedOnce(user.email)) + (await assertOneMail(user.email)));
    // The lock is for guessing: whoever is in stays in.
    assert.equal((await signedIn.get(paths.me)).status, 200);
    tally.held();
  }
  tally.held(await assertSound(service));
});

scenario('the right password is never refused among four wrong ones at the same moment', async (tally) => {
  for (let round = 0; round < rounds(8, 60); round += 1) {
    const user = await addUser(service);
    const right = round % 5;
    const shots = times(5, (index) => login(user.email, index === right ? user.password : WRONG));
    const answers = await fire(range, shots, round);
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

scenario(
  'many right logins at once all succeed after four failures, and those are forgotten',
  async (tally) => {
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const user = await addUser(service);
      await failLogins(visitor, user.email, 4);
      const answers = await fire(
        range,
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
  },
);

scenario(
  'right passwords among a storm of wrong ones are let in or told of the lock, and give at most four further guesses each',
  async (tally) => {
    for (let round = 0; round < rounds(3, 20); round += 1) {
      const user = await addUser(service);
      const isRight = (index: number): boolean => (index + round) % 10 === 4;
      const shots = times(50, (index) => login(user.email, isRight(index) ? user.password : WRONG));
      const answers = await fire(range, shots, round);
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
      // Each success forgets at most the four failures before it.
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
  'of many wrong attempts at once on a lock that has passed one unlocks it, and five are counted anew',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addUser(service);
      await failLogins(visitor, user.email, 5);
      await passLock(service, user.email);
      const answers = await fire(
        range,
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
  'of many right attempts at once on a lock that has passed one unlocks it, and all get in',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addUser(service);
      await failLogins(visitor, user.email, 5);
      await passLock(service, user.email);
      const answers = await fire(
        range,
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
