// The writes during which service and PostgreSQL are killed, and checks of what was acknowledged.
// It must not note a change as done if its answer did not arrive.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { createClient, type TestClient } from '@castellan/testing/client';
import { ADMIN, PASSWORD, type TestService } from '@castellan/testing/harness';
import type { Tally } from '@castellan/testing/scenario';

const auth = '/api/v1/auth';
const NAMES = { first_name: 'Ada', last_name: 'Lovelace' };

type Role = { id: string; name: string; description: string; asked: string };
type Holder = { email: string; password: string; asked: string };

/** What the service has acknowledged. `asked` is the new value of a change whose answer may be missing. */
export type Acknowledged = {
  emails: string[];
  /** The newest one of each login. */
  refreshTokens: string[];
  /** Of sessions that were signed out. */
  endedTokens: string[];
  roles: Role[];
  holders: Holder[];
};

export const nothingAcknowledged = (): Acknowledged => ({
  emails: [],
  refreshTokens: [],
  endedTokens: [],
  roles: [],
  holders: [],
});

export const countOf = (noted: Acknowledged): number =>
  Object.values(noted).reduce((sum, list) => sum + list.length, 0);

/** Returns a new strong password that alternates letters and digits, because the policy refuses sequences. */
const newPassword = (): string => {
  const pairs = [...randomBytes(10)].map((byte) => `${'bdfhjlnprtvxzkmw'[byte & 15]}${byte >> 5}`);
  return `#Q${pairs.join('')}`;
};

async function register(client: TestClient, email: string, noted: Acknowledged): Promise<void> {
  const answer = await client.post(`${auth}/register`, { email, password: PASSWORD, ...NAMES });
  if (answer.status === 201) noted.emails.push(email);
}

/** Signs in; signs every third session out and refreshes the others. */
async function useSession(url: string, number: number, noted: Acknowledged): Promise<void> {
  const client = createClient(url);
  if ((await client.login(ADMIN)).status !== 200) return;
  const { accessToken, refreshToken } = client;
  if (number % 3 === 0) {
    if ((await client.post(`${auth}/logout`)).status === 200) noted.endedTokens.push(accessToken as string);
    return;
  }
  const at = noted.refreshTokens.push(refreshToken as string) - 1;
  const refreshed = await client.post(`${auth}/refresh`, { refresh_token: refreshToken });
  if (refreshed.status === 200) noted.refreshTokens[at] = refreshed.body.data.refresh_token;
}

async function administer(admin: TestClient, name: string, noted: Acknowledged): Promise<void> {
  const made = await admin.post('/api/v1/roles', { name, description: 'first' });
  if (made.status !== 201) return;
  const role: Role = { id: made.body.data.id, name, description: 'first', asked: 'second' };
  noted.roles.push(role);
  const changed = await admin.put(`/api/v1/roles/${role.id}`, { description: 'second' });
  if (changed.status === 200) role.description = 'second';
}

async function changePassword(url: string, holder: Holder): Promise<void> {
  const client = createClient(url);
  const [current, other] = [holder.password, holder.asked];
  if ((await client.login({ email: holder.email, password: current })).status !== 200) {
    assert.equal((await client.login({ email: holder.email, password: other })).status, 200);
    holder.password = other;
  }
  holder.asked = newPassword();
  const changed = await client.post(`${auth}/change_password`, {
    current_password: holder.password,
    new_password: holder.asked,
  });
  assert.equal(changed.status < 400 || changed.status >= 500, true, changed.text);
  if (changed.status === 200) holder.password = holder.asked;
}

async function newHolder(admin: TestClient, email: string, noted: Acknowledged): Promise<Holder> {
  const password = newPassword();
  const body = { email, password, ...NAMES, verified: true };
  const made = await admin.post('/api/v1/users', body);
  assert.equal(made.status, 201, made.text);
  const holder = { email, password, asked: password };
  noted.holders.push(holder);
  return holder;
}

/** Writes everything in turn until the service is gone. */
export async function writeUntilGone(
  url: string,
  name: string,
  noted: Acknowledged,
  tally: Tally,
): Promise<void> {
  try {
    const admin = createClient(url);
    assert.equal((await admin.login(ADMIN)).status, 200);
    const holder = await newHolder(admin, `${name}-holder@example.com`, noted);
    for (let number = 1; ; number += 1) {
      await register(admin, `${name}-${number}@example.com`, noted);
      await useSession(url, number, noted);
      await administer(admin, `${name}-role-${number}`, noted);
      await changePassword(url, holder);
      tally.tried(7);
    }
  } catch (error) {
    // This is fetch's error for a connection that broke or could not be made.
    const isGone = error instanceof TypeError;
    // PostgreSQL may die a moment before the service.
    const isWithout = error instanceof assert.AssertionError && error.actual === 503;
    if (!isGone && !isWithout) throw error;
  }
}

/** Checks the acknowledged rows in the database. Returns the number of statements checked. */
export async function assertRecorded(sql: TestService['sql'], noted: Acknowledged): Promise<number> {
  const emails = new Set((await sql<{ email: string }>('select email from users')).map((row) => row.email));
  const lost = [...noted.emails, ...noted.holders.map(({ email }) => email)].filter(
    (one) => !emails.has(one),
  );
  assert.deepEqual(lost, [], 'accounts that were acknowledged are lost');
  const rows = await sql<{ id: string; description: string; entries: string[] }>(
    `select id, description, array(select action::text from audit_logs a where a.resource_id = r.id::text) as entries
     from roles r where name like 'r%-role-%'`,
  );
  const found = new Map(rows.map((row) => [row.id, row]));
  for (const role of noted.roles) {
    const row = found.get(role.id) ?? assert.fail(`the role ${role.name} is lost`);
    assert.ok([role.description, role.asked].includes(row.description), `${role.name}: ${row.description}`);
    const isChanged = row.description === 'second';
    assert.deepEqual(row.entries.sort(), isChanged ? ['role_created', 'role_updated'] : ['role_created']);
  }
  // Each registered user has one mail in the outbox, whether the answer came or not.
  const mails = await sql(
    `select email, (select count(*)::int from outbox o where o.payload ->> 'email' = email) as mails from users
     where email ~ '-w[0-9]+-[0-9]+@' and (select count(*) from outbox o where o.payload ->> 'email' = email) <> 1`,
  );
  assert.deepEqual(mails, [], 'registrations without their mail, or with two');
  return lost.length + noted.emails.length + 2 * noted.holders.length + 2 * noted.roles.length + 1;
}

/**
 * Checks sessions (from sign-in number `since` on) and passwords at the service. Returns the number of statements
 * checked.
 */
export async function assertUsable(client: TestClient, noted: Acknowledged, since: number): Promise<number> {
  await client.get(`${auth}/csrf-token`);
  await Promise.all([
    ...noted.refreshTokens.slice(since).map(async (token, index) => {
      const refreshed = await client.post(`${auth}/refresh`, { refresh_token: token });
      assert.equal(refreshed.status, 200, `login ${since + index} is lost: ${refreshed.text}`);
      noted.refreshTokens[since + index] = refreshed.body.data.refresh_token;
    }),
    ...noted.endedTokens.map(async (token) => {
      const authorization = `Bearer ${token}`;
      const answer = await client.get('/api/v1/users/me', { headers: { authorization } });
      assert.equal(answer.status, 401, 'a token is accepted after its sign-out was acknowledged');
    }),
  ]);
  for (const holder of noted.holders.splice(0)) {
    const { email, password, asked } = holder;
    const statuses = [];
    for (const one of new Set([password, asked]))
      statuses.push((await createClient(client.url).login({ email, password: one })).status);
    assert.equal(statuses.filter((status) => status === 200).length, 1, `${email}: ${statuses}`);
    if (password === asked) assert.deepEqual(statuses, [200]);
  }
  return noted.refreshTokens.length - since + noted.endedTokens.length;
}
