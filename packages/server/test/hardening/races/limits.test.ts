// Limits of routes, of mails to an address and of registrations from a network, exact over two instances.
// It must not judge what a limit lets through, only how much.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { outboxSettled, paths, registration } from '../../accounts/self-service.ts';
import { newEmail } from '../../harness.ts';
import { addUser } from '../../sessions/accounts.ts';
import { codesOf } from '../../sessions/attempts.ts';
import { rounds, scenariosOf } from '../scenario.ts';
import { type Blank, fire, linksTo, login, newAccessToken, openRange, times } from './shots.ts';

const scenario = scenariosOf('races');
// The specification's own values, since harness.ts switches all limits off.
const limited = {
  RATE_LIMIT_LOGIN: '5/minute',
  RATE_LIMIT_REGISTER: '3/hour',
  RATE_LIMIT_PASSWORD_RESET: '3/hour',
  RATE_LIMIT_NEW_ACCESS_TOKEN: '5/minute',
  RATE_LIMIT_RESEND_VERIFICATION: '3/hour',
};
// The test's own address is a trusted proxy, so that it can come from any address.
const strict = await openRange({ after }, { TRUSTED_PROXIES: '127.0.0.1', ...limited });

let network = 0;
/** As if from a network that no other scenario uses. */
const fromNewNetwork = (): string => {
  network += 1;
  return `198.18.${network}.7`;
};

const routes: readonly [name: string, limit: number, call: (email: string) => Blank][] = [
  ['login', 5, (email) => login(email, 'Wrong#Password88')],
  ['register', 3, (email) => ({ path: paths.register, json: registration({ email }) })],
  ['password-reset', 3, (email) => ({ path: paths.requestReset, json: { email } })],
  ['new-access-token', 5, () => newAccessToken('none')],
  ['resend-verification', 3, (email) => ({ path: paths.resend, json: { email } })],
];

scenario(
  'of many calls at once of a limited route exactly the limit is let through, again in each window',
  async (tally) => {
    const { email } = await addUser(strict.service);
    for (let round = 0; round < rounds(1, 6); round += 1)
      for (const [name, limit, call] of routes) {
        const address = fromNewNetwork();
        for (let window = 0; window < 3; window += 1) {
          const headers = { 'x-forwarded-for': address };
          // Half of them about an account, half about nobody: a limit must not tell which.
          const shots = times(50, (index) => ({ ...call(index % 2 ? email : newEmail()), headers }));
          const answers = await fire(strict, shots, round + window);
          tally.tried(50);
          assert.equal(
            codesOf(answers).rate_limited,
            50 - limit,
            `${name}: ${JSON.stringify(codesOf(answers))}`,
          );
          const left = answers
            .filter(({ status }) => status !== 429)
            .map(({ headers: sent }) => Number(sent.get('ratelimit-remaining')));
          assert.deepEqual(
            left.sort(),
            times(limit, (index) => index),
          );
          for (const answer of answers)
            if (answer.status === 429) assert.ok(Number(answer.headers.get('retry-after')) >= 1);
          tally.held(3);
          // As if the window had passed.
          await strict.service.sql(
            "update rate_limits set reset_at = now() - interval '1 second' where key like $1",
            [`%${address}%`],
          );
        }
      }
  },
);

scenario(
  'of many requests at once for mails to one address exactly as many are sent as ACCOUNT_EMAIL_LIMIT says',
  async (tally, t) => {
    const own = await openRange(t, { ACCOUNT_EMAIL_LIMIT: '5/hour' });
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const user = await addUser(own.service);
      const shots = times(30, (index) => ({
        path: paths.requestReset,
        json: { email: index % 2 ? user.email : ` ${user.email.toUpperCase()}` },
      }));
      const answers = await fire(own, shots, round);
      tally.tried(30);
      assert.deepEqual(codesOf(answers), { ok: 30 });
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1, 'an answer tells of the limit');
      await outboxSettled(own.service);
      assert.equal((await linksTo(own, user.email, 'password_reset', 5)).length, 5);
      tally.held(3);
    }
  },
);

scenario(
  'of many registrations at once from one network exactly as many pass as REGISTRATION_ABUSE_LIMIT says',
  async (tally, t) => {
    const own = await openRange(t, { TRUSTED_PROXIES: '127.0.0.1', REGISTRATION_ABUSE_LIMIT: '6/day' });
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const [, , third] = fromNewNetwork().split('.');
      const shots = times(32, (index) => ({
        path: paths.register,
        json: registration(),
        headers: { 'x-forwarded-for': `198.18.${third}.${index + 1}` },
      }));
      const answers = await fire(own, shots, round);
      tally.tried(32);
      const opened = answers.filter(({ status }) => status === 201);
      assert.equal(opened.length, 6, JSON.stringify(codesOf(answers)));
      assert.equal(codesOf(answers).registration_refused, 26);
      const ids = opened.map(({ body }) => body.data.id);
      const rows = await own.service.sql('select from users where id = any($1::uuid[])', [ids]);
      assert.equal(rows.length, 6);
      tally.held(3);
    }
  },
);
