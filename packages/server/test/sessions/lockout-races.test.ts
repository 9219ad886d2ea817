// That the lock counts exactly when attempts come at once, here and on two instances.
// Limits are off, as everywhere in these tests: the lock has to hold by itself.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { eventually, signIn, startTestService, type TestService } from '../harness.ts';
import { addUser, readyClient } from './accounts.ts';
import { codesOf, counterOf, failLogins, logIn, passLock, WRONG } from './attempts.ts';
import { eventsOf } from './audit-events.ts';

const service = await startTestService({ after });
const twin = await service.another();
const client = await readyClient(service);
const twinClient = await readyClient(twin);

const together = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

async function assertLockedOnce(email: string): Promise<void> {
  const { failures, running, locked_until } = await counterOf(service, email);
  assert.equal(failures, 5);
  assert.equal(running, 0);
  assert.ok(locked_until);
  assert.equal((await eventsOf(service, 'account_locked', { email })).length, 1);
  const queued = await service.sql(
    "select from outbox where kind = 'account_locked' and payload->>'email' = $1",
    [email],
  );
  assert.equal(queued.length, 1);
}

test('of 50 wrong logins at once exactly five are verified, one locks, one mail goes out', async () => {
  const user = await addUser(service);
  const before = service.service.deps.hasher.stats().verifications;
  const answers = await together(50, () => logIn(client, user.email, WRONG));
  assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: 45 });
  assert.equal(service.service.deps.hasher.stats().verifications - before, 50);
  await assertLockedOnce(user.email);
  const mail = await anyMailTo(user.email);
  assert.equal(mail.kind, 'account_locked');
});

// Whichever instance's worker takes the row sends it.
const anyMailTo = (email: string) =>
  eventually(
    () => [...service.mails(), ...twin.mails()].find((mail) => mail.to === email),
    `a mail to ${email}`,
  );

test('of 50 wrong logins at once over two instances exactly five are verified', async () => {
  const user = await addUser(service);
  const answers = await together(50, (index) => logIn(index % 2 ? client : twinClient, user.email, WRONG));
  assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: 45 });
  await assertLockedOnce(user.email);
});

test('wrong logins and wrong current passwords at once share the five', async () => {
  const user = await addUser(service);
  const signedIn = await signIn(service, user);
  const answers = await together(24, (index) =>
    index % 2
      ? logIn(client, user.email, WRONG)
      : signedIn.post('/api/v1/auth/change_password', {
          current_password: WRONG,
          new_password: 'ReplacementPassword!42',
        }),
  );
  const { invalid_credentials = 0, wrong_current_password = 0, account_locked } = codesOf(answers);
  assert.equal(invalid_credentials + wrong_current_password, 5);
  assert.equal(account_locked, 19);
  await assertLockedOnce(user.email);
});

test('the right password is never refused among four wrong ones at the same moment', async () => {
  for (let round = 0; round < 4; round += 1) {
    const user = await addUser(service);
    const answers = await together(5, (index) =>
      logIn(index % 2 ? client : twinClient, user.email, index === 2 ? user.password : WRONG),
    );
    assert.deepEqual(codesOf(answers), { ok: 1, invalid_credentials: 4 });
    const { failures, locked_until } = await counterOf(service, user.email);
    assert.ok(failures <= 4);
    assert.equal(locked_until, null);
  }
});

test('16 right logins at once all succeed, though five are verified at a time', async () => {
  const user = await addUser(service);
  const answers = await together(16, () => logIn(client, user.email, user.password));
  assert.deepEqual(codesOf(answers), { ok: 16 });
  assert.deepEqual(await counterOf(service, user.email), { failures: 0, running: 0, locked_until: null });
});

test('right passwords among a storm of wrong ones give no more than four further guesses each', async () => {
  const user = await addUser(service);
  const answers = await together(30, (index) =>
    logIn(client, user.email, index % 10 === 4 ? user.password : WRONG),
  );
  const { ok = 0, invalid_credentials = 0 } = codesOf(answers);
  // Each success forgets at most the four failures before it.
  assert.ok(invalid_credentials <= 5 + 4 * ok, JSON.stringify(codesOf(answers)));
  const { failures, running } = await counterOf(service, user.email);
  assert.ok(failures <= 5);
  assert.equal(running, 0);
});

test('of 16 attempts at once on a lock that has passed one unlocks it, and five are verified', async () => {
  const user = await addUser(service);
  await failLogins(client, user.email, 5);
  await passLock(service, user.email);
  const answers = await together(16, (index) => logIn(index % 2 ? client : twinClient, user.email, WRONG));
  assert.deepEqual(codesOf(answers), { invalid_credentials: 5, account_locked: 11 });
  assert.equal((await eventsOf(service, 'account_unlocked', { email: user.email })).length, 1);
});

const holdSlots = (where: TestService, email: string, seconds: number) =>
  where.sql(
    `insert into login_attempts (email, slots)
     select $1, jsonb_object_agg('lost-' || n, extract(epoch from clock_timestamp()) + $2::float8)
     from generate_series(1, 5) n`,
    [email, seconds],
  );

test('slots of attempts whose process died stop counting when their lease ends', async () => {
  const user = await addUser(service);
  await holdSlots(service, user.email, -1);
  assert.equal((await logIn(client, user.email, user.password)).status, 200);
});

test('an attempt waits while others hold every slot, and is verified when one is free', async () => {
  const user = await addUser(service);
  await holdSlots(service, user.email, 0.6);
  const began = performance.now();
  assert.equal((await logIn(client, user.email, user.password)).status, 200);
  assert.ok(performance.now() - began > 400, 'it did not wait for a slot');
});
