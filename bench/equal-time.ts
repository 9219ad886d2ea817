// Measures whether response times reveal something: refused sign-ins for different reasons, mails requested with
// and without an account, and registrations with an address that is taken. Run it alone: `node bench/equal-time.ts`, about two minutes.
// Sends one request at a time, the cases in a new random order in each round, so that noise affects all of them equally.
import { randomInt, randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import { hash } from '@node-rs/argon2';
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

type Case = {
  name: string;
  path: string;
  status: number;
  password?: string;
  /** Absent: an email without an account. */
  account?: { active?: false; verified?: false; invited?: true };
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
};

// A median of 400 answers varies by about 1 % from run to run on an idle machine.
const samples = Number(process.env.BENCH_SAMPLES || 400);
/** Not counted, because the first answers of a process are slower. */
const warmUp = 20;

type Sampled = { test: Case; emails: string[]; ms: number[] };

/** Creates an email for each sample, so that no counter grows from one sample to the next. */
async function prepare(place: Place, passwordHash: string): Promise<Map<string, Sampled[]>> {
  const connection = await place.connection();
  const sampled = new Map<string, Sampled[]>();
  for (const [title, cases] of Object.entries(tables)) {
    for (const test of cases) {
      const emails = Array.from({ length: samples + warmUp }, () => `${randomUUID()}@example.com`);
      if (test.account)
        await query(
          connection,
          `insert into users (id, email, first_name, last_name, password_hash, is_active, verified, invited_at,
             invitation_hours)
           select gen_random_uuid(), email, 'Ada', 'Lovelace', case when $5 then null else $2 end, $3, $4 and not $5,
             case when $5 then now() end, case when $5 then 168 end
           from unnest($1::text[]) as made (email)`,
          [
            emails,
            passwordHash,
            test.account.active ?? true,
            test.account.verified ?? true,
            test.account.invited ?? false,
          ],
        );
      if (test.locked)
        await query(
          connection,
          `insert into login_attempts (email, failures, locked_until)
           select email, 5, now() + interval '1 day' from unnest($1::text[]) as made (email)`,
          [emails],
        );
      sampled.set(title, [...(sampled.get(title) ?? []), { test, emails, ms: [] }]);
    }
  }
  await query(connection, 'analyze');
  return sampled;
}

type Poster = (path: string, body: object) => Promise<{ status: number; ms: number }>;

/** Sends requests on one kept connection; measures the time from the call to the last byte. */
async function openPoster(url: string): Promise<{ post: Poster; close(): void }> {
  const csrf = await fetchCsrf(url);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const headers = { 'content-type': 'application/json', ...csrf };
  const post: Poster = (path, body) =>
    new Promise((resolve, reject) => {
      const text = JSON.stringify(body);
      const begin = performance.now();
      const message = request(`${url}${path}`, { method: 'POST', agent, headers }, (answer) => {
        answer.resume();
        answer.once('end', () => resolve({ status: answer.statusCode ?? 0, ms: performance.now() - begin }));
      });
      message.once('error', reject);
      message.setHeader('content-length', Buffer.byteLength(text));
      message.end(text);
    });
  return { post, close: () => agent.destroy() };
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
      for (const { test, emails, ms } of shuffled(all)) {
        const { password } = test;
        const names = test.path === register ? { first_name: 'Ada', last_name: 'Lovelace' } : {};
        const answer = await post(test.path, {
          email: emails[round],
          ...(password ? { password } : {}),
          ...names,
        });
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
