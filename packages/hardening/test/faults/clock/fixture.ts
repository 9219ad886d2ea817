// Shared by the tests of clock faults: starts an instance whose clock the test sets, beside one whose clock is right.
// It must not judge answers.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { isFull } from '@castellan/testing/scenario';
import type { Child } from '@castellan/testing/start/child';
import { openProcess, type ServiceProcess } from '@castellan/testing/start/service-process';
export const auth = '/api/v1/auth';
export const HOUR = 3_600_000;
export const shifts = {
  'an hour ahead': HOUR,
  'an hour behind': -HOUR,
  'a day ahead': 24 * HOUR,
  'a day behind': -24 * HOUR,
  'ten years ahead': 87_660 * HOUR,
  'ten years behind': -87_660 * HOUR,
} as const;
export const someShifts = isFull
  ? Object.values(shifts)
  : [shifts['an hour ahead'], shifts['ten years behind']];

export type Clocks = {
  service: ServiceProcess;
  child: Child;
  wrong: string;
  right: string;
  set(shiftMs: number): void;
  /** The environment of another instance with the same clock. */
  environment: Record<string, string>;
};

/** Starts two instances on one database: the test sets the clock of the first, the second is right. */
export async function openClocks(
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

export const claimsOf = (token: string): { iat: number; nbf?: number; exp: number } =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());

export const keyOf = (token: string): string =>
  JSON.parse(Buffer.from(token.split('.')[0] ?? '', 'base64url').toString()).kid;

export async function databaseSeconds({ sql }: ServiceProcess): Promise<number> {
  const [row] = await sql<{ now: number }>('select extract(epoch from now())::float8 as now');
  return row?.now ?? Number.NaN;
}

/**
 * Waits until the instance has the shifted clock. A CSRF token begins with 6 bytes: the process's time in milliseconds.
 */
export const hasJumped = (url: string, shiftMs: number): Promise<void> =>
  until('the clock has jumped', async () => {
    const { body } = await createClient(url).get(`${auth}/csrf-token`);
    const made = Buffer.from(body.data.csrf_token, 'base64url').readUIntBE(0, 6);
    return Math.abs(made - Date.now() - shiftMs) < 30_000;
  });

export const meAt = async (url: string, token: string | null): Promise<{ status: number; code?: string }> => {
  const { status, body } = await createClient(url).get('/api/v1/users/me', {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status, code: body.code };
};

/** Selects everything that ends later than its default lifetime allows. */
export const tooLate = `
  select 'the end of a link' as what from one_time_tokens
  where expires_at > created_at + case purpose when 'verify_email' then interval '24 hours' else interval '30 minutes' end
  union all select 'the end of a lock' from login_attempts where locked_until > updated_at + interval '16 minutes'
  union all select 'the end of a token' from session_tokens
  where expires_at > issued_at + case kind when 'access' then interval '30 minutes' else interval '30 days' end
  union all select 'the end of a lease' from outbox where locked_until > now() + interval '2 minutes'
  union all select 'the end of the lease of the audit sink' from audit_sink where locked_until > now() + interval '2 minutes'
  union all select 'a mail to come' from outbox where run_at > created_at + interval '1 hour'`;

/**
 * Returns the id and time of a new transaction. Older rows are not the test's, such as those of the template database.
 */
export async function transactionNow({
  sql,
}: Pick<ServiceProcess, 'sql'>): Promise<{ id: string; at: Date }> {
  const [row] = await sql<{ id: string; at: Date }>('select pg_current_xact_id()::text as id, now() as at');
  return row ?? assert.fail();
}

/**
 * Checks that all times stored since then lie between then and now, and that nothing ends too late. Returns how many
 * were checked.
 */
export async function assertTimes(
  { sql }: Pick<ServiceProcess, 'sql'>,
  since: { id: string; at: Date },
): Promise<number> {
  const columns = await sql<{ tab: string; col: string }>(
    `select table_name as tab, column_name as col from information_schema.columns
     where table_schema = 'public' and data_type like 'timestamp%'
       and column_name not in ('expires_at', 'expires_in', 'signed_expires_at', 'locked_until', 'reset_at', 'next_at', 'run_at', 'signs_from')
       -- They copy when users were created.
       and table_name not in ('user_changes', 'user_marks')`,
  );
  for (const { tab, col } of columns) {
    // Tests move some times back by half a minute, and tokens have whole seconds.
    const wrong = await sql(
      `select "${col}" as stored, now() as now from "${tab}" where xmin::text::bigint >= $1::bigint % 4294967296
         and "${col}" not between $2::timestamptz - interval '1 minute' and now() + interval '1 second'`,
      [since.id, since.at],
    );
    assert.deepEqual(wrong, [], `${tab}.${col}`);
  }
  assert.deepEqual(await sql(tooLate), []);
  return columns.length;
}
