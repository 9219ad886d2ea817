// A sign-in takes two commits, however it ends: one before the password is verified, one that settles everything after it.
// It must not count what limits by client address cost: they are counted before the sign-in.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newEmail, PASSWORD, signIn, startTestService } from '@castellan/testing/harness';
import { addAppUser, codeOf, completeSignIn } from '@castellan/testing/second-factors/app';
import { browserWith, deviceTokens } from '@castellan/testing/second-factors/devices';
import { addUser, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { counterOf, failLogins, logIn, WRONG } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { statementsOf } from '@castellan/testing/statements';

const service = await startTestService({ after }, { RATE_LIMIT_LOGIN: 'off', CONCURRENT_SESSION_LIMIT: '1' });
const client = service.client();

type Cost = { code: string; statements: number; transactions: number };

/** Returns what a request costs. A statement outside a transaction is one of its own; `set local` is a statement. */
async function costOf(request: () => ReturnType<typeof logIn>): Promise<Cost> {
  let code = '';
  const texts = await statementsOf(async () => {
    const { status, body } = await request();
    code = body.code ?? String(status);
  });
  const cost: Cost = { code, statements: 0, transactions: 0 };
  let isOpen = false;
  for (const text of texts) {
    if (/^\s*begin/i.test(text)) isOpen = true;
    else if (/^\s*(commit|rollback)\b(?! to)/i.test(text)) isOpen = false;
    else {
      cost.statements += 1;
      if (isOpen) continue;
    }
    if (!isOpen) cost.transactions += 1;
  }
  return cost;
}

const costOfLogin = (email: string, password = PASSWORD): Promise<Cost> =>
  costOf(() => logIn(client, email, password));

// The graph of permissions is loaded, and the statements below are those of any later sign-in.
await costOfLogin((await addUser(service)).email);

test('a sign-in sends six statements in two transactions', async () => {
  const { email } = await addUser(service);
  assert.deepEqual(await costOfLogin(email), { code: '200', statements: 6, transactions: 2 });
});

test('a device cookie costs the sign-in of an account without a factor no statement', async () => {
  const { email } = await addUser(service);
  const browser = browserWith(service, ['x'.repeat(43)]);
  await browser.get('/api/v1/auth/csrf-token');
  const cost = await costOf(() => logIn(browser, email, PASSWORD));
  assert.deepEqual(cost, { code: '200', statements: 6, transactions: 2 });
  assert.deepEqual(deviceTokens(browser), ['x'.repeat(43)]);
});

test('the two steps of a sign-in with an app take two commits each', async () => {
  const user = await addAppUser(service);
  const browser = service.client();
  await browser.get('/api/v1/auth/csrf-token');
  let token = '';
  const first = await costOf(async () => {
    const answer = await logIn(browser, user.email, user.password);
    token = answer.body.second_factor.token;
    return answer;
  });
  assert.deepEqual(first, { code: 'second_factor_required', statements: 9, transactions: 2 });
  const second = await costOf(() => completeSignIn(browser, token, { totp: codeOf(user.secret) }));
  // The session of the set-up ends by the limit of one, with a statement and an entry.
  assert.deepEqual(second, { code: '200', statements: 13, transactions: 2 });
});

test('a sign-in that ends an older session sends one statement more, and records both in the same commit', async () => {
  const user = await addUser(service);
  await costOfLogin(user.email);
  assert.deepEqual(await costOfLogin(user.email), { code: '200', statements: 7, transactions: 2 });
  assert.equal((await eventsOf(service, 'login_succeeded', user)).length, 2);
  assert.equal((await eventsOf(service, 'session_revoked', user)).length, 1);
});

for (const [what, email, password] of [
  ['with a wrong password', async () => (await addUser(service)).email, WRONG],
  ['with an unknown email', async () => newEmail(), PASSWORD],
  ['of an inactive account', async () => (await addUser(service, { active: false })).email, PASSWORD],
] as const)
  test(`a sign-in ${what} sends four statements in two transactions`, async () => {
    const cost = await costOfLogin(await email(), password);
    assert.deepEqual(cost, { code: 'invalid_credentials', statements: 4, transactions: 2 });
  });

test('a sign-in of an unverified account sends four statements in two transactions', async () => {
  const { email } = await addUser(service, { verified: false });
  assert.deepEqual(await costOfLogin(email), { code: 'email_not_verified', statements: 4, transactions: 2 });
});

test('the failure that locks an email queues its mail and writes both entries in the same commit', async () => {
  const user = await addUser(service);
  await failLogins(client, user.email, 4);
  const cost = await costOfLogin(user.email, WRONG);
  assert.deepEqual(cost, { code: 'invalid_credentials', statements: 5, transactions: 2 });
  assert.equal((await eventsOf(service, 'account_locked', user)).length, 1);
  assert.equal((await eventsOf(service, 'login_failed', user)).length, 5);
});

test('a wrong current password is counted and recorded in one commit', async () => {
  const user = await addUser(service);
  const own = await signIn(service, user);
  const cost = await costOf(() =>
    own.post('/api/v1/auth/change_password', { current_password: WRONG, new_password: `${PASSWORD}x` }),
  );
  // Before the slot: two lookups of the token, and the account.
  assert.deepEqual(cost, { code: 'wrong_current_password', statements: 7, transactions: 5 });
  assert.equal((await eventsOf(service, 'password_refused', user)).length, 1);
});

test('every sign-in of a minute is recorded: the first ten in their own commit, the others after it', async () => {
  const user = await addUser(service);
  const costs = [];
  for (let count = 0; count < 12; count += 1) costs.push((await costOfLogin(user.email)).transactions);
  assert.deepEqual(costs.slice(0, 10), Array(10).fill(2));
  assert.ok(costs.slice(10).every((transactions) => transactions > 2));
  assert.equal((await eventsOf(service, 'login_succeeded', user)).length, 12);
});

test('an entry that cannot be written undoes no sign-in and no counted failure: both happen once', async () => {
  const [user, other] = [await addUser(service), await addUser(service)];
  await service.sql(`
    create function refuse_entries() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$;
    create trigger refuse_entries before insert on audit_logs for each row execute function refuse_entries()`);
  try {
    assert.equal((await costOfLogin(user.email)).code, '200');
    assert.equal((await costOfLogin(other.email, WRONG)).code, 'invalid_credentials');
  } finally {
    await service.sql('drop trigger refuse_entries on audit_logs; drop function refuse_entries');
  }
  assert.equal((await liveSessionIds(service, user.id)).length, 1);
  assert.deepEqual(await counterOf(service, user.email), { failures: 0, running: 0, locked_until: null });
  assert.deepEqual(await counterOf(service, other.email), { failures: 1, running: 0, locked_until: null });
  const lost = service.logLines.filter((line) => JSON.parse(line).msg === 'audit entry lost');
  assert.deepEqual(lost.map((line) => JSON.parse(line).action).toSorted(), [
    'login_failed',
    'login_succeeded',
  ]);
});
