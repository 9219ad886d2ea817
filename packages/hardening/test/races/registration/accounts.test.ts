// Accounts with one email created at once: by registration, by an administrator, by a change of email.
// It must not depend on which request comes first: one is done, and the others are refused.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { entriesAbout } from '@castellan/testing/accounts/audit-trail';
import {
  paths,
  registration,
  strongPasswords,
  waitForEmptyOutbox,
} from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import { newEmail } from '@castellan/testing/harness';
import { assertListed, assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser } from '@castellan/testing/sessions/accounts';
import { linksTo, openInstances, sendAtOnce, times } from '../requests.ts';

const scenario = scenariosOf('races');
const instances = await openInstances({ after });
const { service, admin } = instances;

// They differ in case and in spaces around them only, so they are one email.
const spellings = (email: string): string[] => [
  email,
  ` ${email}`,
  `${email.toUpperCase()} `,
  `  ${email.replace('user', 'USER')}  `,
  email.replace('example', 'Example'),
];

const only = (answers: readonly Answer[], status: number): Answer => {
  const [winner, ...more] = answers.filter((answer) => answer.status === status);
  assert.ok(winner && more.length === 0, `${more.length + Number(Boolean(winner))} answers of ${status}`);
  return winner;
};

const losersAre = (answers: readonly Answer[], code: string): number => {
  const losers = answers.filter(({ status }) => status >= 300);
  for (const { status, body, text } of losers) {
    assert.equal(status, 409, text);
    assert.equal(body.code, code, text);
  }
  return losers.length;
};

scenario(
  'of many registrations of one email at once, in any spelling, exactly one creates an account, with one mail',
  async (tally) => {
    for (let round = 0; round < rounds(2, 12); round += 1) {
      const email = newEmail();
      const spelled = spellings(email);
      const requests = times(32, (index) => ({
        path: paths.register,
        json: registration({ email: spelled[index % spelled.length], first_name: `Ada${index}` }),
      }));
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(answers.length);
      const { data } = only(answers, 201).body;
      const refused = losersAre(answers, 'email_taken');
      assert.equal(refused, 31);
      const rows = await service.sql('select id, first_name, email from users where email = $1', [email]);
      assert.deepEqual(rows, [{ id: data.id, first_name: data.first_name, email }]);
      const links = await service.sql('select from user_roles where user_id = $1', [data.id]);
      assert.equal(links.length, 1);
      await waitForEmptyOutbox(service);
      assert.equal((await linksTo(instances, email, 'verification', 1)).length, 1);
      const actions = (await entriesAbout(service, email)).map(({ action }) => action);
      assert.equal(actions.filter((action) => action === 'user_registered').length, 1);
      assert.equal(actions.filter((action) => action === 'registration_refused').length, 31);
      tally.held(refused + 6);
    }
    tally.held((await assertSound(service)) + (await assertListed(service, admin)));
  },
);

scenario(
  'an email that is registered, assigned by an administrator and claimed by another account at once goes to one of them',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const email = newEmail();
      const movers = await Promise.all(times(4, () => addUser(service)));
      const spelled = spellings(email);
      const requests = times(16, (index) => {
        const spelling = spelled[index % spelled.length];
        if (index % 4 === 0)
          return {
            client: admin,
            method: 'PUT',
            path: `/api/v1/users/${movers[index / 4]?.id}`,
            json: { email: spelling },
          };
        const json = registration({ email: spelling, password: strongPasswords[index % 8] });
        return index % 4 === 1
          ? { client: admin, path: '/api/v1/users', json: { ...json, role_id: [] } }
          : { path: paths.register, json };
      });
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(answers.length);
      const done = answers.filter(({ status }) => status < 300);
      assert.equal(done.length, 1, JSON.stringify(answers.map(({ text }) => text)));
      assert.equal(losersAre(answers, 'email_taken'), 15);
      const rows = await service.sql('select id from users where email = $1', [email]);
      assert.deepEqual(rows, [{ id: done[0]?.body.data.id }]);
      tally.held(17);
    }
    tally.held((await assertSound(service)) + (await assertListed(service, admin)));
  },
);
