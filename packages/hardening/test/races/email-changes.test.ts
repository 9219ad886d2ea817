// Changes of one's own email address that race with each other and with their undo: one account gets an address, a link works once,
// and the link to the oldest address wins. It must take links from the mails, not from the code that makes them.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { newEmail, PASSWORD, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { type Account, addUser } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { linksTo, openInstances, sendAtOnce, times } from './requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances({ after }, { ACCOUNT_EMAIL_LIMIT: 'off' });
const { service } = instances;

async function signedIn(): Promise<Account & { client: TestClient }> {
  const user = await addUser(service);
  return { ...user, client: await signIn(service, user) };
}
const emailOf = async ({ id }: { id: string }): Promise<string | undefined> =>
  (await service.sql<{ email: string }>('select email from users where id = $1', [id]))[0]?.email;

async function request(client: TestClient, to: string): Promise<void> {
  const answer = await client.post(paths.changeEmail, { new_email: to, current_password: PASSWORD });
  assert.equal(answer.status, 202, answer.text);
}
/** Returns the token of the mail to a new address, which no other request named. */
async function requestTo(client: TestClient, to: string): Promise<string> {
  await request(client, to);
  return (await linksTo(instances, to, 'email_change', 1))[0] as string;
}
/** Changes the address for the first time from this one. Returns the token that undoes it. */
async function change(client: TestClient, from: string, to: string): Promise<string> {
  const token = await requestTo(client, to);
  assert.equal((await instances.visitor.post(paths.confirmEmail, { token })).status, 200);
  return (await linksTo(instances, from, 'email_changed', 1))[0] as string;
}

const confirmation = (token: string) => ({ path: paths.confirmEmail, json: { token } });
const undo = (token: string) => ({ path: paths.undoEmail, json: { token } });

scenario('of many uses of one confirmation at once exactly one succeeds', async (tally) => {
  for (let round = 0; round < rounds(1, 10); round += 1) {
    const user = await signedIn();
    const to = newEmail('new');
    const token = await requestTo(user.client, to);
    const answers = await sendAtOnce(
      instances,
      times(30, () => confirmation(token)),
      round,
    );
    assert.deepEqual(codesOf(answers), { ok: 1, email_change_token_invalid: 29 });
    assert.equal(await emailOf(user), to);
    assert.equal((await eventsOf(service, 'email_changed', user)).length, 1);
    tally.tried(answers.length);
    tally.held(3);
  }
  tally.held(await assertSound(service));
});

scenario('of many accounts that confirm one address at once exactly one gets it', async (tally) => {
  for (let round = 0; round < rounds(1, 10); round += 1) {
    const wanted = newEmail('wanted');
    const users = await Promise.all(times(8, signedIn));
    for (const { client } of users) await request(client, wanted);
    const tokens = await linksTo(instances, wanted, 'email_change', users.length);
    const answers = await sendAtOnce(instances, tokens.map(confirmation), round);
    assert.deepEqual(codesOf(answers), { ok: 1, email_taken: 7 });
    const moved = [];
    for (const user of users) if ((await emailOf(user)) !== user.email) moved.push(await emailOf(user));
    assert.deepEqual(moved, [wanted]);
    tally.tried(answers.length);
    tally.held(2);
  }
  tally.held(await assertSound(service));
});

scenario('the undo of the owner wins against every further change and undo of a hijacker', async (tally) => {
  for (let round = 0; round < rounds(3, 20); round += 1) {
    const user = await signedIn();
    const second = newEmail('second');
    const owners = await change(user.client, user.email, second);
    const hijackers = await change(user.client, second, newEmail('third'));
    const further = await requestTo(user.client, newEmail('fourth'));
    const [answer, ...others] = await sendAtOnce(
      instances,
      [undo(owners), confirmation(further), undo(hijackers), undo(hijackers)],
      round,
    );
    assert.equal(answer?.status, 200, answer?.text);
    assert.ok(others.every(({ status }) => status === 200 || status === 400));
    assert.equal(await emailOf(user), user.email);
    const left = await service.sql(
      `select from one_time_tokens where user_id = $1 and used_at is null and purpose <> 'reset_password'`,
      [user.id],
    );
    assert.deepEqual(left, []);
    assert.deepEqual(await service.sql('select from email_changes where user_id = $1', [user.id]), []);
    tally.tried(4);
    tally.held(4);
  }
  tally.held(await assertSound(service));
});
