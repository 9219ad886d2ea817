// Measures how long it takes to end a session with very many tokens, by every operation that ends a session, and checks
// that another instance refuses the session at the next request. Run it alone: `node bench/end-session.ts`. DATABASE_URL
// names a server to use; BENCH_ROWS sets the token rows of the session (10 million, about 4 GB while it runs).
// Some operations include password hashing: compare them with the same operation on a session with few tokens.
import { randomUUID } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import { argon2Parameters } from './argon2-rate.ts';
import { createPlace, databaseKind, type Place, query } from './place.ts';
import { fetchCsrf, type Service, startService } from './service.ts';
import { format, markdown } from './table.ts';

const rows = Number(process.env.BENCH_ROWS ?? 10_000_000);
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
  end(at: { target: Target; administrator: Browser; url: string; place: Place }): Promise<Answer>;
};

const users = '/api/v1/users';
const operations: readonly Operation[] = [
  { name: 'logout', end: ({ target }) => target.browser.send('POST', `${auth}/logout`) },
  { name: 'logout everywhere', end: ({ target }) => target.browser.send('POST', `${auth}/logout/all`) },
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
    end: ({ target, administrator }) => administrator.send('DELETE', `${users}/${target.id}/sessions`),
  },
  {
    name: 'deletion of the user',
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
async function writeTokens(place: Place): Promise<void> {
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

/** Creates a user with one session and one exchanged token whose reuse interval has passed. */
async function createTarget(
  place: Place,
  url: string,
  passwordHash: string,
  isLarge: boolean,
): Promise<Target> {
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

async function measure(place: Place, one: Service, other: Service): Promise<void> {
  const administrator = await openBrowser(one.url);
  await administrator.login(admin);
  const passwordHash = await hash(password, argon2Parameters);
  await writeTokens(place);
  const table: string[][] = [];
  for (const operation of operations) {
    // Each operation also runs on a session with few tokens; the difference is the cost of the rows.
    const times: string[] = [];
    let refused = true;
    for (const isLarge of [false, true]) {
      const target = await createTarget(place, one.url, passwordHash, isLarge);
      const answer = await operation.end({ target, administrator, url: one.url, place });
      if (answer.status !== 200) throw new Error(`${operation.name} answered ${answer.status}`);
      times.push(format(answer.ms));
      refused &&= await isRefused(other.url, target);
    }
    table.push([
      `${operation.name}${operation.hashes ? ', with its hashing' : ''}`,
      ...times,
      refused ? 'yes' : '**no**',
    ]);
  }
  const head = [`${rows.toLocaleString('en-US')} token rows`, 'ms with few rows', 'ms', 'refused elsewhere'];
  process.stdout.write(`${databaseKind}\n\n${markdown(head, table)}\n`);
}

const place = await createPlace();
try {
  const limits = {
    CONCURRENT_SESSION_LIMIT: '1',
    RATE_LIMIT_NEW_ACCESS_TOKEN: 'off',
    RATE_LIMIT_REFRESH: 'off',
  };
  const one = await startService({ ...place.environment, ...limits });
  try {
    // The second instance shares the database, so it must not have an embedded one of its own.
    const other = process.env.DATABASE_URL ? await startService({ ...place.environment, ...limits }) : one;
    try {
      await measure(place, one, other);
    } finally {
      if (other !== one) await other.stop();
    }
  } finally {
    await one.stop();
  }
} finally {
  await place.remove();
}
