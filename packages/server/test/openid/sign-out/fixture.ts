// What the tests of sign-outs share: a person whose browser is known to an application, and requests as browsers send them.
import assert from 'node:assert/strict';
import type { Answer, TestClient } from '@castellan/testing/client';
import { signIn, type TestService } from '@castellan/testing/harness';
import { addPerson, type Person } from '@castellan/testing/users/people';
import { type TestApplication, tokensOf } from '../fixture.ts';

export const AFTERWARDS = 'https://app.example.com/signed-out';
export const LOGOUT = '/api/v1/oauth/logout';

export type InBrowser = { person: Person; client: TestClient; sessionId: string };

/** Returns a new person, or this one, signed in in a browser of their own. */
export async function inBrowser(service: TestService, known?: Person): Promise<InBrowser> {
  const person = known ?? (await addPerson(service));
  const client = await signIn(service, person);
  assert.ok(client.cookies.get('castellan_sso'), 'the browser has the cookie of its session');
  const [row] = await service.sql<{ id: string }>(
    'select id from sessions where user_id = $1 order by created_at desc limit 1',
    [person.id],
  );
  assert.ok(row);
  return { person, client, sessionId: row.id };
}

/** Returns an ID token of this session. */
export const hintOf = async (
  service: TestService,
  application: TestApplication,
  { person, client, sessionId }: InBrowser,
): Promise<string> => (await tokensOf(service, application, { person, client, sessionId })).id_token;

export const logout = (client: TestClient, parameters: Record<string, string> | string): Promise<Answer> =>
  client.get(
    `${LOGOUT}?${typeof parameters === 'string' ? parameters : new URLSearchParams(parameters).toString()}`,
    { headers: { authorization: null } },
  );

export async function isSessionLive(service: TestService, sessionId: string): Promise<boolean> {
  const [row] = await service.sql<{ live: boolean }>(
    'select revoked_at is null as live from sessions where id = $1',
    [sessionId],
  );
  return row?.live ?? false;
}

/** Asserts a redirect that no cache keeps, and returns where to. */
export function locationOf(answer: Answer): string {
  assert.equal(answer.status, 303, answer.text);
  assert.match(answer.headers.get('cache-control') ?? '', /no-store/);
  assert.equal(answer.headers.get('referrer-policy'), 'no-referrer');
  return answer.headers.get('location') ?? '';
}

/** Returns the interaction of the page that asks. */
export function askedIn(answer: Answer): string {
  const [, id] = /\/sign-out\?interaction=([\w-]{43})$/.exec(locationOf(answer)) ?? [];
  assert.ok(id, answer.headers.get('location') ?? '');
  return id;
}

/** Asserts the page that leads nowhere. */
export function assertPage(answer: Answer): void {
  assert.equal(answer.status, 400, answer.text);
  assert.equal(answer.headers.get('location'), null);
  assert.match(answer.headers.get('content-type') ?? '', /^text\/html/);
  assert.deepEqual(answer.headers.getSetCookie(), []);
}

/** Asserts that both cookies of the browser are cleared. */
export function assertCleared(answer: Answer): void {
  const cleared = answer.headers
    .getSetCookie()
    .filter((one) => /max-age=0|expires=thu, 01 jan 1970/i.test(one));
  for (const name of ['refresh_token', 'castellan_sso'])
    assert.ok(
      cleared.some((one) => one.startsWith(`${name}=`)),
      `${name}: ${cleared.join(' | ')}`,
    );
}
