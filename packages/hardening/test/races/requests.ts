// Shared by the races of accounts and sessions: sends requests at once to two instances, and asks both about tokens.
// It must not decide who wins: a scenario holds whichever request comes first.
import assert from 'node:assert/strict';
import { type linkTo, mailsTo, paths } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { eventually, type Hooks, type TestService } from '@castellan/testing/harness';
import { readyClient } from '@castellan/testing/sessions/accounts';
import { type Shot, volley } from '@castellan/testing/volley';
import pg from 'pg';
import { holdOf, openPair, type Pair } from '../fixture.ts';

/** Two instances, and a client that is not signed in: it has its CSRF token and never keeps another cookie. */
export type Instances = Pair & { visitor: TestClient };

export async function openInstances(
  hooks: Hooks,
  environment: Record<string, string> = {},
): Promise<Instances> {
  const pair = await openPair(hooks, environment);
  return { ...pair, visitor: await readyClient(pair.service) };
}

/** One request of a race. Without `method` it is a POST; without `client` the visitor sends it. */
export type RequestSpec = Pick<Shot, 'path' | 'json' | 'raw' | 'headers'> & {
  client?: TestClient;
  method?: string;
};

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** Sends all requests at once, alternating between the instances; `round` changes which request goes where. */
export const sendAtOnce = (
  instances: Instances,
  requests: readonly RequestSpec[],
  round = 0,
): Promise<Answer[]> =>
  volley(
    requests.map((request, index) => ({
      method: 'POST',
      ...request,
      client: instances.at(request.client ?? instances.visitor, index + round),
      hold: holdOf(index + round),
    })),
  );

/** Sends `one` among the others, at another position in each round. Returns its answer, then those of the others. */
export async function sendAmong(
  instances: Instances,
  round: number,
  one: RequestSpec,
  others: readonly RequestSpec[],
): Promise<[Answer, Answer[]]> {
  // 5 shares no divisor with most numbers of positions, so the rounds use all of them.
  const place = (round * 5) % (others.length + 1);
  const answers = await sendAtOnce(instances, others.toSpliced(place, 0, one), round);
  const [answer] = answers.splice(place, 1);
  return [answer as Answer, answers];
}

/** Sends volleys until `act` is answered, and one more. Returns the answer of `act`, then those of all volleys. */
export async function sendDuring(
  instances: Instances,
  act: () => Promise<Answer>,
  requests: () => readonly RequestSpec[],
): Promise<[Answer, Answer[]]> {
  const answers: Answer[] = [];
  let answered = false;
  const acting = act().finally(() => {
    answered = true;
  });
  for (let last = false; !last; ) {
    last = answered;
    answers.push(...(await sendAtOnce(instances, requests())));
  }
  return [await acting, answers];
}

export const login = (email: string, password: string): RequestSpec => ({
  path: '/api/v1/auth/login',
  json: { email, password },
});

export const refresh = (token: string | null): RequestSpec => ({
  path: paths.refresh,
  json: { refresh_token: token },
});

export const newAccessToken = (token: string | null): RequestSpec => ({
  path: '/api/v1/auth/new_access_token',
  json: { refresh_token: token },
});

/** Asks both instances. Returns whether they accept; throws if they disagree or refuse with another code. */
async function askBoth(
  instances: Instances,
  refusal: string,
  ask: (where: TestService) => Promise<Answer>,
): Promise<boolean> {
  const answers = await Promise.all([ask(instances.service), ask(instances.twin)]);
  for (const { status, body, text } of answers)
    assert.ok(status === 200 || (status === 401 && body.code === refusal), `${status}: ${text}`);
  const [here, there] = answers.map(({ status }) => status === 200);
  assert.equal(here, there, 'the instances disagree about a token');
  return here === true;
}

/** Returns whether both instances accept the access token. */
export const opens = (instances: Instances, accessToken: string): Promise<boolean> =>
  askBoth(instances, 'token_revoked', ({ url }) =>
    instances.visitor.at(url).get(paths.me, { headers: { authorization: `Bearer ${accessToken}` } }),
  );

/** Returns whether both instances give an access token for the refresh token. Does not exchange it. */
export const refreshes = (instances: Instances, refreshToken: string): Promise<boolean> =>
  askBoth(instances, 'refresh_token_invalid', ({ url }) =>
    instances.visitor.at(url).post('/api/v1/auth/new_access_token', { refresh_token: refreshToken }),
  );

/** Throws if an instance accepts a token of these answers. Returns the number of tokens tried. */
export async function assertNothingOpens(instances: Instances, answers: readonly Answer[]): Promise<number> {
  let tokens = 0;
  for (const { body } of answers) {
    const { access_token, refresh_token } = body?.data ?? {};
    if (access_token)
      assert.equal(await opens(instances, access_token), false, 'an access token is still accepted');
    if (refresh_token)
      assert.equal(await refreshes(instances, refresh_token), false, 'a refresh token is still accepted');
    tokens += Number(Boolean(access_token)) + Number(Boolean(refresh_token));
  }
  return tokens;
}

/** Throws with the text of the first answer that has no allowed status or code. Returns the number of answers. */
export function assertAmong(answers: readonly Answer[], allowed: readonly (number | string)[]): number {
  for (const { status, body, text } of answers)
    assert.ok(allowed.includes(status === 200 ? 200 : (body?.code ?? status)), `${status}: ${text}`);
  return answers.length;
}

/** Returns the tokens of `count` mails of this kind, in no particular order. */
export async function linksTo(
  instances: Instances,
  email: string,
  kind: Parameters<typeof linkTo>[2],
  count: number,
): Promise<string[]> {
  const mails = await eventually(() => {
    const found = mailsTo(instances.service, email, kind);
    return found.length >= count ? found : undefined;
  }, `${count} mails of ${kind} to ${email}`);
  return mails.map(({ token }) => token as string);
}

/** Requests a password reset and returns the token of its mail. Only for an email that had no such mail before. */
export async function firstResetLink(instances: Instances, email: string): Promise<string> {
  await instances.visitor.post(paths.requestReset, { email });
  const [token] = await linksTo(instances, email, 'password_reset', 1);
  return token as string;
}

/** Waits until `count` statements with this text wait for a lock. Returns false if `isOver` says that none will. */
const waitingFor = (
  service: TestService,
  text: string,
  count: number,
  isOver: () => boolean,
): Promise<boolean> =>
  eventually(async () => {
    if (isOver()) return false;
    const waiting = await service.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and position($1 in query) > 0`,
      [text],
    );
    return waiting.length >= count || undefined;
  }, `${count} statements that wait: ${text}`);

/**
 * Blocks writes to the table while `during` runs, so that requests it starts stop in the middle. `during` may wait for
 * them to stop. Releases the table, then awaits and returns what the function from `during` returns.
 */
export async function whileTableIsLocked<T>(
  service: TestService,
  table: string,
  during: (
    waiting: (text: string, count?: number, isOver?: () => boolean) => Promise<boolean>,
  ) => Promise<() => Promise<T>>,
): Promise<T> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  let finish: () => Promise<T>;
  try {
    await holder.query(`begin; lock table ${table} in exclusive mode`);
    finish = await during((text, count = 1, isOver = () => false) =>
      waitingFor(service, text, count, isOver),
    );
  } finally {
    await holder.end();
  }
  return finish();
}
