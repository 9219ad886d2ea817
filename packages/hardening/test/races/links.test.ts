// Mailed links that are used many times at once, or while they are replaced: each works once, and only the newest
// works. It must take links from the mails, not from the code that makes them.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { confirmReset, paths, registration, strongPasswords } from '@castellan/testing/accounts/self-service';
import { newEmail } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { changeUserWhileWaiting } from '@castellan/testing/sessions/hold-user';
import { hashOf } from '@castellan/testing/sessions/own-tokens';
import { firstResetLink, linksTo, login, openInstances, sendAmong, sendAtOnce, times } from './requests.ts';

const scenario = scenariosOf('races');
// The lockout is off, so that it cannot decide a race.
const instances = await openInstances({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '1000' });
const { service, visitor } = instances;

async function unverified(): Promise<{ id: string; email: string; token: string }> {
  const email = newEmail();
  const answer = await visitor.post(paths.register, registration({ email }));
  const [token] = await linksTo(instances, email, 'verification', 1);
  return { id: answer.body.data.id, email, token: token as string };
}

const isVerified = async (id: string): Promise<boolean> => {
  const [row] = await service.sql<{ verified: boolean }>('select verified from users where id = $1', [id]);
  return row?.verified === true;
};

// Endings that the password policy accepts: no sequences, no repeated characters.
const endings = ['Kt', 'mW', 'Rj', 'vB', 'Zg', 'hD', 'Qn'];
/** 56 different passwords that the policy accepts. */
const passwords = endings.flatMap((ending) => strongPasswords.map((one) => `${one}~${ending}`));

scenario('of many uses of one verification link at once exactly one succeeds', async (tally) => {
  for (let round = 0; round < rounds(2, 15); round += 1) {
    const { id, token } = await unverified();
    const requests = times(50, () => ({ path: paths.verify, json: { token } }));
    const answers = await sendAtOnce(instances, requests, round);
    tally.tried(answers.length);
    assert.deepEqual(codesOf(answers), { ok: 1, already_verified: 49 });
    assert.ok(await isVerified(id));
    assert.equal((await eventsOf(service, 'email_verified', { id })).length, 1);
    tally.held(3);
  }
  tally.held(await assertSound(service));
});

scenario(
  'of many uses of one reset link at once, each with another password, one succeeds and its password holds',
  async (tally) => {
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const user = await addUser(service);
      const token = await firstResetLink(instances, user.email);
      const requests = times(50, (index) => ({
        path: paths.confirmReset,
        json: { token, new_password: passwords[index] },
      }));
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(answers.length);
      assert.deepEqual(codesOf(answers), { ok: 1, reset_token_invalid: 49 });
      const set = passwords[answers.findIndex(({ status }) => status === 200)];
      const tries = await sendAtOnce(
        instances,
        [...passwords.slice(0, 50), user.password].map((password) => login(user.email, password)),
      );
      assert.deepEqual(codesOf(tries), { ok: 1, invalid_credentials: 50 });
      assert.equal(
        tries.findIndex(({ status }) => status === 200),
        passwords.indexOf(set as string),
      );
      assert.equal((await eventsOf(service, 'password_reset', user)).length, 1);
      const history = await service.sql('select from password_history where user_id = $1', [user.id]);
      assert.equal(history.length, 1);
      tally.held(5);
    }
    tally.held(await assertSound(service));
  },
);

/** Returns the tokens that are usable according to the test's own query. */
async function usable(tokens: readonly string[]): Promise<string[]> {
  const rows = await service.sql<{ hash: string }>(
    `select encode(token_hash, 'hex') as hash from one_time_tokens where used_at is null
     and token_hash = any($1::bytea[]) and created_at = (
       select max(created_at) from one_time_tokens where token_hash = any($1::bytea[]))`,
    [tokens.map(hashOf)],
  );
  return tokens.filter((token) => rows.some(({ hash }) => hash === hashOf(token).toString('hex')));
}

scenario('of the reset links of many requests at once only the newest works', async (tally) => {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const user = await addUser(service);
    const asked = await sendAtOnce(
      instances,
      times(30, () => ({ path: paths.requestReset, json: { email: user.email } })),
      round,
    );
    assert.deepEqual(codesOf(asked), { ok: 30 });
    const tokens = await linksTo(instances, user.email, 'password_reset', 30);
    assert.equal(new Set(tokens).size, 30);
    const newest = await usable(tokens);
    assert.equal(newest.length, 1);
    // The policy refuses this password, and judges it only after the link was found valid.
    const answers = await sendAtOnce(
      instances,
      tokens.map((token) => ({ path: paths.confirmReset, json: { token, new_password: 'short' } })),
    );
    assert.deepEqual(codesOf(answers), { password_rejected: 1, reset_token_invalid: 29 });
    assert.equal(
      answers.findIndex(({ body }) => body.code === 'password_rejected'),
      tokens.indexOf(newest[0] as string),
    );
    assert.equal((await confirmReset(visitor, newest[0] as string, strongPasswords[0])).status, 200);
    tally.tried(60);
    tally.held(5);
  }
  tally.held(await assertSound(service));
});

scenario('of the verification links of many requests at once only the newest works', async (tally) => {
  for (let round = 0; round < rounds(2, 10); round += 1) {
    const { id, email } = await unverified();
    await sendAtOnce(
      instances,
      times(29, () => ({ path: paths.resend, json: { email } })),
      round,
    );
    const tokens = await linksTo(instances, email, 'verification', 30);
    const [newest, ...more] = await usable(tokens);
    assert.ok(newest && more.length === 0);
    const old = tokens.filter((token) => token !== newest);
    const answers = await sendAtOnce(
      instances,
      old.map((token) => ({ path: paths.verify, json: { token } })),
    );
    assert.deepEqual(codesOf(answers), { verification_token_invalid: 29 });
    assert.equal(await isVerified(id), false);
    assert.equal((await visitor.post(paths.verify, { token: newest })).status, 200);
    tally.tried(59);
    tally.held(4);
  }
  tally.held(await assertSound(service));
});

scenario(
  'a verification link used while new ones are requested causes no error, and its answer is true',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const { id, email, token } = await unverified();
      const others = times(16, () => ({ path: paths.resend, json: { email } }));
      const [verified, resent] = await sendAmong(
        instances,
        round,
        { path: paths.verify, json: { token } },
        others,
      );
      tally.tried(17);
      assert.deepEqual(codesOf(resent), { ok: 16 });
      // If the link was replaced before its use, the account is still unverified, and a newer link works.
      assert.ok([200, 400].includes(verified.status), verified.text);
      assert.equal(await isVerified(id), verified.status === 200);
      tally.held(3);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'a reset link used while new ones are requested sets the password or is refused as invalid',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const user = await addUser(service);
      const token = await firstResetLink(instances, user.email);
      const others = times(15, () => ({ path: paths.requestReset, json: { email: user.email } }));
      const one = { path: paths.confirmReset, json: { token, new_password: strongPasswords[0] } };
      const [reset, asked] = await sendAmong(instances, round, one, others);
      tally.tried(16);
      assert.deepEqual(codesOf(asked), { ok: 15 });
      if (reset.status !== 200) assert.equal(reset.body.code, 'reset_token_invalid', reset.text);
      const holds = reset.status === 200 ? strongPasswords[0] : user.password;
      for (const password of [strongPasswords[0], user.password]) {
        const { status } = await service.client().login({ email: user.email, password });
        assert.equal(status, password === holds ? 200 : 422);
      }
      tally.held(4);
    }
    tally.held(await assertSound(service));
  },
);

scenario(
  'a reset link is refused if the account is deactivated or gets another email while the link is used',
  async (tally) => {
    for (const change of [
      'update users set is_active = false where id = $1',
      "update users set email = 'moved-' || email where id = $1",
    ]) {
      const user = await addUser(service);
      const token = await firstResetLink(instances, user.email);
      const answer = await changeUserWhileWaiting(service, user.id, change, () =>
        confirmReset(visitor, token, strongPasswords[0]),
      );
      tally.tried();
      assert.equal(answer.status, 400, answer.text);
      assert.equal(answer.body.code, 'reset_token_invalid');
      const rows = await service.sql('select from users where id = $1 and password_epoch = 0', [user.id]);
      assert.equal(rows.length, 1, 'the password was replaced');
      tally.held(2);
    }
  },
);
