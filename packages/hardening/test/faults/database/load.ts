// The load during database faults: sixteen clients at two instances, and checks of their answers. It must not count a
// lost answer as a success, nor as a refusal that undid the change.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { atEnd, until } from '@castellan/embedded-postgres/testing';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, newEmail, PASSWORD, signIn, type TestService } from '@castellan/testing/harness';
import { rounds, type Tally } from '@castellan/testing/scenario';

/**
 * A client repeats a refresh whose answer was lost, attempts that were cut do not lock the account, and a server with
 * the usual 100 connections serves all scenarios that run at once.
 */
export const loadEnvironment = {
  REFRESH_REUSE_INTERVAL: '600',
  ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
  DATABASE_POOL_SIZE: '5',
};
/** The default of CONCURRENT_SESSION_LIMIT. */
export const SESSION_CAP = 5;
const WORKERS_OF_A_KIND = 4;
// Milliseconds between two requests of one client, so that the load does not use all of the processor. Refusals come
// fast.
const PACE_MS = rounds(80, 5);
const PACE_REFUSED_MS = rounds(150, 40);

type Role = { id: string; name: string; description: string; attempted: string[] };

export type Load = {
  readonly sent: number;
  readonly succeeded: number;
  readonly refused: number;
  /** While it is on, a request that begins and ends during the outage must not succeed. */
  setOutage(on: boolean): void;
  /** Sends no more requests and waits for the last answers. */
  settle(): Promise<void>;
  /** Checks all answers against database and service. Returns the number of statements checked. */
  check(options?: { audited?: boolean }): Promise<number>;
};

export type LoadTarget = { service: TestService; twin: TestService };

let loads = 0;

/** Registers a user and verifies them in SQL, because any instance of the database may send the mail. */
async function createPerson(service: TestService): Promise<{ id: string; email: string; password: string }> {
  const email = newEmail('person');
  const account = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
  const answer = await service.client().post('/api/v1/auth/register', account);
  assert.equal(answer.status, 201, answer.text);
  await service.sql('update users set verified = true where email = $1', [email]);
  return { id: answer.body.data.id, email, password: PASSWORD };
}

/** Starts the load. Both instances must be ready. */
export async function startLoad(t: TestContext, { service, twin }: LoadTarget, tally: Tally): Promise<Load> {
  loads += 1;
  const prefix = `load-${process.pid}-${loads}-`;
  const urlOf = (index: number): string => (index % 2 ? service.url : twin.url);
  const [permission] = await service.sql<{ id: string }>('select id from permissions order by name limit 1');
  const counts = { sent: 0, succeeded: 0, refused: 0 };
  const unexpected: string[] = [];
  const roles: Role[] = [];
  const registered: string[] = [];
  const revoked: string[] = [];
  const chains: TestClient[] = [];
  const newest = new Map<number, { token: string; since: number }>();
  let outages = 0;
  let isOutage = false;
  let stopping = false;

  /** Returns null for a clear temporary refusal. Records any other status than `wanted` as unexpected. */
  async function send(what: string, wanted: number, run: () => Promise<Answer>): Promise<Answer | null> {
    const begun = isOutage ? outages : -1;
    counts.sent += 1;
    tally.tried();
    let answer: Answer;
    try {
      answer = await run();
    } catch (error) {
      unexpected.push(`${what}: no answer: ${error}`);
      return null;
    }
    if (isOutage && begun === outages && answer.status < 300)
      unexpected.push(`${what}: ${answer.status} without a database`);
    if (answer.status === wanted) {
      counts.succeeded += 1;
      await pause(PACE_MS);
      return answer;
    }
    const isClear =
      answer.status === 503 &&
      ['database_unavailable', 'overloaded'].includes(answer.body?.code) &&
      Number(answer.headers.get('retry-after')) >= 1;
    if (!isClear) unexpected.push(`${what}: ${answer.status} ${answer.text}`);
    counts.refused += 1;
    await pause(PACE_REFUSED_MS);
    return null;
  }

  const people = await Promise.all(
    Array.from({ length: 3 * WORKERS_OF_A_KIND }, () => createPerson(service)),
  );
  // Runs before any fault.
  const signedIn = await Promise.all(people.map((person) => signIn(service, person)));
  const admin = await signIn(service, ADMIN);

  async function signInAndOut(index: number): Promise<void> {
    const person = people[index] as (typeof people)[number];
    for (let turn = index; !stopping; turn += 1) {
      const client = service.client().at(urlOf(turn));
      const login = await send('login', 200, () => client.login(person));
      const before = newest.get(index);
      if (!login) {
        if (before) before.since += 1;
        continue;
      }
      const token = client.accessToken as string;
      newest.set(index, { token, since: 0 });
      if (turn % 3 !== 0) continue;
      newest.delete(index);
      if (await send('logout', 200, () => client.post('/api/v1/auth/logout'))) revoked.push(token);
    }
  }

  async function refresh(index: number): Promise<void> {
    const client = signedIn[index] as TestClient;
    chains.push(client);
    for (let turn = index; !stopping; turn += 1) {
      const at = client.at(urlOf(turn));
      const answer = await send('refresh', 200, () =>
        at.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken }),
      );
      if (answer) client.refreshToken = answer.body.data.refresh_token;
    }
  }

  async function look(index: number): Promise<void> {
    const person = people[index] as (typeof people)[number];
    const client = signedIn[index] as TestClient;
    for (let turn = index; !stopping; turn += 1) {
      const answer = await send('users/me', 200, () => client.at(urlOf(turn)).get('/api/v1/users/me'));
      if (answer && answer.body.data.id !== person.id) unexpected.push(`users/me of another: ${answer.text}`);
    }
  }

  async function administer(index: number): Promise<void> {
    for (let turn = 1; !stopping; turn += 1) {
      const name = `${prefix}${index}-${turn}`;
      const client = admin.at(urlOf(index + turn));
      const body = { name, description: 'first', permission_ids: [permission?.id] };
      const made = await send('role', 201, () => client.post('/api/v1/roles', body));
      if (made) {
        const role: Role = { id: made.body.data.id, name, description: 'first', attempted: ['first'] };
        roles.push(role);
        role.attempted.push('second');
        const changed = await send('role change', 200, () =>
          client.put(`/api/v1/roles/${role.id}`, { description: 'second' }),
        );
        if (changed) role.attempted = ['second'];
      }
      if (turn % 8 !== 1) continue;
      const email = `${name}@example.com`;
      const account = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
      if (await send('register', 201, () => client.post('/api/v1/auth/register', account)))
        registered.push(email);
    }
  }

  const running = Promise.all(
    Array.from({ length: WORKERS_OF_A_KIND }, (_, at) => [
      signInAndOut(at),
      refresh(WORKERS_OF_A_KIND + at),
      look(2 * WORKERS_OF_A_KIND + at),
      administer(at),
    ]).flat(),
  );
  // `settle` awaits it; this handles a scenario that failed before.
  running.catch(() => {});
  atEnd(t, async () => {
    stopping = true;
    await Promise.allSettled([running]);
  });

  async function checkRecords(audited: boolean): Promise<number> {
    const look = () =>
      service.sql<{ name: string; description: string; parts: number; entries: number }>(
        `select name, description,
           (select count(*)::int from role_permissions p where p.role_id = r.id) as parts,
           (select count(*)::int from audit_logs a where a.resource_id = r.id::text and a.action = 'role_created') as entries
         from roles r where starts_with(name, $1)`,
        [prefix],
      );
    let rows = await look();
    // While the log cannot be written, entries wait in memory and come later than their answers.
    if (audited)
      await until('every role has its entry in the audit log', async () => {
        rows = await look();
        return rows.every(({ entries }) => entries > 0);
      });
    const found = new Map(rows.map((row) => [row.name, row]));
    for (const { name, attempted } of roles) {
      const row = found.get(name) ?? assert.fail(`the role ${name} was acknowledged and is lost`);
      assert.ok(attempted.includes(row.description), `${name}: ${row.description} instead of ${attempted}`);
    }
    for (const row of rows) {
      assert.equal(row.parts, 1, `${row.name} is half made`);
      if (audited) assert.equal(row.entries, 1, `${row.name} has no entry in the audit log`);
    }
    const accounts = await service.sql<{ email: string; roles: number; mails: number }>(
      `select email, (select count(*)::int from user_roles l where l.user_id = u.id) as roles,
         (select count(*)::int from outbox o where o.kind = 'verification' and o.payload ->> 'email' = email) as mails
       from users u where starts_with(email, $1)`,
      [prefix],
    );
    const emails = new Set(accounts.map(({ email }) => email));
    for (const email of registered) assert.ok(emails.has(email), `${email} was acknowledged and is lost`);
    for (const { email, ...parts } of accounts)
      assert.deepEqual(parts, { roles: 1, mails: 1 }, `${email} is half made`);
    return roles.length + rows.length + registered.length + accounts.length;
  }

  async function checkTokens(): Promise<number> {
    let held = 0;
    const statusOf = async (token: string, url: string): Promise<number> => {
      const client = service.client().at(url);
      client.accessToken = token;
      held += 1;
      return (await client.get('/api/v1/users/me')).status;
    };
    for (const token of revoked)
      for (const url of [service.url, twin.url])
        assert.equal(
          await statusOf(token, url),
          401,
          'a token is accepted after its sign-out was acknowledged',
        );
    // Sign-ins whose answer was lost also count for the session limit.
    for (const { token, since } of newest.values())
      if (since < SESSION_CAP - 1)
        assert.equal(await statusOf(token, twin.url), 200, 'an acknowledged login is lost');
    for (const client of chains) {
      const answer = await client.post('/api/v1/auth/refresh', { refresh_token: client.refreshToken });
      assert.equal(answer.status, 200, `an acknowledged refresh is lost: ${answer.text}`);
      held += 1;
    }
    return held;
  }

  return {
    get sent() {
      return counts.sent;
    },
    get succeeded() {
      return counts.succeeded;
    },
    get refused() {
      return counts.refused;
    },
    setOutage(on) {
      outages += 1;
      isOutage = on;
    },
    async settle() {
      stopping = true;
      await running;
    },
    async check({ audited = true } = {}) {
      assert.deepEqual(unexpected.slice(0, 5), [], `${unexpected.length} answers that should not be`);
      return counts.sent + (await checkRecords(audited)) + (await checkTokens());
    },
  };
}
