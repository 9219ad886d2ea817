// What the races of accounts and sessions share: volleys over both instances, and what a token still opens there.
// It must not decide who wins: a scenario holds whichever way a race goes.
import assert from 'node:assert/strict';
import pg from 'pg';
import { type linkTo, paths } from '../../accounts/self-service.ts';
import type { Answer, TestClient } from '../../client.ts';
import { eventually, type Hooks, type TestService } from '../../harness.ts';
import { readyClient } from '../../sessions/accounts.ts';
import { holdOf, openPair, type Pair } from '../fixture.ts';
import { type Shot, volley } from '../volley.ts';

/** Two instances, and a browser that is nobody: it has its CSRF token and never keeps another cookie. */
export type Range = Pair & { visitor: TestClient };

export async function openRange(hooks: Hooks, environment: Record<string, string> = {}): Promise<Range> {
  const pair = await openPair(hooks, environment);
  return { ...pair, visitor: await readyClient(pair.service) };
}

/** POST unless said otherwise, by the visitor unless somebody is named. */
export type Blank = Pick<Shot, 'path' | 'json' | 'headers'> & { client?: TestClient; method?: string };

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

/** In one volley, by turns at both instances and held back in both ways; `round` moves who goes where. */
export const fire = (range: Range, shots: readonly Blank[], round = 0): Promise<Answer[]> =>
  volley(
    shots.map((shot, index) => ({
      method: 'POST',
      ...shot,
      client: range.at(shot.client ?? range.visitor, index + round),
      hold: holdOf(index + round),
    })),
  );

/** The one stands at another place among the others in each round. Answers first the one's answer. */
export async function fireAmong(
  range: Range,
  round: number,
  one: Blank,
  others: readonly Blank[],
): Promise<[Answer, Answer[]]> {
  // 5 and the usual number of places, 16 or more, have no common divisor that matters: every place has its turn.
  const place = (round * 5) % (others.length + 1);
  const answers = await fire(range, others.toSpliced(place, 0, one), round);
  const [answer] = answers.splice(place, 1);
  return [answer as Answer, answers];
}

/** One volley after another until the act is answered, and one more after that. Answers what all were answered. */
export async function fireAmid(
  range: Range,
  act: () => Promise<Answer>,
  shots: () => readonly Blank[],
): Promise<[Answer, Answer[]]> {
  const answers: Answer[] = [];
  let answered = false;
  const acting = act().finally(() => {
    answered = true;
  });
  for (let last = false; !last; ) {
    last = answered;
    answers.push(...(await fire(range, shots())));
  }
  return [await acting, answers];
}

export const login = (email: string, password: string): Blank => ({
  path: '/api/v1/auth/login',
  json: { email, password },
});

export const refresh = (token: string | null): Blank => ({
  path: paths.refresh,
  json: { refresh_token: token },
});

export const newAccessToken = (token: string | null): Blank => ({
  path: '/api/v1/auth/new_access_token',
  json: { refresh_token: token },
});

/** Both instances answer the same: yes, or a refusal with this code. */
async function askBoth(
  range: Range,
  refusal: string,
  ask: (where: TestService) => Promise<Answer>,
): Promise<boolean> {
  const answers = await Promise.all([ask(range.service), ask(range.twin)]);
  for (const { status, body, text } of answers)
    assert.ok(status === 200 || (status === 401 && body.code === refusal), `${status}: ${text}`);
  const [here, there] = answers.map(({ status }) => status === 200);
  assert.equal(here, there, 'the instances disagree about a token');
  return here === true;
}

/** Whether the access token opens anything. */
export const opens = (range: Range, accessToken: string): Promise<boolean> =>
  askBoth(range, 'token_revoked', ({ url }) =>
    range.visitor.at(url).get(paths.me, { headers: { authorization: `Bearer ${accessToken}` } }),
  );

/** Whether the refresh token still gets an access token; it is not exchanged. */
export const refreshes = (range: Range, refreshToken: string): Promise<boolean> =>
  askBoth(range, 'refresh_token_invalid', ({ url }) =>
    range.visitor.at(url).post('/api/v1/auth/new_access_token', { refresh_token: refreshToken }),
  );

/** That no token in these answers opens anything; answers how many were tried, each at both instances. */
export async function assertNothingOpens(range: Range, answers: readonly Answer[]): Promise<number> {
  let tokens = 0;
  for (const { body } of answers) {
    const { access_token, refresh_token } = body?.data ?? {};
    if (access_token) assert.equal(await opens(range, access_token), false, 'an access token lives on');
    if (refresh_token) assert.equal(await refreshes(range, refresh_token), false, 'a refresh token lives on');
    tokens += Number(Boolean(access_token)) + Number(Boolean(refresh_token));
  }
  return tokens;
}

/** Each answer has one of these; everything else is told with its text. Answers how many there were. */
export function assertAmong(answers: readonly Answer[], allowed: readonly (number | string)[]): number {
  for (const { status, body, text } of answers)
    assert.ok(allowed.includes(status === 200 ? 200 : (body?.code ?? status)), `${status}: ${text}`);
  return answers.length;
}

/** The tokens of `count` mails of this kind; whichever instance sent them, in no particular order. */
export async function linksTo(
  range: Range,
  email: string,
  kind: Parameters<typeof linkTo>[2],
  count: number,
): Promise<string[]> {
  const mails = await eventually(() => {
    const found = [range.service, range.twin].flatMap((one) =>
      one.mails().filter((mail) => mail.to === email && mail.kind === kind),
    );
    return found.length >= count ? found : undefined;
  }, `${count} mails of ${kind} to ${email}`);
  return mails.map(({ token }) => token as string);
}

/** As a person takes it: asked for, and read in the mail. Only for an address that had no such mail yet. */
export async function firstResetLink(range: Range, email: string): Promise<string> {
  await range.visitor.post(paths.requestReset, { email });
  const [token] = await linksTo(range, email, 'password_reset', 1);
  return token as string;
}

/** Waits until so many statements with this text wait for a lock. */
const waitingFor = (service: TestService, text: string, count: number): Promise<true> =>
  eventually(async () => {
    const waiting = await service.sql(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and position($1 in query) > 0`,
      [text],
    );
    return waiting.length >= count || undefined;
  }, `${count} statements that wait: ${text}`);

/**
 * Nobody writes to this table while `during` runs: what it starts stops there, in the middle of its work. It may wait
 * for that, and answers what to await when the table is free again.
 */
export async function underTableLock<T>(
  service: TestService,
  table: string,
  during: (waiting: (text: string, count?: number) => Promise<true>) => Promise<() => Promise<T>>,
): Promise<T> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  let finish: () => Promise<T>;
  try {
    await holder.query(`begin; lock table ${table} in exclusive mode`);
    finish = await during((text, count = 1) => waitingFor(service, text, count));
  } finally {
    await holder.end();
  }
  return finish();
}
