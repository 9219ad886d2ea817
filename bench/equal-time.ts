// Measures whether response times reveal something: refused sign-ins for different reasons, mails requested with
// and without an account, registrations with an address that is taken, and changes of one's own address to one that is.
// Run it alone: `node bench/equal-time.ts`, about three minutes.
// Sends one request at a time, the cases in a new random order in each round, so that noise affects all of them equally.
import { randomInt, randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { hash } from '@node-rs/argon2';
import type pg from 'pg';
import { argon2Parameters } from './comparison/argon2-rate.ts';
import { format, markdown, median } from './report/table.ts';
import { createPlace, type Place, query } from './service/place.ts';
import { fetchCsrf, startService } from './service/service.ts';

const right = 'QaRegisterPass!47';
const wrong = 'Quite#Another82Plum';
const login = '/api/v1/auth/login';
const resend = '/api/v1/auth/resend-verification-email';
const reset = '/api/v1/auth/password-reset/request';
const register = '/api/v1/auth/register';
const ownEmail = '/api/v1/users/me/email';

type Case = {
  name: string;
  path: string;
  status: number;
  password?: string;
  /** Absent: an email without an account. */
  account?: { active?: boolean; verified?: boolean; invited?: boolean };
  locked?: true;
};

/** The first case of a table is the reference for the others. */
const tables: Readonly<Record<string, readonly Case[]>> = {
  'Refused logins': [
    { name: 'account, wrong password', path: login, status: 422, password: wrong, account: {} },
    { name: 'unknown address', path: login, status: 422, password: wrong },
    {
      name: 'inactive, right password',
      path: login,
      status: 422,
      password: right,
      account: { active: false },
    },
    {
      name: 'inactive, wrong password',
      path: login,
      status: 422,
      password: wrong,
      account: { active: false },
    },
    { name: 'invited', path: login, status: 422, password: right, account: { invited: true } },
  ],
  'Logins while locked': [
    { name: 'account, wrong password', path: login, status: 422, password: wrong, account: {}, locked: true },
    { name: 'account, right password', path: login, status: 422, password: right, account: {}, locked: true },
    { name: 'unknown address', path: login, status: 422, password: wrong, locked: true },
    {
      name: 'invited',
      path: login,
      status: 422,
      password: right,
      account: { invited: true },
      locked: true,
    },
  ],
  'Verification mail asked for again': [
    { name: 'unverified account', path: resend, status: 200, account: { verified: false } },
    { name: 'verified account', path: resend, status: 200, account: {} },
    { name: 'unknown address', path: resend, status: 200 },
    { name: 'invited', path: resend, status: 200, account: { invited: true } },
  ],
  'Password reset asked for': [
    { name: 'account', path: reset, status: 200, account: {} },
    { name: 'inactive account', path: reset, status: 200, account: { active: false } },
    { name: 'unknown address', path: reset, status: 200 },
    { name: 'invited', path: reset, status: 200, account: { invited: true } },
  ],
  'Registrations with an address that is taken': [
    { name: 'account', path: register, status: 409, password: right, account: {} },
    {
      name: 'unverified account',
      path: register,
      status: 409,
      password: right,
      account: { verified: false },
    },
    { name: 'invited', path: register, status: 409, password: right, account: { invited: true } },
  ],
  // Each by another account, which has just signed in.
  'Own address changed to': [
    { name: 'unknown address', path: ownEmail, status: 202 },
    { name: 'address of an account', path: ownEmail, status: 202, account: {} },
    { name: 'address of an invited person', path: ownEmail, status: 202, account: { invited: true } },
  ],
};

// A median of 400 answers varies by about 1 % from run to run on an idle machine.
const samples = Number(process.env.BENCH_SAMPLES || 400);
/** Not counted, because the first answers of a process are slower. */
const warmUp = 20;

const newEmails = (): string[] =>
  Array.from({ length: samples + warmUp }, () => `${randomUUID()}@example.com`);

/** `callers`: the accounts that send the requests, if these need a session. */
type Sampled = { test: Case; emails: string[]; callers: string[]; ms: number[] };

async function addAccounts(
  connection: pg.ClientConfig,
  emails: readonly string[],
  passwordHash: string,
  { active = true, verified = true, invited = false }: NonNullable<Case['account']> = {},
): Promise<void> {
  await query(
    connection,
    `insert into users (id, email, first_name, last_name, password_hash, is_active, verified, invited_at,
       invitation_hours)
     select gen_random_uuid(), email, 'Ada', 'Lovelace', case when $5 then null else $2 end, $3, $4 and not $5,
       case when $5 then now() end, case when $5 then 168 end
     from unnest($1::text[]) as made (email)`,
    [emails, passwordHash, active, verified, invited],
  );
}

/** Creates an email for each sample, so that no counter grows from one sample to the next. */
async function prepare(place: Place, passwordHash: string): Promise<Map<string, Sampled[]>> {
  const connection = await place.connection();
  const sampled = new Map<string, Sampled[]>();
  for (const [title, cases] of Object.entries(tables)) {
    for (const test of cases) {
      const emails = newEmails();
      if (test.account) await addAccounts(connection, emails, passwordHash, test.account);
      const callers = test.path === ownEmail ? newEmails() : [];
      await addAccounts(connection, callers, passwordHash);
      if (test.locked)
        await query(
          connection,
          `insert into login_attempts (email, failures, locked_until)
           select email, 5, now() + interval '1 day' from unnest($1::text[]) as made (email)`,
          [emails],
        );
      sampled.set(title, [...(sampled.get(title) ?? []), { test, emails, callers, ms: [] }]);
    }
  }
  await query(connection, 'analyze');
  return sampled;
}

type Poster = (
  path: string,
  body: object,
  more?: Record<string, string>,
) => Promise<{ status: number; ms: number; text: string }>;

/** Sends requests on one kept connection; measures the time from the call to the last byte. */
async function openPoster(url: string): Promise<{ post: Poster; close(): void }> {
  const csrf = await fetchCsrf(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { 'content-type': 'application/json', ...csrf };
  const post: Poster = (path, body, more = {}) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const begin = performance.now();
      const message = request(
        `${url}${path}`,
        { method: 'POST', agent, headers: { ...headers, ...more } },
        (answer) => {
          let body = '';
          answer.setEncoding('utf8').on('data', (chunk: string) => {
            body += chunk;
          });
          answer.once('end', () =>
            resolve({ status: answer.statusCode ?? 0, ms: performance.now() - begin, text: body }),
          );
        },
      );
      message.once('error', reject);
      message.setHeader('content-length', Buffer.byteLength(text));
      message.end(text);
    });
  return { post, close: () => agent.destroy() };
}

/** Signs in. Returns the header of the session. */
async function signIn(post: Poster, email: string): Promise<Record<string, string>> {
  const { status, text } = await post(login, { email, password: right });
  if (status !== 200) throw new Error(`a sign-in: ${status}`);
  return { authorization: `Bearer ${JSON.parse(text).data.access_token}` };
}

const shuffled = <T>(values: readonly T[]): T[] =>
  values
    .map((value) => ({ value, key: randomInt(2 ** 47) }))
    .sort((a, b) => a.key - b.key)
    .map(({ value }) => value);

/** Returns one table for each question, with ratios of medians. Throws when an answer has an unexpected status. */
export async function measureEqualTime(): Promise<string[]> {
  const place = await createPlace();
  const service = await startService({
    ...place.environment,
    RATE_LIMIT_RESEND_VERIFICATION: 'off',
    RATE_LIMIT_PASSWORD_RESET: 'off',
    RATE_LIMIT_REGISTER: 'off',
    REGISTRATION_ABUSE_LIMIT: 'off',
  });
  try {
    const sampled = await prepare(place, await hash(right, argon2Parameters));
    const { post, close } = await openPoster(service.url);
    const all = [...sampled.values()].flat();
    for (let round = 0; round < samples + warmUp; round += 1)
      for (const { test, emails, callers, ms } of shuffled(all)) {
        const { password } = test;
        const names = test.path === register ? { first_name: 'Ada', last_name: 'Lovelace' } : {};
        const [email, caller] = [emails[round], callers[round]];
        const answer =
          caller === undefined
            ? await post(test.path, { email, ...(password ? { password } : {}), ...names })
            : await post(test.path, { new_email: email }, await signIn(post, caller));
        if (answer.status !== test.status) throw new Error(`${test.name}: ${answer.status}`);
        if (round >= warmUp) ms.push(answer.ms);
      }
    close();
    return [...sampled].map(([title, cases]) => tableOf(title, cases));
  } finally {
    await service.stop();
    await place.remove();
  }
}

const quartile = (values: number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN;

function tableOf(title: string, cases: Sampled[]): string {
  const reference = median(cases[0]?.ms ?? []);
  return markdown(
    [`${title}, ${samples} of each`, 'median, ms', 'middle half, ms', 'of the first row'],
    cases.map(({ test, ms }) => [
      test.name,
      format(median(ms)),
      `${format(quartile(ms, 0.25))}–${format(quartile(ms, 0.75))}`,
      (median(ms) / reference).toFixed(3),
    ]),
  );
}

if (import.meta.main) for (const table of await measureEqualTime()) process.stdout.write(`${table}\n\n`);
