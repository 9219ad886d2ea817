// The limits of one user and of one body: requests beyond them are refused cheaply and clearly.
// It must count statements and answers, and never measure time.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import type { TestClient } from '@castellan/testing/client';
import { createVerifiedUser, signIn, startTestService } from '@castellan/testing/harness';
import { assertRefused } from '@castellan/testing/http/fixture';
import { scenariosOf } from '@castellan/testing/scenario';
import { statementsOf } from '@castellan/testing/statements';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const ME = '/api/v1/users/me';

scenario(
  'a user over the limit is refused without a database statement, and Retry-After says how long',
  async (tally, t) => {
    const limited = await startTestService(t, {
      RATE_LIMIT_USER: '20/minute',
      CONCURRENT_SESSION_LIMIT: '0',
    });
    const [user, neighbour] = [await createVerifiedUser(limited), await createVerifiedUser(limited)];
    const [client, tab, calm] = [
      await signIn(limited, user),
      await signIn(limited, user),
      await signIn(limited, neighbour),
    ];
    await client.get('/api/v1/auth/csrf-token');
    const refusedMe = async (who: TestClient): Promise<void> => {
      const answer = await who.get(ME);
      assertRefused(answer, 429, 'rate_limited');
      const wait = Number(answer.headers.get('retry-after'));
      assert.ok(wait >= 1 && wait <= 60, `Retry-After ${wait}`);
      assert.equal(answer.headers.get('ratelimit-limit'), '20');
      assert.equal(answer.headers.get('ratelimit-remaining'), '0');
    };
    for (let count = 0; count < 20; count += 1) {
      // A change is checked twice and counts once. A refusal for a missing permission counts like any request.
      const path = count % 2 ? '/api/v1/roles' : ME;
      const answer =
        count % 3 ? await client.get(path) : await client.put(ME, { first_name: `Ada ${count}` });
      assert.ok(answer.status === 200 || answer.status === 403, answer.text);
    }
    await refusedMe(client);
    // The first use of another session's token costs one look-up; later uses cost none.
    await refusedMe(tab);
    const statements = await statementsOf(async () => {
      await refusedMe(client);
      await refusedMe(tab);
      // Other spellings of the header carry the same token.
      for (const scheme of ['bearer', 'BEARER', 'Bearer  ', `bEARER${' '.repeat(1_000)}`]) {
        const headers = { authorization: `${scheme} ${client.accessToken}` };
        const answer = await limited.client().request('GET', ME, { headers });
        assertRefused(answer, 429, 'rate_limited');
      }
    });
    assert.deepEqual(statements, []);
    assert.equal((await calm.get(ME)).status, 200);
    const entries = await limited.sql(
      "select from audit_logs where action = 'rate_limited' and actor_id = $1 and details->>'limit' = 'user'",
      [user.id],
    );
    assert.equal(entries.length, 1);
    tally.tried(30);
    tally.held(31);
  },
);

scenario(
  'a user whose requests a stolen token uses up can still list and end sessions and change the password',
  async (tally, t) => {
    const limited = await startTestService(t, { RATE_LIMIT_USER: '5/minute', CONCURRENT_SESSION_LIMIT: '0' });
    const user = await createVerifiedUser(limited);
    const [thief, owner] = [await signIn(limited, user), await signIn(limited, user)];
    await owner.get('/api/v1/auth/csrf-token');
    const useUp = (path: string) => Promise.all(Array.from({ length: 70 }, () => thief.get(path)));
    await useUp(ME);
    // The thief cannot use up the owner's requests that end access either, because those count per session.
    await useUp('/api/v1/auth/sessions');
    assertRefused(await thief.get('/api/v1/auth/sessions'), 429, 'rate_limited');
    assertRefused(await owner.get(ME), 429, 'rate_limited');
    assert.equal((await owner.get('/api/v1/auth/sessions')).status, 200);
    const changed = await owner.post('/api/v1/auth/change_password', {
      current_password: user.password,
      new_password: 'ReplacementPassword!42',
    });
    assert.equal(changed.status, 200, changed.text);
    owner.accessToken = changed.body.data.access_token;
    assertRefused(await thief.get('/api/v1/auth/sessions'), 401, 'token_revoked');
    const ended = await owner.post('/api/v1/auth/logout/all');
    assert.equal(ended.status, 200, ended.text);
    tally.tried(144);
    tally.held(6);
  },
);

scenario('bodies with too many values are refused for every caller', async (tally) => {
  const client = await signIn(service, await createVerifiedUser(service));
  const arrays = (bytes: number): string =>
    `[${Array(Math.floor(bytes / 3))
      .fill('[]')
      .join(',')}]`;
  const send = (method: string, path: string, raw: string) =>
    client.request(method, path, { raw, headers: { 'content-type': 'application/json' } });
  const answers = [
    await send('POST', '/api/v1/auth/login', arrays(16_383)),
    await send('POST', '/api/v1/auth/login', arrays(65_535)),
    await send('PUT', ME, arrays(131_071)),
    await send('PUT', ME, arrays(1_048_575)),
  ];
  tally.tried(answers.length);
  for (const answer of answers) {
    assertRefused(answer, 413, 'body_too_large');
    assert.match(answer.body.detail, /more than (200|2,000) values|larger than (16|128) KiB/);
    tally.held();
  }
});
