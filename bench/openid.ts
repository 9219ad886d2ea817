// Measures what signing in to applications costs, against today's operations of the same process.
// `node bench/openid.ts`, about three minutes. Runs on an embedded PostgreSQL, or on a new database of the server that
// DATABASE_URL names. BENCH_GRANTS=1000000 measures everything once more beside so many live grants. Loopback only.
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer, Agent as HttpAgent, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { availableParallelism } from 'node:os';
import { createAccounts, createServiceKey, loginRequests } from './load/accounts.ts';
import { openLoop } from './load/open-loop.ts';
import { format, markdown, median, percentile, summary } from './report/table.ts';
import { createPlace, databaseKind, type Place, query } from './service/place.ts';
import { cpuMicroseconds } from './service/processes.ts';
import { type Service, startService } from './service/service.ts';
import { pinApart, unpin } from './suite/suite.ts';

const rounds = Number(process.env.BENCH_ROUNDS || 5);
/** Requests of a row in one round. */
const count = Number(process.env.BENCH_COUNT || 320);
const grants = Number(process.env.BENCH_GRANTS || 0);
const CONNECTIONS = 16;
const ENDINGS = 20;

const api = '/api/v1';
const settings = {
  RATE_LIMIT_USER: 'off',
  RATE_LIMIT_REFRESH: 'off',
  RATE_LIMIT_AUTHORIZE: 'off',
  RATE_LIMIT_APPLICATION: 'off',
};
const REDIRECT = 'https://app.example.com/callback';
const administrator = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };

type Sent = { status: number; headers: IncomingHttpHeaders; text: string };
type Headers = Record<string, string>;
const connections = new HttpAgent({ keepAlive: true, maxSockets: 64 });

/** Sends a request. Throws for any status but this one. */
function send(url: string, method: string, status: number, headers: Headers, body?: string): Promise<Sent> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: connections }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.on('end', () => {
        const text = Buffer.concat(parts).toString();
        if (answer.statusCode === status) resolve({ status, headers: answer.headers, text });
        else reject(new Error(`${method} ${url.replace(/\?.*/, '')} answered ${answer.statusCode}: ${text}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

type Application = { id: string; client_id: string; client_secret: string; alg: string };
/** A signed-in person, and what their browser and the application hold. */
type Visitor = {
  id: string;
  session: string;
  access: string;
  headers: Headers;
  cookie: string;
  sessionRefresh: string;
  codes: { code: string; verifier: string }[];
  refresh: string;
  token: string;
};

const json = { 'content-type': 'application/json' };
const form = (application: Application): Headers => ({
  'content-type': 'application/x-www-form-urlencoded',
  authorization: `Basic ${Buffer.from(`${application.client_id}:${application.client_secret}`).toString('base64')}`,
});
const partOf = (token: string): { sub: string; sid: string } =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

/** Signs in the account of each number. */
async function visitorsOf(url: string, from: number, to: number): Promise<Visitor[]> {
  const found: Visitor[] = [];
  for (const { headers, body } of (await loginRequests(url)).slice(from, to)) {
    const fields = headers as Headers;
    const { text, headers: answered } = await send(
      `${url}${api}/auth/login`,
      'POST',
      200,
      fields,
      String(body),
    );
    const { access_token: access, refresh_token: sessionRefresh } = JSON.parse(text).data;
    const { sub: id, sid: session } = partOf(access);
    const cookie = (answered['set-cookie'] ?? [])
      .find((one) => one.startsWith('castellan_sso='))
      ?.split(';')[0];
    found.push({
      id,
      session,
      access,
      sessionRefresh,
      headers: { ...fields, authorization: `Bearer ${access}` },
      cookie: cookie ?? '',
      codes: [],
      refresh: '',
      token: '',
    });
  }
  return found;
}

type Step = (visitor: Visitor) => Promise<void>;
type Row = {
  name: string;
  /** What the budget is of, and how much. Without: an absolute one, in ms of the service. */
  of?: string;
  most?: number;
  prepare?: Step;
  step: Step;
  cpu: number[];
  database: number[];
  rates: number[];
};

/** Returns the steps, which change what the visitor holds. */
function stepsOf(url: string, serviceKey: string) {
  const authorize =
    (application: Application): Step =>
    async (visitor) => {
      const verifier = randomBytes(32).toString('base64url');
      const asked = new URLSearchParams({
        client_id: application.client_id,
        redirect_uri: REDIRECT,
        response_type: 'code',
        scope: 'openid profile email offline_access',
        state: 'a',
        nonce: 'b',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      });
      const { headers } = await send(`${url}${api}/oauth/authorize?${asked}`, 'GET', 303, {
        cookie: visitor.cookie,
      });
      const code = new URL(headers.location ?? '').searchParams.get('code');
      if (code === null) throw new Error('an authorization request was not granted');
      visitor.codes.push({ code, verifier });
    };
  const token = async (visitor: Visitor, application: Application, fields: Headers): Promise<void> => {
    const body = new URLSearchParams(fields).toString();
    const { text } = await send(`${url}${api}/oauth/token`, 'POST', 200, form(application), body);
    ({ access_token: visitor.token, refresh_token: visitor.refresh } = JSON.parse(text));
  };
  const exchange =
    (application: Application): Step =>
    (visitor) => {
      const { code = '', verifier = '' } = visitor.codes.pop() ?? {};
      return token(visitor, application, {
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: REDIRECT,
      });
    };
  const refresh =
    (application: Application): Step =>
    (visitor) =>
      token(visitor, application, { grant_type: 'refresh_token', refresh_token: visitor.refresh });
  const introspect = async (text: string, headers: Headers): Promise<void> => {
    const body = new URLSearchParams({ token: text }).toString();
    const answer = await send(`${url}${api}/oauth/introspect`, 'POST', 200, headers, body);
    if (!JSON.parse(answer.text).active) throw new Error('an introspected token is not active');
  };
  return {
    authorize,
    exchange,
    refresh,
    me: async (visitor: Visitor) =>
      void (await send(`${url}${api}/users/me`, 'GET', 200, { authorization: `Bearer ${visitor.access}` })),
    refreshSession: async (visitor: Visitor) => {
      const body = JSON.stringify({ refresh_token: visitor.sessionRefresh });
      const { text } = await send(`${url}${api}/auth/refresh`, 'POST', 200, visitor.headers, body);
      visitor.sessionRefresh = JSON.parse(text).data.refresh_token;
    },
    introspectSession: (visitor: Visitor) =>
      introspect(visitor.access, {
        'content-type': 'application/x-www-form-urlencoded',
        authorization: `Bearer ${serviceKey}`,
      }),
    introspectToken: (application: Application) => (visitor: Visitor) =>
      introspect(visitor.token, form(application)),
    userinfo: async (visitor: Visitor) =>
      void (await send(`${url}${api}/oauth/userinfo`, 'GET', 200, {
        authorization: `Bearer ${visitor.token}`,
      })),
  };
}

/** Runs the step `count` times, `CONNECTIONS` at once; each visitor does one thing at a time. */
async function drive(visitors: readonly Visitor[], step: Step): Promise<void> {
  let left = count;
  await Promise.all(
    visitors.slice(0, CONNECTIONS).map(async (visitor) => {
      while (left > 0) {
        left -= 1;
        await step(visitor);
      }
    }),
  );
}

async function measureRows(
  rows: readonly Row[],
  visitors: readonly Visitor[],
  pidsOf: (row: Row) => number[][],
) {
  for (let round = -1; round < rounds; round += 1)
    for (const row of rows) {
      if (row.prepare) await drivePrepared(visitors, row.prepare);
      const [own = [], database = []] = pidsOf(row);
      const [cpu, ofDatabase, begin] = [cpuMicroseconds(own), cpuMicroseconds(database), performance.now()];
      await drive(visitors, row.step);
      if (round < 0) continue;
      row.cpu.push((cpuMicroseconds(own) - cpu) / count / 1_000);
      row.database.push((cpuMicroseconds(database) - ofDatabase) / count / 1_000);
      row.rates.push((count * 1_000) / (performance.now() - begin));
    }
}

/** Prepares for as many steps as any visitor may take, because who is faster takes more. */
async function drivePrepared(visitors: readonly Visitor[], prepare: Step): Promise<void> {
  await Promise.all(
    visitors.slice(0, CONNECTIONS).map(async (visitor) => {
      visitor.codes = [];
      for (let number = 0; number < (3 * count) / CONNECTIONS; number += 1) await prepare(visitor);
    }),
  );
}

async function createApplication(url: string, headers: Headers, fields: object): Promise<Application> {
  const body = JSON.stringify({
    redirect_uris: [REDIRECT],
    scopes: ['openid', 'profile', 'email', 'roles', 'groups', 'offline_access'],
    ...fields,
  });
  const { text } = await send(`${url}${api}/applications`, 'POST', 201, headers, body);
  return JSON.parse(text).data;
}

/** Writes live grants of other people, each with an access token. */
async function writeGrants(place: Place, application: Application): Promise<void> {
  const connection = await place.connection();
  const part = 100_000;
  for (let done = 0; done < grants; done += part)
    await query(
      connection,
      `with made as (
         insert into access_grants (id, application_id, user_id, session_id, user_epoch, offline, scopes, redirect_uri,
           code_hash, code_expires_at, code_used_at, auth_time, acr, amr, turn, refresh_expires_at, expires_at, ends_at)
         select gen_random_uuid(), $1, gen_random_uuid(), gen_random_uuid(), 0, true, '{openid,offline_access}', $2,
           sha256(int8send(n)), now(), now(), now(), 'aal1', '{pwd}', 5, now() + interval '7 days',
           now() + interval '30 days', now() + interval '7 days'
         from generate_series($3::bigint, $4::bigint) n returning id, user_id)
       insert into application_tokens (token_hash, grant_id, user_id, jti, scopes, issued_at, expires_at)
       select sha256(uuid_send(id)), id, user_id, gen_random_uuid(), '{openid}', now(), now() + interval '1 hour' from made`,
      [application.id, REDIRECT, done + 1, Math.min(done + part, grants)],
    );
  await query(connection, 'vacuum analyze access_grants');
  await query(connection, 'vacuum analyze application_tokens');
}

/** Returns the milliseconds of ending something, with and without what hangs on it; and of the first notice after each with. */
async function measureEndings(
  place: Place,
  url: string,
  { visitors, applications, headers }: { visitors: Visitor[]; applications: Application[]; headers: Headers },
  told: () => number | undefined,
): Promise<{ name: string; without: number[]; with: number[]; notice: number[] }[]> {
  const connection = await place.connection();
  const kinds = [
    {
      name: `sign-out of a session with ${applications.length} applications`,
      fill: ({ id, session }: Visitor) =>
        query(
          connection,
          `insert into application_sessions (user_id, session_id, application_id, sid, expires_at)
           select $1, $2, id, gen_random_uuid(), now() + interval '1 day' from unnest($3::uuid[]) as id`,
          [id, session, applications.map((one) => one.id)],
        ),
      end: (visitor: Visitor) => send(`${url}${api}/auth/logout`, 'POST', 200, visitor.headers, '{}'),
    },
    {
      name: 'deactivation of a person with 1,000 grants',
      fill: ({ id, session }: Visitor) =>
        query(
          connection,
          `insert into access_grants (id, application_id, user_id, session_id, user_epoch, offline, scopes, redirect_uri,
             code_hash, code_expires_at, code_used_at, auth_time, acr, amr, refresh_expires_at, expires_at, ends_at)
           select gen_random_uuid(), $3, $1, $2, 0, true, '{openid}', $4, sha256(uuid_send(gen_random_uuid())), now(), now(),
             now(), 'aal1', '{pwd}', now() + interval '7 days', now() + interval '30 days', now() + interval '7 days'
           from generate_series(1, 1000)`,
          [id, session, applications[0]?.id, REDIRECT],
        ),
      end: (visitor: Visitor) =>
        send(`${url}${api}/users/${visitor.id}`, 'PUT', 200, headers, '{"is_active":false}'),
    },
  ];
  const found = [];
  for (const { name, fill, end } of kinds) {
    const row = { name, without: [] as number[], with: [] as number[], notice: [] as number[] };
    for (let number = 0; number < ENDINGS; number += 1) {
      const isFull = number % 2 === 1;
      const visitor = visitors.pop();
      if (!visitor) throw new Error('there are too few accounts');
      if (isFull) await fill(visitor);
      told();
      const begin = performance.now();
      await end(visitor);
      (isFull ? row.with : row.without).push(performance.now() - begin);
      // The next one begins when the notices have been sent.
      await new Promise((resolve) => setTimeout(resolve, isFull ? 1_500 : 100));
      const first = told();
      if (isFull && first !== undefined) row.notice.push(first - begin);
    }
    found.push(row);
  }
  return found;
}

/** Returns the ms of processor time of one RS256 signature. */
function signatureMs(): number {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const { user } = process.cpuUsage();
  for (let number = 0; number < 200; number += 1) sign('sha256', Buffer.alloc(600), privateKey);
  return (process.cpuUsage().user - user) / 200 / 1_000;
}

const row = (name: string, step: Step, more: Partial<Row> = {}): Row => ({
  name,
  step,
  cpu: [],
  database: [],
  rates: [],
  ...more,
});

function rowsOf(
  steps: ReturnType<typeof stepsOf>,
  plain: ReturnType<typeof stepsOf>,
  [rsa, ec]: [Application, Application],
  plainOf: (visitor: Visitor) => Visitor,
): Row[] {
  return [
    row('GET /users/me, no application', (visitor) => plain.me(plainOf(visitor))),
    row('GET /users/me', steps.me, { of: 'GET /users/me, no application', most: 1.02 }),
    row('session refresh', steps.refreshSession),
    row('introspect a session', steps.introspectSession),
    row('authorize, signed in', steps.authorize(rsa), { most: 0.9 }),
    row('code exchange, RS256', steps.exchange(rsa), { prepare: steps.authorize(rsa), most: 3.2 }),
    row('introspect a token', steps.introspectToken(rsa), { of: 'introspect a session', most: 1.5 }),
    row('userinfo', steps.userinfo, { of: 'introspect a session', most: 1.5 }),
    row('refresh, RS256', steps.refresh(rsa), { of: 'session refresh', most: 1.2 }),
    row('code exchange, ES256', steps.exchange(ec), { prepare: steps.authorize(ec), most: 2 }),
  ];
}

function tableOf(rows: readonly Row[], signature: number): string {
  return markdown(
    ['', 'requests/s', 'CPU of the service, ms', 'of the database, ms', 'of', 'budget'],
    rows.map((one) => {
      const base = rows.find(({ name }) => name === one.of);
      const more = one.name === 'refresh, RS256' ? signature : 0;
      const ratio = base && median(one.cpu.map((cpu, at) => (cpu - more) / (base.cpu[at] ?? Number.NaN)));
      const told =
        ratio === undefined ? '' : `${format(ratio)} × ${base?.name}${more ? ' + a signature' : ''}`;
      return [
        one.name,
        format(median(one.rates)),
        summary(one.cpu),
        format(median(one.database)),
        told,
        one.most === undefined ? '' : `${one.most}${one.of ? ' ×' : ' ms'}`,
      ];
    }),
  );
}

async function start(place: Place): Promise<Service> {
  unpin();
  const service = await startService({ ...place.environment, ...settings });
  await createAccounts(place);
  return service;
}

async function measure(): Promise<string> {
  const [place, other] = [await createPlace(), await createPlace()];
  let firstNotice: number | undefined;
  const listener = createServer((asked, answer) => {
    firstNotice ??= performance.now();
    asked.resume();
    answer.end();
  });
  try {
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const [service, alone] = [await start(place), await start(other)];
    const { url } = service;
    const serviceKey = await createServiceKey(place);
    const [login] = await loginRequests(url, 1);
    const headers: Headers = { ...json, ...(login?.headers as Headers) };
    const signedIn = await send(
      `${url}${api}/auth/login`,
      'POST',
      200,
      headers,
      JSON.stringify(administrator),
    );
    headers.authorization = `Bearer ${JSON.parse(signedIn.text).data.access_token}`;
    const make = (name: string, fields: object) =>
      createApplication(url, headers, { client_id: name, name, ...fields });
    const own: [Application, Application] = [
      await make('rsa', {}),
      await make('ec', { id_token_signing_alg: 'ES256' }),
    ];
    const address = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/`;
    const many: Application[] = [];
    for (let number = 0; number < 20; number += 1)
      many.push(
        await make(`told-${number}`, { backchannel_logout_url: address, id_token_signing_alg: 'ES256' }),
      );
    // Every process knows within two seconds that there is an application.
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    const visitors = await visitorsOf(url, 0, CONNECTIONS);
    const alike = await visitorsOf(alone.url, 0, CONNECTIONS);
    const plainOf = (visitor: Visitor): Visitor => alike[visitors.indexOf(visitor)] as Visitor;
    const [pids, otherPids] = [await place.databasePids(), await other.databasePids()];
    pinApart([service.pid, alone.pid], [...pids, ...otherPids]);
    const pidsOf = ({ name }: Row): number[][] =>
      name.includes('no application') ? [[alone.pid], otherPids] : [[service.pid], pids];
    const steps = stepsOf(url, serviceKey);
    const rowsNow = () => rowsOf(steps, stepsOf(alone.url, ''), own, plainOf);
    const signature = signatureMs();
    const rows = rowsNow();
    await measureRows(rows, visitors, pidsOf);
    let next = 0;
    const authorize = steps.authorize(own[0]);
    const late = await openLoop(() => authorize(visitors[next++ % visitors.length] as Visitor), {
      everyMs: 5,
      count: 2_000,
    });
    const leaving = await visitorsOf(url, 100, 100 + 2 * ENDINGS);
    const endings = await measureEndings(
      place,
      url,
      { visitors: leaving, applications: many, headers },
      () => {
        const first = firstNotice;
        firstNotice = undefined;
        return first;
      },
    );
    const parts = [
      tableOf(rows, signature),
      `A signature with RS256 costs ${format(signature)} ms. Authorize at 200/s, open loop: p50 ${format(percentile(late, 0.5))} ms, p99 ${format(percentile(late, 0.99))} ms (budget 25).`,
      markdown(
        ['', 'ms without', 'ms with', 'ratio (budget 1.3)', 'first notice, ms (budget 1,000)'],
        endings.map((one) => [
          one.name,
          summary(one.without),
          summary(one.with),
          format(median(one.with) / median(one.without)),
          one.notice.length > 0 ? summary(one.notice) : '',
        ]),
      ),
    ];
    if (grants > 0) {
      await writeGrants(place, own[0]);
      const again = rowsNow();
      await measureRows(again, visitors, pidsOf);
      parts.push(
        markdown(
          [
            `beside ${grants.toLocaleString('en-US')} grants`,
            'CPU of the service, ms',
            'ratio',
            'of the database, ms',
            'ratio (budget 1.2)',
          ],
          again.map((one, at) => [
            one.name,
            summary(one.cpu),
            format(median(one.cpu) / median(rows[at]?.cpu ?? [])),
            summary(one.database),
            format(median(one.database) / median(rows[at]?.database ?? [])),
          ]),
        ),
      );
    }
    connections.destroy();
    await Promise.all([service.stop(), alone.stop()]);
    return parts.join('\n\n');
  } finally {
    listener.close();
    await place.remove();
    await other.remove();
  }
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));
process.stdout.write(
  `Node ${process.versions.node}, ${availableParallelism()} cores, ${databaseKind}. Medians of ${rounds} rounds ` +
    `(lowest–highest); the rows take turns in each round.\n\n${await measure()}\n`,
);
