// What the clean-up reads: the rows that it removes, however many others there are, and whatever the planner knows.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startTestService } from '@castellan/testing/harness';
import { stepsOf } from '@castellan/testing/plans';
import pg from 'pg';
import { cleanUp, removeSessionRows } from '../../src/cleanup.ts';

const service = await startTestService({ after }, { AUDIT_RETENTION_DAYS: '30', AUDIT_SEALING: 'off' });
// Its jobs would remove the rows before the statements are explained.
await service.service.scheduler.stop();
const KEPT = 20_000;
const OLD = 100;
// A step may read a removed row again, to lock it and to delete it.
const MOST = 10 * OLD;

/** Its grants are old for two reasons, which two statements look for. */
const EXPIRED_SESSION = '0192f0c1-7b5e-7c3a-9f64-3d1f0a8be2ff';

/** Rows of each table: those with n > 0 are kept, the others are old. */
const fillings: Readonly<Record<string, string>> = {
  users: `
    insert into users (id, email, first_name, last_name, pending_registration, created_at)
    select gen_random_uuid(), 'c' || n || '@example.com', 'Clean', 'Up', n <= 0,
      case when n <= 0 then now() - interval '90 days' else now() end`,
  audit_logs: `
    insert into audit_logs (id, action, resource_type, "timestamp")
    select gen_random_uuid(), 'logout', 'session', case when n <= 0 then now() - interval '9 years' else now() end`,
  sessions: `
    insert into sessions (id, user_id, expires_at)
    select gen_random_uuid(), (select id from users limit 1),
      case when n <= 0 then now() - interval '90 days' else now() + interval '1 day' end`,
  session_tokens: `
    insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
    select (select id from users limit 1), sha256(int8send(n)), gen_random_uuid(), 'access', gen_random_uuid(), 'k', now(),
      case when n <= 0 then now() - interval '1 hour' else now() + interval '1 hour' end`,
  client_tokens: `
    insert into client_tokens (service_account_id, token_hash, api_key_id, jti, key_id, epoch, issued_at, expires_at)
    select gen_random_uuid(), sha256(int8send(n)), gen_random_uuid(), gen_random_uuid(), 'k', 0, now(),
      case when n <= 0 then now() - interval '1 hour' else now() + interval '1 hour' end`,
  application_tokens: `
    insert into application_tokens (token_hash, grant_id, user_id, jti, scopes, issued_at, expires_at)
    select sha256(int8send(n)), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '{}', now(),
      case when n <= 0 then now() - interval '1 hour' else now() + interval '1 hour' end`,
  access_grants: `
    insert into access_grants (id, application_id, user_id, session_id, user_epoch, offline, scopes, auth_time, acr, amr,
      expires_at, ends_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(),
      case when n <= 0 then '${EXPIRED_SESSION}' else gen_random_uuid() end, 0, false, '{}', now(), 'aal1', '{}',
      now() + interval '1 day', case when n <= 0 then now() - interval '1 hour' else now() + interval '1 hour' end`,
  device_requests: `
    insert into device_requests (code_hash, user_code, application_id, scopes, address, expires_at)
    select sha256(int8send(n)), translate(lpad((n + 500000)::text, 8, '0'), '0123456789', 'BCDFGHJKLM'), gen_random_uuid(), '{}', '192.0.2.1',
      case when n <= 0 then now() - interval '2 hours' else now() + interval '1 minute' end`,
  application_sessions: `
    insert into application_sessions (user_id, session_id, application_id, sid, expires_at, told_at)
    select gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 's', now() + interval '1 day',
      case when n <= 0 then now() - interval '1 day' else now() end`,
  one_time_tokens: `
    insert into one_time_tokens (token_hash, purpose, user_id, email, expires_at)
    select sha256(int8send(n)), 'verify_email', (select id from users limit 1), 'c@example.com',
      case when n <= 0 then now() - interval '3 days' else now() end`,
  login_attempts: `
    insert into login_attempts (email, failures, updated_at)
    select 'c' || n || '@example.com', 1, case when n <= 0 then now() - interval '3 days' else now() end`,
  idempotency_keys: `
    insert into idempotency_keys (user_id, key, request_hash, created_at)
    select (select id from users limit 1), 'k' || n, 'x', case when n <= 0 then now() - interval '30 days' else now() end`,
  rate_limits: `
    insert into rate_limits (key, hits, reset_at)
    select 'k' || n, 1, case when n <= 0 then now() - interval '1 hour' else now() + interval '1 hour' end`,
  used_proofs: `
    insert into used_proofs (owner, jti_hash, expires_at)
    select 'assertion:one', sha256(int8send(n)),
      case when n <= 0 then now() - interval '1 hour' else now() + interval '1 hour' end`,
  outbox: `
    insert into outbox (kind, payload, sent_at)
    select 'verification', '{}', case when n <= 0 then now() - interval '30 days' else now() end`,
};

type Sent = { text: string; values: unknown[] };
const sent: Sent[] = [];

before(async () => {
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function watching(this: pg.Client, ...args: unknown[]) {
    const [first, values] = args as [string | Sent, unknown[]?];
    sent.push(
      typeof first === 'string'
        ? { text: first, values: values ?? [] }
        : { ...first, values: first.values ?? [] },
    );
    return Reflect.apply(query, this, args);
  };
  try {
    await cleanUp(service.service.deps);
    await removeSessionRows(service.service.deps);
  } finally {
    pg.Client.prototype.query = query;
  }
  await service.sql(
    `insert into sessions (id, user_id, expires_at)
     values ($1, (select id from users limit 1), now() - interval '1 hour')`,
    [EXPIRED_SESSION],
  );
  for (const [table, insert] of Object.entries(fillings)) {
    // Old rows come last, where a scan of the table finds them after all others.
    await service.sql(`${insert} from generate_series(${KEPT}, ${1 - OLD}, -1) n`);
    await service.sql(`analyze ${table}`);
  }
});

/** Runs the statement and takes it back. Returns the rows of each step of its plan. */
async function stepsOfRun({ text, values }: Sent): Promise<ReturnType<typeof stepsOf>> {
  const client = await service.service.deps.pool.connect();
  try {
    await client.query('begin');
    const { rows } = await client.query(
      `explain (analyze, buffers, timing off, format json) ${text}`,
      values,
    );
    return stepsOf(rows[0]['QUERY PLAN'][0].Plan);
  } finally {
    await client.query('rollback');
    client.release();
  }
}

for (const table of Object.keys(fillings))
  test(`${table}: reads what it removes, with statistics and without`, async () => {
    const removing = sent.filter(
      ({ text }) =>
        // Those of ended sessions and users are in `session_ends`, by id.
        (new RegExp(`\\bdelete from ${table}\\b`).test(text) && !/\bany\(\$\d+::uuid/.test(text)) ||
        (table === 'users' &&
          /\bfrom users u\b[\s\S]*pending_registration[\s\S]*for update skip locked/.test(text)),
    );
    assert.ok(removing.length > 0);
    for (const statistics of ['collected', 'none']) {
      if (statistics === 'none')
        await service.sql(`delete from pg_statistic where starelid = $1::regclass`, [table]);
      for (const statement of removing) {
        const steps = await stepsOfRun(statement);
        const rows = Math.max(...steps.map((step) => step.rows));
        assert.ok(rows >= OLD, `${statement.text} found ${rows}`);
        assert.ok(rows <= MOST, `statistics ${statistics}: ${rows} rows\n${statement.text}`);
      }
    }
  });
