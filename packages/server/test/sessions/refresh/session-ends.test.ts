// SESSION_MAX_DAYS and SESSION_IDLE_MINUTES: when a session ends however it is used, and what its tokens and its list say.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addUser, isAccepted, liveSessionIds } from '@castellan/testing/sessions/accounts';
import { eventsOf } from '@castellan/testing/sessions/audit-events';
import { readToken } from '@castellan/testing/sessions/own-tokens';

const MINUTE = 60;
const DAY = 86_400;
const service = await startTestService({ after });
const oneDay = await service.another({ SESSION_MAX_DAYS: '1' });
const unlimited = await service.another({ SESSION_MAX_DAYS: '0', REFRESH_TOKEN_EXPIRE_DAYS: '365' });
const idle = await service.another({ SESSION_IDLE_MINUTES: '20' });

const claimsOf = (token: string | null) => readToken(token as string).claims;
const lifetimeOf = (token: string | null): number => claimsOf(token).exp - claimsOf(token).iat;

/** Makes the session appear to have begun so many seconds ago. */
const age = (client: TestClient, seconds: number) =>
  service.sql('update sessions set created_at = created_at - make_interval(secs => $2) where id = $1', [
    claimsOf(client.accessToken).sid,
    seconds,
  ]);

const rotate = (client: TestClient, token = client.refreshToken): Promise<Answer> =>
  client.post('/api/v1/auth/refresh', { refresh_token: token }, { headers: { cookie: csrfOnly(client) } });
// For a client that does not keep the refresh token as a cookie.
const csrfOnly = (client: TestClient): string | null => {
  const csrf = client.cookies.get('csrf_token');
  return csrf ? `csrf_token=${csrf}` : null;
};
const renew = (client: TestClient): Promise<Answer> => client.post('/api/v1/auth/new_access_token');

/** Returns when the session began and ends, in seconds. */
async function shown(client: TestClient): Promise<{ began: number; ends: number }> {
  const { data } = (await client.get('/api/v1/auth/sessions')).body;
  const [session] = data.filter((one: { current: boolean }) => one.current);
  return { began: Date.parse(session.created_at) / 1_000, ends: Date.parse(session.expires_at) / 1_000 };
}

const begun = async (on: TestService) => {
  const user = await addUser(on);
  return { user, client: await signIn(on, user) };
};

function assertRefused(answer: Answer): void {
  assert.equal(answer.status, 401, answer.text);
  assert.equal(answer.body.code, 'refresh_token_invalid');
}

test('by default, tokens last as ever, and a session ends with its refresh token', async () => {
  const { client } = await begun(service);
  assert.equal(lifetimeOf(client.accessToken), 30 * MINUTE);
  assert.equal(lifetimeOf(client.refreshToken), 7 * DAY);
  assert.equal((await shown(client)).ends, claimsOf(client.refreshToken).exp);
  await age(client, 80 * DAY);
  assert.equal(lifetimeOf((await rotate(client)).body.data.refresh_token), 7 * DAY);
});

test('no token of a session is valid for longer than SESSION_MAX_DAYS after the sign-in', async () => {
  const { client } = await begun(oneDay);
  assert.equal(lifetimeOf(client.refreshToken), DAY);
  const { began, ends } = await shown(client);
  assert.ok(ends - began <= DAY && ends - began > DAY - 5);
  await age(client, DAY - 10 * MINUTE);
  const end = (await shown(client)).began + DAY;
  const byCookie = await renew(client);
  const byBody = await rotate(client);
  for (const token of [
    byCookie.body.data.access_token,
    byBody.body.data.access_token,
    byBody.body.data.refresh_token,
  ]) {
    const { exp, iat } = claimsOf(token);
    assert.ok(exp <= end && exp > end - 2, `${end - exp} s before the end`);
    assert.ok(exp - iat <= 10 * MINUTE);
  }
  assert.ok((await shown(client)).ends <= end);
  assert.equal((await rotate(client, byBody.body.data.refresh_token)).status, 200);
});

test('tokens of a step-up end with the session, too', async () => {
  const { user, client } = await begun(oneDay);
  await age(client, DAY - 10 * MINUTE);
  const answer = await client.post('/api/v1/auth/step-up', { password: user.password });
  assert.equal(answer.status, 200, answer.text);
  const end = (await shown(client)).began + DAY;
  assert.ok(claimsOf(answer.body.data.access_token).exp <= end);
  assert.ok(claimsOf(answer.body.data.refresh_token).exp <= end);
  assert.ok((await shown(client)).ends <= end);
});

test('a session from before a shorter limit ends at its next refresh, alone and with a reason', async () => {
  const { user, client } = await begun(service);
  const other = await signIn(service, user);
  await age(client, DAY + MINUTE);
  assert.ok(await isAccepted(oneDay, client.accessToken as string), 'until then it lives');
  assertRefused(await rotate(client.at(oneDay.url)));
  assert.deepEqual(await liveSessionIds(service, user.id), [claimsOf(other.accessToken).sid]);
  const [event] = await eventsOf(service, 'refresh_failed', user);
  assert.equal(event?.details.reason, 'session_expired');
  assert.equal(await isAccepted(oneDay, client.accessToken as string), false);
  const [third] = [await signIn(service, user)];
  await age(third, DAY + MINUTE);
  const stepUp = await third.at(oneDay.url).post('/api/v1/auth/step-up', { password: user.password });
  assert.equal(stepUp.status, 401, stepUp.text);
});

test('a new password begins a new session with its whole time', async () => {
  const { user, client } = await begun(oneDay);
  await age(client, DAY - 10 * MINUTE);
  const answer = await client.post('/api/v1/auth/change_password', {
    current_password: user.password,
    new_password: 'Marble?Tundra61Fox',
  });
  assert.equal(answer.status, 200, answer.text);
  assert.equal(lifetimeOf(answer.body.data.refresh_token), DAY);
});

test('with 0, a session that is refreshed goes on for ever', async () => {
  const { client } = await begun(unlimited);
  await age(client, 900 * DAY);
  const answer = await rotate(client);
  assert.equal(lifetimeOf(answer.body.data.refresh_token), 365 * DAY);
});

test('with SESSION_IDLE_MINUTES, a session ends so long after its last refresh, by cookie or by body', async () => {
  const { client } = await begun(idle);
  assert.equal(
    lifetimeOf(client.accessToken),
    10 * MINUTE,
    'half of it, so that clients in use refresh in time',
  );
  assert.equal(lifetimeOf(client.refreshToken), 7 * DAY, 'its session ends before it');
  /** By the clock of the database, which writes both times: how long the request took does not count. */
  const lastsAnew = async () => {
    const [row] = await service.sql<{ lasts: boolean }>(
      "select expires_at - last_used_at between interval '19 minutes' and interval '21 minutes' as lasts from sessions where id = $1",
      [claimsOf(client.accessToken).sid],
    );
    return row?.lasts;
  };
  assert.equal(await lastsAnew(), true);
  for (const refresh of [renew, rotate]) {
    await service.sql("update sessions set expires_at = expires_at - interval '15 minutes' where id = $1", [
      claimsOf(client.accessToken).sid,
    ]);
    assert.equal(await lastsAnew(), false);
    assert.equal((await refresh(client)).status, 200);
    assert.equal(await lastsAnew(), true, refresh.name);
  }
});

test('a session that was not refreshed in time is over, with its access tokens and its cookie', async () => {
  const { user, client } = await begun(idle);
  await service.sql("update sessions set expires_at = now() - interval '1 second' where id = $1", [
    claimsOf(client.accessToken).sid,
  ]);
  assert.equal(await isAccepted(idle, client.accessToken as string), false);
  assertRefused(await renew(client));
  assert.deepEqual(await liveSessionIds(service, user.id), []);
});

test('a session from before SESSION_IDLE_MINUTES gets it at its next refresh, and loses it again', async () => {
  const { client } = await begun(service);
  const before = await shown(client);
  assert.equal((await renew(client.at(idle.url))).status, 200);
  assert.ok((await shown(client)).ends < before.ends - DAY);
  assert.equal((await renew(client)).status, 200);
  assert.equal((await shown(client)).ends, before.ends);
});
