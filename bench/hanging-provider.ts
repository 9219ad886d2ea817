// Measures what other people experience while 100 sign-ins wait at an identity provider that hangs.
// `node bench/hanging-provider.ts`, about a minute, on an embedded PostgreSQL or on a new database of the server that DATABASE_URL
// names. Both states take turns on one service. Loopback only.
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type Issuer, startIssuer } from '@castellan/testing/openid/issuer';
import { createAccounts, loginRequests, openSessions } from './load/accounts.ts';
import { format, markdown, median, percentile, summary } from './report/table.ts';
import { createPlace, databaseKind } from './service/place.ts';
import { fetchCsrf, startService } from './service/service.ts';

const ROUNDS = Number(process.env.BENCH_ROUNDS || 5);
const SIGN_INS = 100;
/** So many of them wait; the others are refused. */
const WAITING = 80;
/** Few enough that they end before the sign-ins do. */
const READS = 300;
const LOGINS = 10;

const api = '/api/v1';
const form = { 'content-type': 'application/json' };

type Sent = { method?: string | undefined; headers?: object | undefined; body?: unknown };

/** Sends a request. Throws for any status but this one. */
async function send(url: string, status: number, { method = 'GET', headers, body }: Sent) {
  const answer = await fetch(url, {
    method,
    headers: headers as Record<string, string>,
    redirect: 'manual',
    ...(body === undefined ? {} : { body: String(body) }),
  });
  const text = await answer.text();
  if (answer.status !== status)
    throw new Error(`${url.replace(/\?.*/, '')} answered ${answer.status}: ${text}`);
  return { text, cookies: answer.headers.getSetCookie().map((one) => one.split(';')[0] ?? '') };
}

async function addProvider(url: string, issuer: Issuer): Promise<void> {
  const headers = { ...form, ...(await fetchCsrf(url)) };
  const administrator = { email: 'admin@example.com', password: 'Vexing#Quartz82Lime' };
  const login = { method: 'POST', headers, body: JSON.stringify(administrator) };
  const { text } = await send(`${url}${api}/auth/login`, 200, login);
  const authorization = `Bearer ${JSON.parse(text).data.access_token}`;
  await send(`${url}${api}/identity-providers`, 201, {
    method: 'POST',
    headers: { ...headers, authorization },
    body: JSON.stringify({
      slug: 'hanging',
      name: 'Hanging',
      kind: 'oidc',
      issuer: issuer.issuer,
      client_id: issuer.client.id,
      client_secret: issuer.client.secret,
      client_auth: 'client_secret_basic',
    }),
  });
}

/** Begins sign-ins, and resolves when they wait. Returns how many of them do, and their end. */
async function beginSignIns(
  url: string,
  issuer: Issuer,
): Promise<{ left: () => number; ended: Promise<unknown> }> {
  const path = `${url}${api}/auth/providers/hanging`;
  const csrf = await fetchCsrf(url);
  const begun: { query: URLSearchParams; cookie: string }[] = [];
  for (let number = 0; number < SIGN_INS; number += 1) {
    const started = await send(`${path}/start`, 200, {
      method: 'POST',
      headers: { ...form, ...csrf },
      body: '{}',
    });
    const cookie = started.cookies.find((one) => one.startsWith('castellan_provider=')) ?? '';
    begun.push({ query: issuer.approve(JSON.parse(started.text).data.redirect_to).parameters, cookie });
  }
  let left = SIGN_INS;
  const all = begun.map(async ({ query, cookie }) => {
    await send(`${path}/callback?${query}`, 303, { headers: { cookie } });
    left -= 1;
  });
  while (left > WAITING) await pause(10);
  return { left: () => left, ended: Promise.all(all) };
}

type Felt = { reads: number[]; logins: number[] };

/** Sends requests of other people, one after the other. */
async function feel(url: string, requests: { reads: Sent[]; logins: Sent[] }): Promise<Felt> {
  const timed = async (path: string, all: Sent[], count: number): Promise<number[]> => {
    const times: number[] = [];
    for (let number = 0; number < count; number += 1) {
      const begin = performance.now();
      await send(`${url}${api}${path}`, 200, all[number % all.length] ?? {});
      times.push(performance.now() - begin);
    }
    return times;
  };
  return {
    reads: await timed('/users/me', requests.reads, READS),
    logins: await timed('/auth/login', requests.logins, LOGINS),
  };
}

async function measure(url: string, issuer: Issuer): Promise<string> {
  const requests = {
    reads: await openSessions(url, `${api}/users/me`, 20),
    logins: (await loginRequests(url)).slice(20, 20 + LOGINS),
  };
  await feel(url, requests);
  const [quiet, waiting]: [Felt[], Felt[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    quiet.push(await feel(url, requests));
    issuer.misbehaviour = { trouble: { token: 'hang' } };
    const { left, ended } = await beginSignIns(url, issuer);
    waiting.push(await feel(url, requests));
    if (left() < WAITING) throw new Error('the sign-ins ended before the others were measured');
    // What waits for its turn ends soon.
    issuer.misbehaviour = { trouble: { token: 'error' } };
    await ended;
  }
  const row = (name: string, of: (felt: Felt) => number[], part: number): string[] => {
    const [without, beside] = [quiet, waiting].map((all) => all.map((felt) => percentile(of(felt), part)));
    const ratios = (beside ?? []).map((value, at) => value / (without?.[at] ?? Number.NaN));
    return [name, summary(without ?? []), summary(beside ?? []), format(median(ratios))];
  };
  return markdown(
    ['Other people', 'nobody waits, ms', `${SIGN_INS} sign-ins at it, ms`, 'ratio (budget for p50: 1.2)'],
    [
      row('GET /users/me, p50', ({ reads }) => reads, 0.5),
      row('GET /users/me, p99', ({ reads }) => reads, 0.99),
      row('login, p50', ({ logins }) => logins, 0.5),
    ],
  );
}

const hooks: (() => Promise<void>)[] = [];
const place = await createPlace();
try {
  const issuer = await startIssuer({ after: (hook) => void hooks.push(hook) });
  const service = await startService({
    ...place.environment,
    RATE_LIMIT_USER: 'off',
    RATE_LIMIT_PROVIDER_START: 'off',
    CONCURRENT_SESSION_LIMIT: '0',
  });
  await createAccounts(place);
  await addProvider(service.url, issuer);
  process.stdout.write(
    `Node ${process.versions.node}, ${availableParallelism()} cores, ${databaseKind}. Medians of ${ROUNDS} rounds (lowest–highest); ` +
      `the two states take turns.\n\n${await measure(service.url, issuer)}\n`,
  );
  await service.stop();
} finally {
  for (const hook of hooks) await hook();
  await place.remove();
}
