// Measures what other users experience while one account or address floods the service; prints a Markdown table.
// `node bench/floods.ts [--server=<packages/server/start.mjs of a checkout>] [--only=<part of a flood's name>]…`
// About three minutes, on an embedded PostgreSQL or on a new database of the server that DATABASE_URL names.
import { fork } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Request } from 'autocannon';
import { createSecretText } from '../packages/server/src/platform/security/secret-text.ts';
import type { Attack, AttackRate } from './flood-attacker.ts';
import { accountPassword, createAccounts, loginRequests, type Session, signIn } from './load/accounts.ts';
import { format, markdown, percentile } from './report/table.ts';
import { createPlace, databaseKind, type Place, query } from './service/place.ts';
import { type Service, startService } from './service/service.ts';

const option = (name: string): string | undefined =>
  process.argv.find((one) => one.startsWith(`--${name}=`))?.slice(name.length + 3);

const SECONDS = Number(process.env.BENCH_SECONDS || 8);
/** By then the attacker is at full speed. */
const WARM_UP_MS = 1_000;
const CONNECTIONS = 100;
/** Accounts of other users, each with a session: enough to stay below every limit per user. */
const OTHERS = 40;
const ROLES = 1_000;
const PERMISSIONS = 200;

type World = { service: Service; attacker: Session; resetToken: string; roleId: string; others: Session[] };
type Flood = {
  name: string;
  connections: number;
  requests: (world: World) => Request[];
  /** The queue of password checks is full: then sign-ins of other users are refused too, and only the served ones count. */
  refusesSignIns?: true;
  /** There is an application, `APPLICATION`. */
  hasApplication?: true;
};

const APPLICATION = 'flooded';

const JSON_TYPE = { 'content-type': 'application/json' };
const post = (
  session: Session,
  path: string,
  body: unknown,
  method: Request['method'] = 'POST',
): Request => ({
  method,
  path: `/api/v1${path}`,
  headers: { ...session.headers, ...JSON_TYPE },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});
const put = (session: Session, path: string, body: unknown): Request => post(session, path, body, 'PUT');
/** Returns a sign-in request with CSRF cookie and token, which are public, but without a session. */
const anonymousLogin = ({ headers }: Session, body: string): Request => ({
  method: 'POST',
  path: '/api/v1/auth/login',
  headers: { ...JSON_TYPE, cookie: headers.cookie, 'x-csrf-token': headers['x-csrf-token'] },
  body,
});
/** Returns an array of empty arrays, which has the most values for its bytes. */
const emptyArrays = (bytes: number): string =>
  `[${Array(Math.floor(bytes / 3))
    .fill('[]')
    .join(',')}]`;

/** Returns an array of strings in which every character is escaped. */
const escapedTexts = (bytes: number, count: number): string => {
  const text = `"${'\\u00e9'.repeat(Math.floor((bytes / count - 3) / 6))}"`;
  return `[${Array(count).fill(text).join(',')}]`;
};

const floods: Flood[] = [
  {
    name: 'plain GETs (/health/live)',
    connections: CONNECTIONS,
    requests: () => [{ method: 'GET', path: '/health/live' }],
  },
  {
    name: '(a) change_password',
    connections: CONNECTIONS,
    // The current password is refused only after all the work, and the account stays as it is.
    requests: ({ attacker }) => [
      post(attacker, '/auth/change_password', {
        current_password: accountPassword,
        new_password: accountPassword,
      }),
    ],
  },
  {
    name: '(a) password-reset/confirm',
    connections: CONNECTIONS,
    requests: ({ attacker, resetToken }) => [
      post(attacker, '/auth/password-reset/confirm', { token: resetToken, new_password: accountPassword }),
    ],
  },
  {
    name: '(b) refresh with one token',
    connections: CONNECTIONS,
    requests: ({ attacker }) => [post(attacker, '/auth/refresh', { refresh_token: attacker.refreshToken })],
  },
  {
    name: '(b) PUT /users/me',
    connections: CONNECTIONS,
    requests: ({ attacker }) =>
      ['Ada', 'Grace'].map((first_name) => put(attacker, '/users/me', { first_name })),
  },
  {
    // The most expensive body that is parsed for anonymous callers.
    name: '(c) 16 KiB of text, anonymous',
    connections: 8,
    requests: ({ attacker }) => [anonymousLogin(attacker, escapedTexts(16_383, 199))],
  },
  {
    name: '(c) 16 KiB arrays, anonymous, refused by count',
    connections: 8,
    requests: ({ attacker }) => [anonymousLogin(attacker, emptyArrays(16_383))],
  },
  {
    name: '(c) 64 KiB, anonymous, refused by length',
    connections: 8,
    requests: ({ attacker }) => [anonymousLogin(attacker, emptyArrays(65_535))],
  },
  {
    name: '(c) 1 MiB PUT /users/me, refused by length',
    connections: 4,
    requests: ({ attacker }) => [put(attacker, '/users/me', emptyArrays(1_048_575))],
  },
  {
    name: `(d) one role changed in a loop, ${ROLES} roles × ${PERMISSIONS} permissions`,
    connections: CONNECTIONS,
    requests: ({ attacker, roleId }) =>
      ['one', 'other'].map((description) => put(attacker, `/roles/${roleId}`, { description })),
  },
  {
    name: '(e) 600 sign-ins at once, unknown emails',
    connections: 600,
    requests: ({ attacker }) =>
      Array.from({ length: 2_000 }, (_, number) =>
        anonymousLogin(
          attacker,
          JSON.stringify({ email: `nobody-${number}@example.com`, password: accountPassword }),
        ),
      ),
    refusesSignIns: true,
  },
  {
    name: '(f) an application with a wrong secret',
    connections: CONNECTIONS,
    // Well-formed, so that its checksum does not refuse it.
    requests: () =>
      Array.from({ length: 1_000 }, () => ({
        method: 'POST',
        path: '/api/v1/oauth/token',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          authorization: `Basic ${Buffer.from(`${APPLICATION}:${createSecretText('cas_cs_')}`).toString('base64')}`,
        },
        body: 'grant_type=refresh_token&refresh_token=x',
      })),
    hasApplication: true,
  },
];

type Felt = { me: number[]; logins: number[]; live: number[] };

/** Returns the element at this position, counting around. Throws for an empty list. */
function cyclic<T>(values: readonly T[], position: number): T {
  const value = values[position % values.length];
  if (value === undefined) throw new Error('the list is empty');
  return value;
}

/** Sends requests in three loops, one request at a time each, like a few people. */
async function feel({ service, others }: World, milliseconds: number, flood?: Flood): Promise<Felt> {
  const felt: Felt = { me: [], logins: [], live: [] };
  const end = performance.now() + milliseconds;
  // The first accounts belong to the attacker and to the users with sessions.
  const logins = (await loginRequests(service.url)).slice(1 + OTHERS);
  const loop = async (into: number[], restMs: number, send: (count: number) => Promise<Response>) => {
    for (let count = 0; performance.now() < end; count += 1) {
      const begin = performance.now();
      const answer = await send(count);
      await answer.arrayBuffer();
      if (into === felt.logins && flood?.refusesSignIns && answer.status === 503) {
        await pause(restMs);
        continue;
      }
      if (!answer.ok) throw new Error(`another user was refused: ${answer.status} ${answer.url}`);
      into.push(performance.now() - begin);
      await pause(restMs);
    }
  };
  await Promise.all([
    loop(felt.me, 10, (count) => {
      const { accessToken } = cyclic(others, count);
      return fetch(`${service.url}/api/v1/users/me`, {
        headers: { authorization: `Bearer ${accessToken}` },
      });
    }),
    loop(felt.logins, 50, (count) => {
      const { headers = {}, body = '' } = cyclic(logins, count);
      return fetch(`${service.url}/api/v1/auth/login`, { method: 'POST', headers, body });
    }),
    loop(felt.live, 10, () => fetch(`${service.url}/health/live`)),
  ]);
  return felt;
}

/** Resolves when the attack and its process have ended. */
function attack(order: Attack): Promise<AttackRate> {
  const child = fork(new URL('./flood-attacker.ts', import.meta.url));
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.send(order);
  return new Promise((resolve, reject) => {
    let rate: AttackRate | undefined;
    child.once('message', (message: AttackRate) => {
      rate = message;
    });
    child.once('exit', (code) => {
      process.off('exit', kill);
      if (rate) resolve(rate);
      else reject(new Error(`the attacker ended with ${code}`));
    });
  });
}

async function fill(place: Place): Promise<{ resetToken: string; roleId: string }> {
  const connection = await place.connection();
  await createAccounts(place);
  const resetToken = randomBytes(32).toString('base64url');
  await query(
    connection,
    `insert into one_time_tokens (token_hash, purpose, user_id, email, expires_at)
     select $1, 'reset_password', id, email, now() + interval '1 day' from users where email = 'bench-0@example.com'`,
    [createHash('sha256').update(resetToken).digest()],
  );
  await query(connection, "update users set is_superuser = true where email = 'bench-0@example.com'");
  await query(
    connection,
    `with made as (
       insert into permissions (id, name, group_id)
       select gen_random_uuid(), 'bench.' || n, (select id from permission_groups where name = 'users')
       from generate_series(1, ${PERMISSIONS}) n returning id),
     roles as (
       insert into roles (id, name) select gen_random_uuid(), 'bench ' || n
       from generate_series(1, ${ROLES}) n returning id)
     insert into role_permissions (role_id, permission_id) select roles.id, made.id from roles, made`,
  );
  const [role] = await query(connection, "select id from roles where name = 'bench 1'");
  return { resetToken, roleId: String(role?.id) };
}

async function addApplication({ service, attacker }: World): Promise<void> {
  const { headers, body } = post(attacker, '/applications', { client_id: APPLICATION, name: APPLICATION });
  const answer = await fetch(`${service.url}/api/v1/applications`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: String(body),
  });
  if (answer.status !== 201) throw new Error(`no application was created: ${answer.status}`);
  // Every process knows within two seconds that there is one.
  await pause(3_000);
}

const row = (name: string, felt: Felt, rate?: AttackRate): string[] => [
  name,
  ...[percentile(felt.me, 0.5), percentile(felt.me, 0.99)].map(format),
  felt.logins.length > 0 ? format(percentile(felt.logins, 0.5)) : 'refused',
  format(percentile(felt.live, 0.5)),
  rate ? format(rate.served) : '',
  rate ? format(rate.refused) : '',
];

/** Runs each flood on a separate service, so that it inherits no limits, queues or tokens from another. */
async function measure(place: Place, flood: Flood | null): Promise<string[]> {
  const environment = { ...place.environment, REFRESH_REUSE_INTERVAL: '600' };
  const service = await startService(environment, option('server'));
  try {
    const filled = await fill(place);
    const others: Session[] = [];
    for (let number = 1; number <= OTHERS; number += 1) others.push(await signIn(service.url, number));
    const world = { service, ...filled, others, attacker: await signIn(service.url, 0) };
    if (!flood) return row('none', await feel(world, SECONDS * 1_000));
    if (flood.hasApplication) await addApplication(world);
    const { connections, requests } = flood;
    const seconds = SECONDS + 2;
    const attacking = attack({ url: service.url, connections, seconds, requests: requests(world) });
    await pause(WARM_UP_MS);
    const felt = await feel(world, SECONDS * 1_000, flood);
    return row(`${flood.name}, ${connections} connections`, felt, await attacking);
  } finally {
    await service.stop();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const only = process.argv
  .filter((one) => one.startsWith('--only='))
  .map((one) => one.slice('--only='.length));
const wanted = floods.filter(({ name }) => only.length === 0 || only.some((part) => name.includes(part)));
const rows: string[][] = [];
for (const flood of [null, ...wanted]) {
  const place = await createPlace();
  try {
    rows.push(await measure(place, flood));
  } finally {
    await place.remove();
  }
}
const head = ['/users/me p50', 'p99', 'login p50', '/health/live p50'].map((one) => `${one}, ms`);
process.stdout.write(
  `${databaseKind}; ${SECONDS} s each; another user's times.\n\n${markdown(
    ['Flood by one account or address', ...head, 'served/s', 'refused/s'],
    rows,
  )}\n`,
);
