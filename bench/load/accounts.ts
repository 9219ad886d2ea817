// Creates the accounts that a benchmark signs in with, and their sessions. It must not measure.
import { randomUUID } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import autocannon, { type Client, type Request, type Result } from 'autocannon';
import { createApiKey } from '../../packages/server/src/platform/security/api-key.ts';
import { argon2Parameters } from '../comparison/argon2-rate.ts';
import { type Place, query } from '../service/place.ts';
import { fetchCsrf } from '../service/service.ts';

export const accountCount = 200;
export const accountPassword = 'QaRegisterPass!47';
const emailOf = (number: number): string => `bench-${number}@example.com`;

/** Creates verified users with the default role. In SQL, because rate limits forbid so many registrations. */
export async function createAccounts(place: Place, count = accountCount): Promise<void> {
  const ids = Array.from({ length: count }, () => randomUUID());
  const emails = ids.map((_, number) => emailOf(number));
  const connection = await place.connection();
  await query(
    connection,
    `insert into users (id, email, first_name, last_name, password_hash, verified)
     select id, email, 'Ada', 'Lovelace', $3, true from unnest($1::uuid[], $2::text[]) as made (id, email)`,
    [ids, emails, await hash(accountPassword, argon2Parameters)],
  );
  await query(
    connection,
    "insert into user_roles (user_id, role_id) select unnest($1::uuid[]), id from roles where name = 'User'",
    [ids],
  );
}

/** Creates a service account with the role that may ask about others. Returns its API key. */
export async function createServiceKey(place: Place): Promise<string> {
  const { text, prefix, hash: secretHash } = createApiKey();
  await query(
    await place.connection(),
    `with account as (
       insert into service_accounts (id, name) values (gen_random_uuid(), 'bench') returning id
     ), held as (
       insert into service_account_roles (service_account_id, role_id)
       select account.id, r.id from account, roles r where r.name = 'Service'
     )
     insert into api_keys (id, service_account_id, name, prefix, secret_hash)
     select gen_random_uuid(), id, 'bench', $1, $2 from account`,
    [prefix, secretHash],
  );
  return text;
}

/** Returns one sign-in per account, as autocannon sends it. */
export async function loginRequests(url: string, count = accountCount): Promise<Request[]> {
  const csrf = await fetchCsrf(url);
  return Array.from({ length: count }, (_, number) => ({
    method: 'POST' as const,
    path: '/api/v1/auth/login',
    headers: { 'content-type': 'application/json', ...csrf },
    body: JSON.stringify({ email: emailOf(number), password: accountPassword }),
  }));
}

/** A session of an account. `headers` contain the access token, and the CSRF token with its cookie. */
export type Session = {
  accessToken: string;
  refreshToken: string;
  headers: { authorization: string; cookie: string; 'x-csrf-token': string };
};

export async function signIn(url: string, number: number): Promise<Session> {
  const { headers = {}, body = '' } = (await loginRequests(url))[number] ?? {};
  const response = await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers, body });
  if (!response.ok) throw new Error(`login answered ${response.status}: ${await response.text()}`);
  const { data }: { data: { access_token: string; refresh_token: string } } = JSON.parse(
    await response.text(),
  );
  const { cookie = '', 'x-csrf-token': csrfToken = '' } = headers;
  return {
    accessToken: data.access_token,
    refreshToken: data.refresh_token,
    headers: { authorization: `Bearer ${data.access_token}`, cookie, 'x-csrf-token': csrfToken },
  };
}

/** Signs in to the first `count` accounts; returns GET requests with their access tokens. */
export async function openSessions(url: string, path: string, count = accountCount): Promise<Request[]> {
  const requests: Request[] = [];
  for (const { headers = {}, body = '' } of await loginRequests(url, count)) {
    const response = await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers, body });
    const { data }: { data: { access_token: string } } = JSON.parse(await response.text());
    requests.push({ method: 'GET', path, headers: { authorization: `Bearer ${data.access_token}` } });
  }
  return requests;
}

/** Sends all requests in turn on each connection, starting at a different one. Throws for any answer but 2xx. */
export async function load(
  url: string,
  requests: Request[],
  connections: number,
  seconds: number,
): Promise<Result> {
  let begin = 0;
  const setupClient = (client: Client): void => {
    client.setRequests([...requests.slice(begin), ...requests.slice(0, begin)]);
    begin = (begin + Math.ceil(requests.length / connections)) % requests.length;
  };
  const result = await autocannon({ url, connections, duration: seconds, setupClient });
  if (result.non2xx > 0 || result.errors > 0)
    throw new Error(`${result.non2xx} refusals and ${result.errors} errors in ${result['2xx']} answers`);
  return result;
}
