// Exchanged refresh tokens whose rows are deleted are still recognized, also after changes of the deployment.
// It must not wait for the reuse interval: it is 0 here, and the clean-up runs all the time.
import assert from 'node:assert/strict';
import { after } from 'node:test';
import { paths } from '@castellan/testing/accounts/self-service';
import type { TestClient } from '@castellan/testing/client';
import { eventually, signIn } from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { addUser, isAccepted, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { hashOf, readToken } from '@castellan/testing/sessions/own-tokens';
import { openInstances, opens, refreshes } from '../races/requests.ts';

const scenario = scenariosOf('tokens');
const instances = await openInstances(
  { after },
  { REFRESH_REUSE_INTERVAL: '0', CLEANUP_INTERVAL_MINUTES: '0.01' },
);
const { service, visitor } = instances;
const sidOf = (client: TestClient): string => readToken(client.accessToken as string).claims.sid;

const refreshRows = (client: TestClient) =>
  service.sql("select from session_tokens where session_id = $1 and kind = 'refresh'", [sidOf(client)]);

/** Returns every refresh token of the session, oldest first. */
async function exchangeTimes(client: TestClient, count: number): Promise<string[]> {
  const chain = [client.refreshToken as string];
  for (let link = 0; link < count; link += 1) {
    const answer = await visitor.post(paths.refresh, { refresh_token: chain.at(-1) });
    assert.equal(answer.status, 200, answer.text);
    chain.push(answer.body.data.refresh_token);
  }
  return chain;
}

const oneRowLeft = (client: TestClient): Promise<true> =>
  eventually(
    async () => (await refreshRows(client)).length === 1 || undefined,
    'one refresh token on the allowlist',
  );

scenario(
  'a session keeps no row of its exchanged tokens, and reuse of the oldest still ends it',
  async (tally) => {
    for (let round = 0; round < rounds(1, 5); round += 1) {
      const user = await addUser(service);
      const client = await signIn(service, user);
      const chain = await exchangeTimes(client, rounds(10, 60));
      await oneRowLeft(client);
      const stolen = await visitor.post(paths.refresh, { refresh_token: chain[0] });
      assert.equal(stolen.status, 401, stolen.text);
      assert.deepEqual(await liveSessionIds(service, user.id), []);
      assert.equal(await refreshes(instances, chain.at(-1) as string), false);
      assert.equal(await opens(instances, client.accessToken as string), false);
      assert.equal((await eventsOf(service, 'refresh_token_reuse', user)).length, 1);
      tally.tried(chain.length);
      tally.held(5);
    }
    tally.held(await assertSound(service));
  },
);

scenario('reuse is recognized also after PUBLIC_URL has changed', async (tally) => {
  const moved = await service.another({ PUBLIC_URL: 'https://moved.test' });
  const user = await addUser(service);
  const client = await signIn(service, user);
  const [first] = await exchangeTimes(client, 2);
  await oneRowLeft(client);
  const answer = await visitor.at(moved.url).post(paths.refresh, { refresh_token: first });
  assert.equal(answer.status, 401, answer.text);
  assert.deepEqual(await liveSessionIds(service, user.id), []);
  tally.tried();
  tally.held();
});

scenario(
  'a token that the database has lost with its exchange is refused and ends nothing; its predecessor still serves',
  async (tally) => {
    const user = await addUser(service);
    const client = await signIn(service, user);
    const before = client.refreshToken as string;
    // Makes the session a minute old, and the exchange newer than what a failover or a restored backup kept.
    await service.sql("update sessions set last_used_at = last_used_at - interval '1 minute' where id = $1", [
      sidOf(client),
    ]);
    const [kept] = await service.sql('select * from sessions where id = $1', [sidOf(client)]);
    const [, lost] = await exchangeTimes(client, 1);
    await service.sql('update sessions set last_used_at = $2, expires_at = $3 where id = $1', [
      sidOf(client),
      kept?.last_used_at,
      kept?.expires_at,
    ]);
    await service.sql('delete from session_tokens where session_id = $1', [sidOf(client)]);
    await service.sql(
      `insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
       values ($1, $2, $3, 'refresh', $4, 'none', now(), now() + interval '1 day')`,
      [user.id, hashOf(before), sidOf(client), readToken(before).claims.jti],
    );
    const answer = await visitor.post(paths.refresh, { refresh_token: lost });
    assert.equal(answer.status, 401, answer.text);
    assert.deepEqual(await eventsOf(service, 'refresh_token_reuse', user), []);
    assert.deepEqual(await liveSessionIds(service, user.id), [sidOf(client)]);
    const again = await visitor.post(paths.refresh, { refresh_token: before });
    assert.equal(again.status, 200, again.text);
    tally.tried(2);
    tally.held(4);
  },
);

scenario(
  'an exchanged token of an ended, expired or deleted session is refused without an event',
  async (tally) => {
    for (const change of [
      'update sessions set revoked_at = now() where user_id = $1',
      'update sessions set expires_at = now() where user_id = $1',
      'update users set session_epoch = session_epoch + 1 where id = $1',
      'update users set is_active = false where id = $1',
      'delete from users where id = $1',
    ]) {
      const user = await addUser(service);
      const client = await signIn(service, user);
      const [first] = await exchangeTimes(client, 1);
      assert.ok(await isAccepted(service, client.accessToken as string));
      await service.sql(change, [user.id]);
      assert.equal((await visitor.post(paths.refresh, { refresh_token: first })).status, 401, change);
      assert.equal(await opens(instances, client.accessToken as string), false, change);
      assert.deepEqual(await eventsOf(service, 'refresh_token_reuse', user), [], change);
      tally.tried(2);
      tally.held(3);
    }
  },
);
