// Limits of routes, of mails to one email and of registrations from one network are exact over two instances.
// It must not judge the answers that pass, only their number.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths, registration, waitForEmptyOutbox } from '@castellan/testing/accounts/self-service';
import { newEmail } from '@castellan/testing/harness';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { codesOf } from '@castellan/testing/sessions/attempts';
import {
  linksTo,
  login,
  newAccessToken,
  openInstances,
  type RequestSpec,
  sendAtOnce,
  times,
} from './requests.ts';

const scenario = scenariosOf('races');
// The values of the specification; harness.ts switches all limits off.
const limited = {
  RATE_LIMIT_LOGIN: '5/minute',
  RATE_LIMIT_REGISTER: '3/hour',
  RATE_LIMIT_PASSWORD_RESET: '3/hour',
  RATE_LIMIT_NEW_ACCESS_TOKEN: '5/minute',
  RATE_LIMIT_RESEND_VERIFICATION: '3/hour',
};
// The test's address is a trusted proxy, so that it can send any client address.
const limitedInstances = await openInstances({ after }, { TRUSTED_PROXIES: '127.0.0.1', ...limited });

let network = 0;
/** Returns the headers of a client in a network that no other scenario uses. */
const fromNewNetwork = (): string => {
  network += 1;
  return `198.18.${network}.7`;
};

const routes: readonly [name: string, limit: number, call: (email: string) => RequestSpec][] = [
  ['login', 5, (email) => login(email, 'Wrong#Password88')],
  ['register', 3, (email) => ({ path: paths.register, json: registration({ email }) })],
  ['password-reset', 3, (email) => ({ path: paths.requestReset, json: { email } })],
  ['new-access-token', 5, () => newAccessToken('none')],
  ['resend-verification', 3, (email) => ({ path: paths.resend, json: { email } })],
];

scenario(
  'of many requests at once to a limited route exactly the limit passes, in each window',
  async (tally) => {
    const { email } = await addUser(limitedInstances.service);
    for (let round = 0; round < rounds(1, 6); round += 1)
      for (const [name, limit, call] of routes) {
        const address = fromNewNetwork();
        for (let window = 0; window < 3; window += 1) {
          const headers = { 'x-forwarded-for': address };
          // Half name an account, half an unknown email: a limit must not reveal which.
          const requests = times(50, (index) => ({ ...call(index % 2 ? email : newEmail()), headers }));
          const answers = await sendAtOnce(limitedInstances, requests, round + window);
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
          // Ends the window.
          await limitedInstances.service.sql(
            "update rate_limits set reset_at = now() - interval '1 second' where key like $1",
            [`%${address}%`],
          );
        }
      }
  },
);

scenario(
  'of many mails requested at once for one email exactly ACCOUNT_EMAIL_LIMIT are sent',
  async (tally, t) => {
    const own = await openInstances(t, { ACCOUNT_EMAIL_LIMIT: '5/hour' });
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const user = await addUser(own.service);
      const requests = times(30, (index) => ({
        path: paths.requestReset,
        json: { email: index % 2 ? user.email : ` ${user.email.toUpperCase()}` },
      }));
      const answers = await sendAtOnce(own, requests, round);
      tally.tried(30);
      assert.deepEqual(codesOf(answers), { ok: 30 });
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1, 'an answer reveals the limit');
      await waitForEmptyOutbox(own.service);
      assert.equal((await linksTo(own, user.email, 'password_reset', 5)).length, 5);
      tally.held(3);
    }
  },
);

scenario(
  'of many registrations at once from one network exactly REGISTRATION_ABUSE_LIMIT pass',
  async (tally, t) => {
    const own = await openInstances(t, { TRUSTED_PROXIES: '127.0.0.1', REGISTRATION_ABUSE_LIMIT: '6/day' });
    for (let round = 0; round < rounds(1, 6); round += 1) {
      const [, , third] = fromNewNetwork().split('.');
      const requests = times(32, (index) => ({
        path: paths.register,
        json: registration(),
        headers: { 'x-forwarded-for': `198.18.${third}.${index + 1}` },
      }));
      const answers = await sendAtOnce(own, requests, round);
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
