// Uses the service over HTTP while the drill breaks things, and keeps what the service acknowledged with a 2xx: which
// roles were created, which sessions were ended.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { fetchCsrf } from '../../bench/service/service.ts';

type Answer = { status: number; body: unknown };
/** The status of an answer, or `none` without one. */
type Counts = Record<string, number>;

type Period = {
  reads: Counts;
  writes: Counts;
  /** The longest time between two acknowledged writes, in seconds. */
  longestWithoutWrite: number;
};

export type Load = {
  /** Ids of the roles whose creation was acknowledged. */
  roles: string[];
  /** Access tokens of the sessions whose end was acknowledged. */
  ended: string[];
  /** Starts to count anew. */
  begin(): void;
  /** What happened since `begin`. */
  period(): Period;
  /** Resolves after `count` acknowledged writes. Rejects after `limitMs`. */
  writesAgain(count: number, limitMs: number): Promise<void>;
  stop(): Promise<void>;
};

const REQUEST_LIMIT_MS = 15_000;
/** Between two requests of a loop: the drill is about faults, not about load. */
const PAUSE_MS = 30;

export async function ask(
  url: string,
  method: string,
  headers: Record<string, string>,
  body?: object,
): Promise<Answer> {
  try {
    const response = await fetch(url, {
      method,
      headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_LIMIT_MS),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? null : JSON.parse(text) };
  } catch {
    return { status: 0, body: null };
  }
}

/** Returns a text in `data` of an answer. Throws if there is none. */
export function dataOf({ status, body }: Answer, key: string): string {
  const data: unknown = typeof body === 'object' && body !== null && 'data' in body ? body.data : undefined;
  const value: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, key) : undefined;
  if (typeof value !== 'string') throw new Error(`the answer ${status} has no data.${key}`);
  return value;
}

const isDone = ({ status }: Answer): boolean => status >= 200 && status < 300;

/**
 * Starts the loops: two create roles, two sign in and out, two read the caller. They take turns at the instances `urls`.
 * The account must be a superuser.
 */
export async function startLoad(
  urls: readonly string[],
  account: { email: string; password: string },
): Promise<Load> {
  const csrf = await Promise.all(urls.map((url) => fetchCsrf(url)));
  const at = (turn: number): { api: string; csrf: Record<string, string> } => ({
    api: `${urls[turn % urls.length]}/api/v1`,
    csrf: csrf[turn % urls.length] ?? {},
  });
  const signIn = async (turn: number): Promise<Answer> =>
    ask(`${at(turn).api}/auth/login`, 'POST', at(turn).csrf, account);
  const admin = { authorization: `Bearer ${dataOf(await signIn(0), 'access_token')}` };

  const roles: Load['roles'] = [];
  const ended: Load['ended'] = [];
  let reads: Counts = {};
  let writes: Counts = {};
  let acknowledged = 0;
  let lastWrite = performance.now();
  let longestWithoutWrite = 0;
  let stopped = false;

  const count = (counts: Counts, { status }: Answer): void => {
    const name = status === 0 ? 'none' : String(status);
    counts[name] = (counts[name] ?? 0) + 1;
  };
  const noteGap = (): void => {
    longestWithoutWrite = Math.max(longestWithoutWrite, (performance.now() - lastWrite) / 1_000);
  };
  const countWrite = (answer: Answer): void => {
    count(writes, answer);
    if (!isDone(answer)) return;
    noteGap();
    lastWrite = performance.now();
    acknowledged += 1;
  };

  const createRole = async (turn: number): Promise<void> => {
    const name = `drill ${randomBytes(9).toString('hex')}`;
    const answer = await ask(`${at(turn).api}/roles`, 'POST', { ...at(turn).csrf, ...admin }, { name });
    countWrite(answer);
    if (isDone(answer)) roles.push(dataOf(answer, 'id'));
  };
  const signInAndOut = async (turn: number): Promise<void> => {
    const begun = await signIn(turn);
    countWrite(begun);
    if (!isDone(begun)) return;
    const access = dataOf(begun, 'access_token');
    const { api, csrf: pair } = at(turn + 1);
    const over = await ask(`${api}/auth/logout`, 'POST', { ...pair, authorization: `Bearer ${access}` });
    countWrite(over);
    if (isDone(over)) ended.push(access);
  };
  const readOneself = async (turn: number): Promise<void> => {
    count(reads, await ask(`${at(turn).api}/users/me`, 'GET', admin));
  };

  const loops = [createRole, createRole, signInAndOut, signInAndOut, readOneself, readOneself].map(
    async (step, number) => {
      for (let turn = number; !stopped; turn += 1) {
        await step(turn);
        await pause(PAUSE_MS);
      }
    },
  );

  return {
    roles,
    ended,
    begin() {
      reads = {};
      writes = {};
      lastWrite = performance.now();
      longestWithoutWrite = 0;
    },
    period() {
      noteGap();
      return { reads, writes, longestWithoutWrite };
    },
    async writesAgain(more, limitMs) {
      const goal = acknowledged + more;
      const end = performance.now() + limitMs;
      while (acknowledged < goal) {
        if (performance.now() > end)
          throw new Error(`no ${more} writes were acknowledged within ${limitMs / 1_000} s`);
        await pause(100);
      }
    },
    async stop() {
      stopped = true;
      await Promise.all(loops);
    },
  };
}
