// An instance whose clock is wrong, or jumps while it runs, beside one whose clock is right: tokens, links, locks, limits
// and jobs keep by the database's time. CSRF tokens and the wording of refusals keep by the process's, and no more.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, type TestContext } from 'node:test';
import pg from 'pg';
import type { Database } from '../../../src/database.ts';
import { addSigningKey, KEY_DELAY_SECONDS } from '../../../src/modules/sessions/key-ring.ts';
import { createKysely } from '../../../src/platform/db/pool.ts';
import { createClient, type TestClient } from '../../client.ts';
import { temporaryFolder, until } from '../../embedded/fixture.ts';
import { ADMIN, newEmail, PASSWORD, TEST_SECRET_KEY, type TestService } from '../../harness.ts';
import { assertSound } from '../../invariants.ts';
import { addUser } from '../../sessions/accounts.ts';
import type { Child } from '../../start/child.ts';
import { isFull, rounds, scenariosOf, type Tally } from '../scenario.ts';
import { openProcess, type ServiceProcess } from './process-fixture.ts';

const scenario = scenariosOf('faults');
const auth = '/api/v1/auth';
const HOUR = 3_600_000;
const shifts = {
  'an hour ahead': HOUR,
  'an hour behind': -HOUR,
  'a day ahead': 24 * HOUR,
  'a day behind': -24 * HOUR,
  'ten years ahead': 87_660 * HOUR,
  'ten years behind': -87_660 * HOUR,
} as const;
const someShifts = isFull ? Object.values(shifts) : [shifts['an hour ahead'], shifts['ten years behind']];

type Clocks = {
  service: ServiceProcess;
  child: Child;
  wrong: string;
  right: string;
  set(shiftMs: number): void;
  /** What another instance needs for the same clock. */
  environment: Record<string, string>;
};

/** Two instances on one database: one whose clock is set by the test, one that is right. */
async function openClocks(
  t: TestContext,
  shiftMs: number,
  environment: Record<string, string> = {},
): Promise<Clocks> {
  const file = join(temporaryFolder(t), 'shift');
  const set = (ms: number): void => writeFileSync(file, String(ms));
  set(shiftMs);
  const service = await openProcess(t, { ACCOUNT_LOCKOUT_ATTEMPTS: '3', ...environment });
  const preload = new URL('shifted-clock.mjs', import.meta.url).href;
  const shifted = { NODE_OPTIONS: `--import=${preload}`, CLOCK_SHIFT_FILE: file };
  const { child, url } = await service.another(shifted);
  return { service, child, wrong: url, right: service.url, set, environment: shifted };
}

const claimsOf = (token: string): Record<'iat' | 'nbf' | 'exp', number> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

const keyOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;

/** The key by which an instance signs now. */
async function signedAt(url: string): Promise<string> {
  const client = createClient(url);
  assert.equal((await client.login(ADMIN)).status, 200);
  return keyOf(client.accessToken as string);
}

/** A key to come, as a rotation makes it. */
async function addKey(databaseUrl: string): Promise<string> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  try {
    return await createKysely<Database>(pool)
      .transaction()
      .execute((tx) => addSigningKey(tx, Buffer.from(TEST_SECRET_KEY), KEY_DELAY_SECONDS));
  } finally {
    await pool.end();
  }
}

async function databaseSeconds({ sql }: ServiceProcess): Promise<number> {
  const [row] = await sql<{ now: number }>('select extract(epoch from now())::float8 as now');
  return row?.now ?? Number.NaN;
}

/** A CSRF token begins with the time of the process that made it: 6 bytes of milliseconds. */
const hasJumped = (url: string, shiftMs: number): Promise<void> =>
  until('the clock has jumped', async () => {
    const { body } = await createClient(url).get(`${auth}/csrf-token`);
    const made = Buffer.from(body.data.csrf_token, 'base64url').readUIntBE(0, 6);
    return Math.abs(made - Date.now() - shiftMs) < 30_000;
  });

const meAt = async (url: string, token: string | null): Promise<{ status: number; code?: string }> => {
  const { status, body } = await createClient(url).get('/api/v1/users/me', {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status, code: body.code };
};

/** Tokens of the wrong clock: dated by the database, good everywhere, and ended everywhere. */
async function judgeTokens(clocks: Clocks, tally: Tally): Promise<void> {
  const { service, wrong, right } = clocks;
  const client = createClient(wrong);
  const before = Math.floor(await databaseSeconds(service));
  assert.equal((await client.login(ADMIN)).status, 200);
  const { iat, nbf, exp } = claimsOf(client.accessToken as string);
  assert.ok(iat >= before && iat <= (await databaseSeconds(service)), `${iat} instead of ${before}`);
  assert.deepEqual([nbf, exp], [iat, iat + 1_800]);
  const other = createClient(right);
  assert.equal((await other.login(ADMIN)).status, 200);
  assert.equal(keyOf(client.accessToken as string), keyOf(other.accessToken as string));
  for (const token of [client.accessToken, other.accessToken])
    for (const url of [wrong, right]) assert.equal((await meAt(url, token)).status, 200);
  const first = client.refreshToken;
  const refreshed = await client.post(`${auth}/refresh`, { refresh_token: first });
  assert.equal(refreshed.status, 200, refreshed.text);
  const again = await createClient(right).post(`${auth}/refresh`, { refresh_token: first });
  assert.equal(again.body.data?.refresh_token, refreshed.body.data.refresh_token, again.text);
  await service.sql(
    `update session_tokens set rotated_at = now() - interval '31 seconds' where rotated_at is not null`,
  );
  assert.equal((await createClient(wrong).post(`${auth}/refresh`, { refresh_token: first })).status, 401);
  await service.sql(`update session_tokens set expires_at = now() where kind = 'access'`);
  for (const url of [wrong, right]) assert.equal((await meAt(url, other.accessToken)).status, 401);
  tally.tried(12);
  tally.held(12);
}

/** Locks and links made at the wrong clock. */
async function judgeAccounts({ service, child, wrong, right }: Clocks, tally: Tally): Promise<void> {
  const user = await addUser({ sql: service.sql } as TestService);
  const bad = { email: user.email, password: 'Wrong#Quartz82Lime' };
  for (let attempt = 0; attempt < 3; attempt += 1) await createClient(wrong).login(bad);
  for (const url of [wrong, right])
    assert.equal((await createClient(url).login(user)).body.code, 'account_locked');
  await service.sql('update login_attempts set locked_until = now() where email = $1', [user.email]);
  assert.equal((await createClient(wrong).login(user)).status, 200);
  const visitor = createClient(wrong);
  const names = { first_name: 'Ada', last_name: 'Love' };
  const links: string[] = [];
  for (const shown of [0, 1]) {
    const email = newEmail('clock');
    assert.equal(
      (await visitor.post(`${auth}/register`, { email, password: PASSWORD, ...names })).status,
      201,
    );
    // Either instance may send it.
    const find = (text: string): string | undefined =>
      new RegExp(`^To: ${email}$[^]*?#token=([\\w-]+)`, 'm').exec(text)?.[1];
    let token: string | undefined;
    await until(`mail ${shown} is there`, () => {
      token = find(child.out()) ?? find(service.child.out());
      return token !== undefined;
    });
    links.push(token as string);
  }
  assert.equal((await visitor.post(`${auth}/verify-email`, { token: links[0] })).status, 200);
  await service.sql('update one_time_tokens set expires_at = now() where used_at is null');
  assert.equal((await visitor.post(`${auth}/verify-email`, { token: links[1] })).status, 400);
  tally.tried(10);
  tally.held(5);
}

suite('clocks', { concurrency: 3 }, () => {
  scenario(
    'an instance whose clock is wrong issues good tokens, locks and links, takes no bad ones, and runs no job more than the others',
    async (tally, t) => {
      for (const shiftMs of someShifts) {
        const clocks = await openClocks(t, shiftMs);
        tally.injected();
        await judgeTokens(clocks, tally);
        await judgeAccounts(clocks, tally);
        const runs = [clocks.child, clocks.service.child].map(
          (child) => child.out().split('clean-up done').length - 1,
        );
        assert.equal(
          runs.reduce((sum, count) => sum + count),
          1,
          `the clean-up ran ${runs}`,
        );
        tally.held(1 + (await assertSound({ sql: clocks.service.sql })));
      }
    },
  );

  scenario(
    'a clock that jumps while the service runs ends no session, opens no lock, and starts no job',
    async (tally, t) => {
      const clocks = await openClocks(t, 0);
      const { service, wrong, right } = clocks;
      const client = createClient(wrong);
      assert.equal((await client.login(ADMIN)).status, 200);
      const locked = await addUser({ sql: service.sql } as TestService);
      for (let attempt = 0; attempt < 3; attempt += 1)
        await createClient(wrong).login({ email: locked.email, password: 'Wrong#Quartz82Lime' });
      for (let round = 0; round < rounds(2, 10); round += 1) {
        for (const shiftMs of Object.values(shifts)) {
          clocks.set(shiftMs);
          tally.injected();
          const fresh = createClient(wrong);
          await hasJumped(wrong, shiftMs);
          for (const url of [wrong, right]) assert.equal((await meAt(url, client.accessToken)).status, 200);
          const refreshed = await fresh.post(`${auth}/refresh`, { refresh_token: client.refreshToken });
          assert.equal(refreshed.status, 200, refreshed.text);
          client.refreshToken = refreshed.body.data.refresh_token;
          assert.ok(
            Math.abs(claimsOf(refreshed.body.data.access_token).iat - (await databaseSeconds(service))) < 60,
          );
          assert.equal((await fresh.login(locked)).body.code, 'account_locked');
          tally.tried(5);
          tally.held(5);
        }
      }
      const cleanUps =
        clocks.child.out().split('clean-up done').length +
        service.child.out().split('clean-up done').length -
        2;
      assert.equal(cleanUps, 1);
      tally.held(1 + (await assertSound({ sql: service.sql })));
    },
  );

  scenario(
    'limits count by the database: a clock that jumps opens none and closes none for longer',
    async (tally, t) => {
      const clocks = await openClocks(t, 0, { RATE_LIMIT_PASSWORD_RESET: '3/hour' });
      const ask = (url: string) =>
        createClient(url).post(`${auth}/password-reset/request`, { email: 'x@example.com' });
      for (let number = 0; number < 3; number += 1) assert.equal((await ask(clocks.wrong)).status, 200);
      for (const shiftMs of Object.values(shifts)) {
        clocks.set(shiftMs);
        tally.injected();
        await hasJumped(clocks.wrong, shiftMs);
        for (const url of [clocks.wrong, clocks.right]) {
          const answer = await ask(url);
          assert.equal(answer.status, 429);
          const seconds = Number(answer.headers.get('retry-after'));
          assert.ok(seconds >= 1 && seconds <= 3_600, `${seconds} s`);
          tally.tried();
          tally.held(2);
        }
      }
    },
  );

  scenario(
    'a new signing key signs when the database says so, also at an instance whose clock is ahead or behind',
    async (tally, t) => {
      for (const shiftMs of someShifts) {
        const clocks = await openClocks(t, shiftMs);
        const { service } = clocks;
        const [row] = await service.sql<{ kid: string }>('select key_id as kid from signing_keys');
        assert.ok(row);
        const next = await addKey(service.databaseUrl);
        const late = await service.another(clocks.environment);
        tally.injected();
        const before = await signedAt(late.url);
        assert.equal(before, row.kid, 'a key signs that caches do not know yet');
        await service.sql(
          `update signing_keys set signs_from = now() - interval '1 second' where key_id = $1`,
          [next],
        );
        const later = await service.another(clocks.environment);
        assert.equal(await signedAt(later.url), next, 'the old key still signs');
        tally.tried(2);
        tally.held(3);
      }
    },
  );

  scenario(
    'a CSRF token of an instance whose clock is right is refused by one that is a day off, and a new one from there works',
    async (tally, t) => {
      const clocks = await openClocks(t, 0);
      for (const [shiftMs, isTaken] of [
        [HOUR, true],
        [-HOUR, false],
        [24 * HOUR, false],
        [-24 * HOUR, false],
      ] as const) {
        const client: TestClient = createClient(clocks.right);
        await client.prepare('POST');
        clocks.set(shiftMs);
        tally.injected();
        await hasJumped(clocks.wrong, shiftMs);
        const answer = await client.at(clocks.wrong).login(ADMIN);
        assert.equal(answer.status, isTaken ? 200 : 403, answer.text);
        assert.equal((await createClient(clocks.wrong).login(ADMIN)).status, 200);
        tally.tried(2);
        tally.held(2);
      }
    },
  );

  scenario('time zones change nothing that is stored or answered', async (tally, t) => {
    const zones = [
      'Pacific/Kiritimati',
      'America/New_York',
      'Asia/Kathmandu',
      'Europe/Lisbon',
      'Pacific/Niue',
    ];
    const service = await openProcess(t);
    for (const TZ of zones.slice(0, rounds(2, zones.length))) {
      const { url } = await service.another({ TZ, PGTZ: TZ });
      tally.injected();
      const client = createClient(url);
      assert.equal((await client.login(ADMIN)).status, 200);
      const now = await databaseSeconds(service);
      assert.ok(Math.abs(claimsOf(client.accessToken as string).iat - now) < 60);
      const [session] = (await client.get(`${auth}/sessions`)).body.data;
      assert.ok(Math.abs(Date.parse(session.created_at) / 1_000 - now) < 60, session.created_at);
      const { body } = await client.get('/api/v1/audit-logs?size=1');
      assert.ok(Math.abs(Date.parse(body.data[0].timestamp) / 1_000 - now) < 60, body.data[0].timestamp);
      const from = new Date((now - 60) * 1_000).toISOString();
      assert.ok((await client.get(`/api/v1/audit-logs?from=${from}`)).body.data.length > 0);
      tally.tried(4);
      tally.held(4);
    }
  });
});
