// How long each operation takes that ends a session: of a session with very many tokens, and of a user with very many
// sessions, against one of each. Checks that another instance refuses the session at the next request, if the instances can
// share a database (DATABASE_URL). A part of `npm run bench`. Operations with hashing compare with themselves.
import { randomUUID } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { argon2Parameters } from '../comparison/argon2-rate.ts';
import type { Row } from '../report/rows.ts';
import { format, median } from '../report/table.ts';
import { createPlace, type Place, query } from '../service/place.ts';
import { fetchCsrf, type Service, startService } from '../service/service.ts';
import { pinApart, type Run } from './suite.ts';

/** Of one session, for one user of the largest size: 10 million at a million users. */
const TOKENS_PER_USER = 10;
const MANY_SESSIONS = 100_000;
/** Every operation that ends sessions is one write to the user's row or to few rows, whatever hangs on them. */
const MOST_MS = 100;
const MOST_RATIO = 2;
const password = 'QaRegisterPass!47';
const next = 'ReplacementPassword!42';
const admin = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
const auth = '/api/v1/auth';

type Answer = { status: number; ms: number; data: Record<string, string> };
type Browser = {
  send(method: string, path: string, body?: unknown): Promise<Answer>;
  login(account: { email: string; password: string }): Promise<Answer>;
  access: string;
  refresh: string;
};

async function openBrowser(url: string): Promise<Browser> {
  const csrf = await fetchCsrf(url);
  const browser: Browser = {
    access: '',
    refresh: '',
    async send(method, path, body) {
      const begin = performance.now();
      const response = await fetch(url + path, {
        method,
        headers: {
          ...csrf,
          ...(browser.access ? { authorization: `Bearer ${browser.access}` } : {}),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const { data = {} }: { data?: Record<string, string> } = JSON.parse(await response.text());
      return { status: response.status, ms: performance.now() - begin, data };
    },
    async login(account) {
      const answer = await browser.send('POST', `${auth}/login`, account);
      if (answer.status !== 200) throw new Error(`login answered ${answer.status}`);
      browser.access = answer.data.access_token ?? '';
      browser.refresh = answer.data.refresh_token ?? '';
      return answer;
    },
  };
  return browser;
}

type Target = { id: string; email: string; sid: string; browser: Browser; exchanged: string };
type Operation = {
  name: string;
  hashes?: true;
  /** Also measured for a user with very many sessions. */
  hasMany?: true;
  end(at: { target: Target; administrator: Browser; url: string; place: Place }): Promise<Answer>;
};

const users = '/api/v1/users';
const operations: readonly Operation[] = [
  { name: 'logout', end: ({ target }) => target.browser.send('POST', `${auth}/logout`) },
  {
    name: 'logout everywhere',
    hasMany: true,
    end: ({ target }) => target.browser.send('POST', `${auth}/logout/all`),
  },
  {
    name: 'own session by its id',
    end: ({ target }) => target.browser.send('DELETE', `${auth}/sessions/${target.sid}`),
  },
  {
    name: 'change_password',
    hashes: true,
    end: ({ target }) =>
      target.browser.send('POST', `${auth}/change_password`, {
        current_password: password,
        new_password: next,
      }),
  },
  {
    name: 'password reset',
    hashes: true,
    async end({ target, url, place }) {
      const text = `${randomUUID()}${randomUUID()}`.replaceAll('-', '').slice(0, 43);
      await query(
        await place.connection(),
        `insert into one_time_tokens (token_hash, purpose, user_id, email, expires_at)
         values (sha256(convert_to($1, 'UTF8')), 'reset_password', $2, $3, now() + interval '10 minutes')`,
        [text, target.id, target.email],
      );
      const visitor = await openBrowser(url);
      return visitor.send('POST', `${auth}/password-reset/confirm`, { token: text, new_password: next });
    },
  },
  {
    name: 'an administrator sets a password',
    hashes: true,
    end: ({ target, administrator }) =>
      administrator.send('PUT', `${users}/${target.id}`, { password: next }),
  },
  {
    name: 'deactivation',
    hasMany: true,
    end: ({ target, administrator }) =>
      administrator.send('PUT', `${users}/${target.id}`, { is_active: false }),
  },
  {
    name: 'an administrator ends it',
    end: ({ target, administrator }) =>
      administrator.send('DELETE', `${users}/${target.id}/sessions/${target.sid}`),
  },
  {
    name: 'an administrator ends all',
    hasMany: true,
    end: ({ target, administrator }) => administrator.send('DELETE', `${users}/${target.id}/sessions`),
  },
  {
    name: 'deletion of the user',
    hasMany: true,
    end: ({ target, administrator }) => administrator.send('DELETE', `${users}/${target.id}`),
  },
  {
    name: 'reuse of an exchanged token',
    async end({ target }) {
      const answer = await target.browser.send('POST', `${auth}/refresh`, {
        refresh_token: target.exchanged,
      });
      return { ...answer, status: answer.status === 401 ? 200 : answer.status };
    },
  },
  {
    name: 'the session limit (a login)',
    hashes: true,
    end: async ({ target, url }) => (await openBrowser(url)).login({ email: target.email, password }),
  },
];

/** The owner of the many tokens. They are written once; each operation gets a new user and session with these ids. */
const large = { id: randomUUID(), sid: randomUUID() };

/** Writes live tokens of the session, in parts, so that no statement runs long. */
async function writeTokens(place: Place, rows: number): Promise<void> {
  const connection = await place.connection();
  const part = 500_000;
  for (let done = 0; done < rows; done += part)
    await query(
      connection,
      `insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
       select $1, sha256(int8send(number)), $2, 'access', gen_random_uuid(), 'bench', now(), now() + interval '1 day'
       from generate_series($3::bigint, $4::bigint) number`,
      [large.id, large.sid, done + 1, Math.min(done + part, rows)],
    );
  await query(connection, 'vacuum analyze session_tokens');
}

/** Writes live sessions of a user, each with an access token. */
async function writeSessions(place: Place, userId: string): Promise<void> {
  await query(
    await place.connection(),
    `with made as (
       insert into sessions (id, user_id, expires_at)
       select gen_random_uuid(), $1, now() + interval '7 days' from generate_series(1, $2::integer) returning id
     )
     insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     select $1, sha256(id::text::bytea), id, 'access', gen_random_uuid(), 'bench', now(), now() + interval '1 day' from made`,
    [userId, MANY_SESSIONS],
  );
}

/** What hangs on the session that is ended. */
type Kind = 'few' | 'tokens' | 'sessions';

/** Creates a user with one session and one exchanged token whose reuse interval has passed, and what `kind` says. */
async function createTarget(place: Place, url: string, passwordHash: string, kind: Kind): Promise<Target> {
  const isLarge = kind === 'tokens';
  const connection = await place.connection();
  const id = isLarge ? large.id : randomUUID();
  const email = `bench-${id}@example.com`;
  await query(connection, 'delete from users where id = $1', [id]);
  await query(connection, 'delete from sessions where user_id = $1', [id]);
  // Otherwise the cleanup after earlier operations would remove the many tokens.
  await query(connection, 'truncate session_ends');
  await query(
    connection,
    `insert into users (id, email, first_name, last_name, password_hash, verified)
     values ($1, $2, 'Ada', 'Lovelace', $3, true)`,
    [id, email, passwordHash],
  );
  const browser = await openBrowser(url);
  await browser.login({ email, password });
  const exchanged = browser.refresh;
  const { data } = await browser.send('POST', `${auth}/refresh`, { refresh_token: exchanged });
  browser.refresh = data.refresh_token ?? '';
  const [, payload = ''] = browser.access.split('.');
  const { sid: made }: { sid: string } = JSON.parse(Buffer.from(payload, 'base64url').toString());
  const sid = isLarge ? large.sid : made;
  await query(connection, 'update sessions set id = $1 where id = $2', [sid, made]);
  await query(
    connection,
    `update session_tokens set session_id = $1, rotated_at = rotated_at - interval '31 seconds'
     where session_id = $2`,
    [sid, made],
  );
  if (kind === 'sessions') await writeSessions(place, id);
  return { id, email, sid, browser, exchanged };
}

const isRefused = async (url: string, target: Target): Promise<boolean> => {
  const there = await openBrowser(url);
  there.access = target.browser.access;
  const me = await there.send('GET', `${users}/me`);
  const exchange = await there.send('POST', `${auth}/new_access_token`, {
    refresh_token: target.browser.refresh,
  });
  return me.status === 401 && exchange.status === 401;
};

async function measureOperations(
  place: Place,
  one: Service,
  other: Service,
  { rounds, tokens }: { rounds: number; tokens: number },
): Promise<Row[]> {
  const administrator = await openBrowser(one.url);
  await administrator.login(admin);
  const passwordHash = await hash(password, argon2Parameters);
  await writeTokens(place, tokens);
  const rows: Row[] = [];
  for (const operation of operations) {
    const kinds: Kind[] = operation.hasMany ? ['few', 'tokens', 'sessions'] : ['few', 'tokens'];
    const times: Record<Kind, number[]> = { few: [], tokens: [], sessions: [] };
    for (let round = 0; round < rounds; round += 1)
      for (const kind of kinds) {
        // Writing the sessions takes far longer than ending them.
        if (kind === 'sessions' && round > 0) continue;
        const target = await createTarget(place, one.url, passwordHash, kind);
        const answer = await operation.end({ target, administrator, url: one.url, place });
        if (answer.status !== 200) throw new Error(`${operation.name} answered ${answer.status}`);
        times[kind].push(answer.ms);
        if (!(await isRefused(other.url, target)))
          throw new Error(`${operation.name} left the session alive`);
      }
    const conditions: Record<Kind, string> = {
      few: 'one session, few tokens',
      tokens: `one session of ${format(tokens)} tokens`,
      sessions: `${format(MANY_SESSIONS)} sessions`,
    };
    for (const kind of kinds)
      rows.push({
        part: 'ends of sessions',
        name: `${operation.name}${operation.hashes ? ', with its hashing' : ''}`,
        condition: conditions[kind],
        unit: 'ms',
        values: times[kind],
        ...(kind === 'few'
          ? {}
          : {
              of: { what: 'few', ratio: median(times[kind]) / median(times.few) },
              // Hashing is most of the time of those that hash.
              goals: operation.hashes
                ? [{ figure: 'ratio', most: MOST_RATIO }]
                : [{ figure: 'median', most: MOST_MS }],
            }),
      });
  }
  return rows;
}

export async function measureEndedSessions({ rounds, sizes }: Run): Promise<Row[]> {
  const tokens = (sizes.at(-1) ?? 0) * TOKENS_PER_USER;
  const place = await createPlace();
  const services: Service[] = [];
  try {
    const limits = {
      CONCURRENT_SESSION_LIMIT: '1',
      RATE_LIMIT_NEW_ACCESS_TOKEN: 'off',
      RATE_LIMIT_REFRESH: 'off',
      RATE_LIMIT_USER: 'off',
    };
    const start = async (): Promise<Service> => {
      const service = await startService({ ...place.environment, ...limits });
      services.push(service);
      return service;
    };
    const one = await start();
    // The second instance shares the database, so it must not have its own embedded one.
    const other = process.env.DATABASE_URL ? await start() : one;
    pinApart(
      services.map(({ pid }) => pid),
      await place.databasePids(),
    );
    return await measureOperations(place, one, other, { rounds: Math.min(rounds, 3), tokens });
  } finally {
    for (const service of services.reverse()) await service.stop();
    await place.remove();
  }
}
