// The accounts that a benchmark logs in, and their sessions. It must not measure.
import { randomUUID } from 'node:crypto';
import { hash } from '@node-rs/argon2';
import autocannon, { type Client, type Request, type Result } from 'autocannon';
import { argon2Parameters } from './argon2-rate.ts';
import { type Place, query } from './place.ts';

export const accountCount = 200;
const password = 'QaRegisterPass!47';
const emailOf = (number: number): string => `bench-${number}@example.com`;

/** Verified users with the default role. In SQL: no address may register that many. */
export async function createAccounts(place: Place): Promise<void> {
  const ids = Array.from({ length: accountCount }, () => randomUUID());
  const emails = ids.map((_, number) => emailOf(number));
  const connection = await place.connection();
  await query(
    connection,
    `insert into users (id, email, first_name, last_name, password_hash, verified)
     select id, email, 'Ada', 'Lovelace', $3, true from unnest($1::uuid[], $2::text[]) as made (id, email)`,
    [ids, emails, await hash(password, argon2Parameters)],
  );
  await query(
    connection,
    "insert into user_roles (user_id, role_id) select unnest($1::uuid[]), id from roles where name = 'User'",
    [ids],
  );
}

/** A login of each account, as autocannon sends it. */
export async function loginRequests(url: string): Promise<Request[]> {
  const response = await fetch(`${url}/api/v1/auth/csrf-token`);
  const { data } = (await response.json()) as { data: { csrf_token: string } };
  const cookie = response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  return Array.from({ length: accountCount }, (_, number) => ({
    method: 'POST' as const,
    path: '/api/v1/auth/login',
    headers: { 'content-type': 'application/json', 'x-csrf-token': data.csrf_token, cookie },
    body: JSON.stringify({ email: emailOf(number), password }),
  }));
}

/** One session of each account; answers GET requests that carry their access tokens. */
export async function openSessions(url: string, path: string): Promise<Request[]> {
  const requests: Request[] = [];
  for (const { headers = {}, body = '' } of await loginRequests(url)) {
    const response = await fetch(`${url}/api/v1/auth/login`, { method: 'POST', headers, body });
    const { data } = (await response.json()) as { data: { access_token: string } };
    requests.push({ method: 'GET', path, headers: { authorization: `Bearer ${data.access_token}` } });
  }
  return requests;
}

/** Each connection sends all of the requests in turn, beginning at another one. Fails on any answer but 2xx. */
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
