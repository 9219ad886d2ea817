// Counts hits per key in a fixed window, exactly, across all requests, processes and instances.
// It must not keep a count in memory, nor know the meaning of a key.
import { createHash } from 'node:crypto';
import type { Pool } from 'pg';

export type RateLimitRule = { limit: number; windowSeconds: number };

export type RateLimitResult = {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** Whole seconds until the window ends, at least 1. */
  resetSeconds: number;
};

export type RateLimiter = {
  /**
   * Counts one hit. At most `rule.limit` are allowed per key and window; a window begins with its first hit. A key
   * belongs to one rule: use two keys for two rules. Rejects when the database does not answer in time; the caller must
   * then refuse, because an unchecked limit must not let a request pass.
   */
  hit(key: string, rule: RateLimitRule): Promise<RateLimitResult>;
  /** Takes back one hit of the current window, for an event that turned out not to count. */
  giveBack(key: string): Promise<void>;
};

const windowSeconds: ReadonlyMap<string, number> = new Map([
  ['second', 1],
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
]);

// Far above any useful limit and far below the largest integer, which `hits` must never reach.
const MAX_LIMIT = 1_000_000;

// Longer than `login:ip:<IPv6>` or a UUID with its prefix; email addresses (254) are stored as their hash.
const MAX_KEY_LENGTH = 120;

// If the database does not answer, the refusal should reach the client while it still waits.
const DEFAULT_MAX_WAIT_MS = 5_000;

// A key over its limit is only read until its window ends, so a flood writes nothing. Below the limit, the row is
// updated under its lock. Concurrent hits may count a few past the limit, but none of those is allowed. The statement's
// start is the only time used: two readings could disagree about whether the window is over. A window that would last
// longer than the rule's was begun while the clock was ahead, so it is shortened.
const hitSql = `
with refused as (
  select hits, reset_at from rate_limits
  where key = $1 and hits > $2::integer and reset_at > statement_timestamp()
    and reset_at <= statement_timestamp() + $3::integer * interval '1 second'
), counted as (
  insert into rate_limits as stored (key, hits, reset_at)
  select $1, 1, statement_timestamp() + $3::integer * interval '1 second'
  where not exists (select from refused)
  on conflict (key) do update set
    hits = case when stored.reset_at <= statement_timestamp() then 1 else stored.hits + 1 end,
    reset_at = case when stored.reset_at <= statement_timestamp() then excluded.reset_at
      else least(stored.reset_at, excluded.reset_at) end
  returning hits, reset_at
)
select hits, ceil(extract(epoch from reset_at - statement_timestamp()))::integer as reset_seconds
from (select * from refused union all select * from counted) as outcome`;

// Windows that ended more than a minute ago, so that a hit that started before the end still finds its window.
// The condition is checked again on the locked row, because a hit may have begun a new window in the meantime.
const deleteSql = `
with ended as materialized (
  select key from rate_limits where reset_at < now() - interval '1 minute'
  order by reset_at limit $1::integer for update skip locked
)
delete from rate_limits using ended
where rate_limits.key = ended.key and rate_limits.reset_at < now() - interval '1 minute'`;

/** Reads `5/minute`; null for `off`. The error's message continues a sentence that begins with the setting's name. */
export function parseRateLimit(text: string): RateLimitRule | null {
  if (text === 'off') return null;
  const [, count, unit] = /^(\d{1,7})\/([a-z]+)$/.exec(text) ?? [];
  const seconds = windowSeconds.get(unit ?? '');
  const limit = Number(count);
  if (seconds === undefined || limit < 1 || limit > MAX_LIMIT) {
    throw new Error(
      `is "${text}"; write N/second, N/minute, N/hour or N/day with N from 1 to ${MAX_LIMIT}, such as 5/minute, or off`,
    );
  }
  return { limit, windowSeconds: seconds };
}

function storedKey(key: string): string {
  if (key.length <= MAX_KEY_LENGTH && !key.includes('\0')) return key;
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
}

async function within<T>(maxWaitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`no answer from the rate limit store in ${maxWaitMs} ms`)),
      maxWaitMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Creates a limiter. `maxWaitMs`: longest wait for a connection and the result together. */
export function createRateLimiter(deps: { pool: Pool; maxWaitMs?: number }): RateLimiter {
  const { pool, maxWaitMs = DEFAULT_MAX_WAIT_MS } = deps;

  async function hit(key: string, rule: RateLimitRule): Promise<RateLimitResult> {
    const values = [storedKey(key), rule.limit, rule.windowSeconds];
    const { rows } = await within(
      maxWaitMs,
      pool.query<{ hits: number; reset_seconds: number }>({ name: 'rate_limit_hit', text: hitSql, values }),
    );
    const row = rows[0];
    if (!row) throw new Error('the rate limit statement returned no row');
    return {
      allowed: row.hits <= rule.limit,
      limit: rule.limit,
      remaining: Math.max(0, rule.limit - row.hits),
      resetSeconds: Math.max(1, row.reset_seconds),
    };
  }

  return {
    hit,
    async giveBack(key) {
      const text =
        'update rate_limits set hits = hits - 1 where key = $1 and hits > 0 and reset_at > statement_timestamp()';
      await within(maxWaitMs, pool.query({ name: 'rate_limit_give_back', text, values: [storedKey(key)] }));
    },
  };
}

/** Returns the headers of the response to a limited request; `Retry-After` only for a refusal. Times are in seconds. */
export function rateLimitHeaders(result: RateLimitResult): Record<string, string> {
  const headers: Record<string, string> = {
    'RateLimit-Limit': String(result.limit),
    'RateLimit-Remaining': String(result.remaining),
    'RateLimit-Reset': String(result.resetSeconds),
  };
  if (!result.allowed) headers['Retry-After'] = String(result.resetSeconds);
  return headers;
}

/**
 * Deletes windows that ended more than a minute ago. Returns how many. Each statement deletes at most `batchSize`, so
 * that none holds locks for long. At most `maxBatches` statements run; the rest is left to the next call.
 */
export async function deleteExpiredLimits(
  pool: Pool,
  { batchSize = 1_000, maxBatches = 100 }: { batchSize?: number; maxBatches?: number } = {},
): Promise<number> {
  let deleted = 0;
  for (let batch = 0; batch < maxBatches; batch += 1) {
    const result = await pool.query({
      name: 'rate_limit_delete_expired',
      text: deleteSql,
      values: [batchSize],
    });
    deleted += result.rowCount ?? 0;
    if ((result.rowCount ?? 0) < batchSize) break;
  }
  return deleted;
}
