// Registrations with another person's email: the owner of the mailbox decides, and can always register.
// It must take links from the mails, not from the code that makes them.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths, registration, strongPasswords } from '@castellan/testing/accounts/self-service';
import type { Answer } from '@castellan/testing/client';
import { newEmail, startTestService } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { codesOf } from '@castellan/testing/sessions/attempts';
import { linksTo, login, openInstances, sendAtOnce, times } from '../requests.ts';

const scenario = scenariosOf('races');
// The lockout is off, so that it cannot decide a race.
const instances = await openInstances({ after }, { ACCOUNT_LOCKOUT_ATTEMPTS: '1000' });
const { service, visitor } = instances;
const [STRANGERS = '', OWNERS = ''] = strongPasswords;

async function registeredByStranger(): Promise<{ email: string; token: string }> {
  const email = newEmail();
  const answer = await visitor.post(paths.register, registration({ email, password: STRANGERS }));
  assert.equal(answer.status, 201, answer.text);
  const [token = ''] = await linksTo(instances, email, 'verification', 1);
  return { email, token };
}

scenario(
  'of confirming, confirming with a new password and declining at once exactly one is done, and it holds',
  async (tally) => {
    for (let round = 0; round < rounds(2, 20); round += 1) {
      const { email, token } = await registeredByStranger();
      const requests = times(15, (index) =>
        index % 3 === 0
          ? { path: paths.decline, json: { token } }
          : { path: paths.verify, json: { token, ...(index % 3 === 1 ? { new_password: OWNERS } : {}) } },
      );
      const answers = await sendAtOnce(instances, requests, round);
      tally.tried(answers.length);
      const winners = answers.flatMap(({ status }, index) => (status === 200 ? [index % 3] : []));
      assert.equal(winners.length, 1, JSON.stringify(codesOf(answers)));
      const opens = await sendAtOnce(
        instances,
        [STRANGERS, OWNERS].map((password) => login(email, password)),
      );
      const [strangerIn, ownerIn] = opens.map(({ status }) => status === 200);
      assert.deepEqual([strangerIn, ownerIn], [winners[0] === 2, winners[0] === 1]);
      tally.held(2);
    }
    tally.held(await assertSound(service));
  },
);

/** Sends again, up to 20 times, after `overloaded`: a busy machine had no time to hash, and nothing was counted. */
async function answered(send: () => Promise<Answer>): Promise<Answer> {
  for (let asked = 1; ; asked += 1) {
    const answer = await send();
    if (answer.body?.code !== 'overloaded' || asked === 20) return answer;
  }
}

scenario(
  "a stranger's requests with another person's email, refused or not, do not keep its owner from registering",
  async (tally, t) => {
    const limited = await startTestService(t, { ACCOUNT_EMAIL_LIMIT: '5/hour' });
    const stranger = limited.client();
    for (let round = 0; round < rounds(2, 10); round += 1) {
      const email = newEmail();
      for (let bad = 0; bad < 8; bad += 1) {
        const body = registration({ email, ...(bad % 2 ? { password: 'x' } : { first_name: '<b>' }) });
        assert.equal((await answered(() => stranger.post(paths.register, body))).status, 400);
        tally.tried();
      }
      // The stranger creates an account, then registers the same email again and again.
      const register = () => stranger.post(paths.register, registration({ email }));
      assert.equal((await answered(register)).status, 201);
      for (let again = 0; again < 8; again += 1) {
        assert.equal((await answered(register)).status, 409);
        tally.tried();
      }
      const { token } = await limited.mailTo(email);
      const owner = limited.client();
      assert.equal((await owner.post(paths.decline, { token })).status, 200);
      const own = await answered(() => owner.post(paths.register, registration({ email, password: OWNERS })));
      assert.equal(own.status, 201, own.text);
      tally.held(2);
    }
  },
);
