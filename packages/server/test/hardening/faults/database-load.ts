// The load under which the database is broken: sixteen clients over two instances, and the judgement of what they were
// told. It must not count an answer that never came as a success or as a refusal that undid the change.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, TestClient } from '../../client.ts';
import { atEnd } from '../../embedded/fixture.ts';
import { ADMIN, newEmail, PASSWORD, signIn, type TestService } from '../../harness.ts';
import type { Tally } from '../scenario.ts';

/**
 * A lost answer is asked for again with the token before it; no attempt that was cut stands in the next one's way; and
 * a server of the usual 100 connections serves all scenarios that run at once.
 */
export const loadEnvironment = {
  REFRESH_REUSE_INTERVAL: '600',
  ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
  DATABASE_POOL_SIZE: '5',
};
/** The default of CONCURRENT_SESSION_LIMIT. */
export const SESSION_CAP = 5;
const WORKERS_OF_A_KIND = 4;
// Between two requests of one client: a load, not a contest for the processor; and refusals come fast.
const PACE_MS = 5;
const PACE_REFUSED_MS = 40;

type Role = { id: string; name: string; description: string; attempted: string[] };

export type Load = {
  readonly sent: number;
  readonly succeeded: number;
  readonly refused: number;
  /** While it is on, a request that begins and ends in the dark must not succeed. */
  dark(on: boolean): void;
  /** No more requests; the last answers are here. */
  settle(): Promise<void>;
  /** Judges all that was told, against database and service; answers how many statements held. */
  judge(options?: { audited?: boolean }): Promise<number>;
};

export type LoadTarget = { service: TestService; twin: TestService };

let loads = 0;

/** Verified by SQL: the mail may go out by any instance of the database. */
async function createPerson(service: TestService): Promise<{ id: string; email: string; password: string }> {
  const email = newEmail('person');
  const account = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
  const answer = await service.client().post('/api/v1/auth/register', account);
  assert.equal(answer.status, 201, answer.text);
  await service.sql('update users set verified = true where email = $1', [email]);
  return { id: answer.body.data.id, email, password: PASSWORD };
}

/** Both instances answer when it is called. */
export async function startLoad(t: TestContext, { service, twin }: LoadTarget, tally: Tally): Promise<Load> {
  loads += 1;
  const prefix = `load-${process.pid}-${loads}-`;
  const urlOf = (index: number): string => (index % 2 ? service.url : twin.url);
  const [permission] = await service.sql<{ id: string }>('select id from permissions order by name limit 1');
  const counts = { sent: 0, succeeded: 0, refused: 0 };
  const surprises: string[] = [];
  const roles: Role[] = [];
  const registered: string[] = [];
  const revoked: string[] = [];
  const chains: TestClient[] = [];
  const newest = new Map<number, { token: string; since: number }>();
  let darkness = 0;
  let isDark = false;
  let stopping = false;

  /** Null: refused for now. Anything but that or `wanted` is a surprise. */
  async function send(what: string, wanted: number, run: () => Promise<Answer>): Promise<Answer | null> {
    const begun = isDark ? darkness : -1;
    counts.sent += 1;
    tally.tried();
    let answer: Answer;
    try {
      answer = await run();
    } catch (error) {
      surprises.push(`${what}: no answer: ${error}`);
      return null;
    }
    if (isDark && begun === darkness && answer.status < 300)
      surprises.push(`${what}: ${answer.status} without a database`);
    if (answer.status === wanted) {
      counts.succeeded += 1;
      await pause(PACE_MS);
      return answer;
    }
    const isClear =
      answer.status === 503 &&
      ['database_unavailable', 'overloaded'].includes(answer.body?.code) &&
      Number(answer.headers.get('retry-after')) >= 1;
    if (!isClear) surprises.push(`${what}: ${answer.status} ${answer.text}`);
    counts.refused += 1;
    await pause(PACE_REFUSED_MS);
    return null;
  }

  const people = await Promise.all(
    Array.from({ length: 3 * WORKERS_OF_A_KIND }, () => createPerson(service)),
  );
  // Before any fault.
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
      if (answer && answer.body.data.id !== person.id) surprises.push(`users/me of another: ${answer.text}`);
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
  // Awaited in `settle`; or, where the scenario failed before, here.
  running.catch(() => {});
  atEnd(t, async () => {
    stopping = true;
    await Promise.allSettled([running]);
  });

  async function judgeRecords(audited: boolean): Promise<number> {
    const rows = await service.sql<{ name: string; description: string; parts: number; entries: number }>(
      `select name, description,
         (select count(*)::int from role_permissions p where p.role_id = r.id) as parts,
         (select count(*)::int from audit_logs a where a.resource_id = r.id::text and a.action = 'role_created') as entries
       from roles r where starts_with(name, $1)`,
      [prefix],
    );
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

  async function judgeTokens(): Promise<number> {
    let held = 0;
    const statusOf = async (token: string, url: string): Promise<number> => {
      const client = service.client().at(url);
      client.accessToken = token;
      held += 1;
      return (await client.get('/api/v1/users/me')).status;
    };
    for (const token of revoked)
      for (const url of [service.url, twin.url])
        assert.equal(await statusOf(token, url), 401, 'a token lives after the sign-out was acknowledged');
    // Logins whose answer was lost count for the cap all the same.
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
    dark(on) {
      darkness += 1;
      isDark = on;
    },
    async settle() {
      stopping = true;
      await running;
    },
    async judge({ audited = true } = {}) {
      assert.deepEqual(surprises.slice(0, 5), [], `${surprises.length} answers that should not be`);
      return counts.sent + (await judgeRecords(audited)) + (await judgeTokens());
    },
  };
}
