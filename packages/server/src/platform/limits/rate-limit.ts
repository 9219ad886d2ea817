// Counts hits per key in a fixed window, exactly, over any number of requests, processes and instances.
// It must keep no count in memory and must not know what a key stands for.
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
   * Counts one hit; at most `rule.limit` are allowed per key and window, which begins with its first hit.
   * A key belongs to one rule: two rules on one thing take two keys. Rejects when the database does not answer
   * in time, and the caller must then refuse: a limit that cannot be checked is not passed.
   */
  hit(key: string, rule: RateLimitRule): Promise<RateLimitResult>;
  /** Counts each on its own, all in the time of one, and answers in the same order. */
  hitAll(hits: readonly { key: string; rule: RateLimitRule }[]): Promise<RateLimitResult[]>;
  reset(key: string): Promise<void>;
};

const windowSeconds: ReadonlyMap<string, number> = new Map([
  ['second', 1],
  ['minute', 60],
  ['hour', 3_600],
  ['day', 86_400],
]);

// Far above any useful limit and far below the largest integer, which `hits` must never reach.
const maxLimit = 1_000_000;

// Longer than `login:ip:<IPv6>` or a UUID with its prefix; e-mail addresses (254) are stored as their hash.
const maxKeyLength = 120;

// A refusal for want of an answer should come while the client still waits for one.
const defaultMaxWaitMs = 5_000;

// A key over its limit is only read until its window ends: a flood then writes nothing. Below the limit, the row
// is counted under its lock. Racing hits may count a few past the limit; none past it is ever allowed.
// One instant, the statement's start, decides all: two readings could disagree about whether the window is over.
const hitSql = `
with refused as (
  select hits, reset_at from rate_limits
  where key = $1 and hits > $2::integer and reset_at > statement_timestamp()
), counted as (
  insert into rate_limits as stored (key, hits, reset_at)
  select $1, 1, statement_timestamp() + $3::integer * interval '1 second'
  where not exists (select from refused)
  on conflict (key) do update set
    hits = case when stored.reset_at <= statement_timestamp() then 1 else stored.hits + 1 end,
    reset_at = case when stored.reset_at <= statement_timestamp() then excluded.reset_at else stored.reset_at end
  returning hits, reset_at
)
select hits, ceil(extract(epoch from reset_at - statement_timestamp()))::integer as reset_seconds
from (select * from refused union all select * from counted) as outcome`;

// Windows that ended a minute ago: a hit that started before its window's end still finds it.
// The condition is checked again on the locked row, because a hit may have opened a new window meanwhile.
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
  if (seconds === undefined || limit < 1 || limit > maxLimit) {
    throw new Error(
      `is "${text}"; write N/second, N/minute, N/hour or N/day with N from 1 to ${maxLimit}, such as 5/minute, or off`,
    );
  }
  return { limit, windowSeconds: seconds };
}

function storedKey(key: string): string {
  if (key.length <= maxKeyLength && !key.includes('\0')) return key;
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

/** `maxWaitMs` bounds the wait for a connection and the answer together. */
export function createRateLimiter(deps: { pool: Pool; maxWaitMs?: number }): RateLimiter {
  const { pool, maxWaitMs = defaultMaxWaitMs } = deps;

  async function hit(key: string, rule: RateLimitRule): Promise<RateLimitResult> {
    const values = [storedKey(key), rule.limit, rule.windowSeconds];
    const { rows } = await within(
      maxWaitMs,
      pool.query<{ hits: number; reset_seconds: number }>({ name: 'rate_limit_hit', text: hitSql, values }),
    );
    const row = rows[0];
    if (!row) throw new Error('the rate limit statement answered no row');
    return {
      allowed: row.hits <= rule.limit,
      limit: rule.limit,
      remaining: Math.max(0, rule.limit - row.hits),
      resetSeconds: Math.max(1, row.reset_seconds),
    };
  }

  return {
    hit,
    hitAll: (hits) => Promise.all(hits.map(({ key, rule }) => hit(key, rule))),
    async reset(key) {
      const text = 'delete from rate_limits where key = $1';
      await within(maxWaitMs, pool.query({ name: 'rate_limit_reset', text, values: [storedKey(key)] }));
    },
  };
}

/** The fields of a response to a limited request; `Retry-After` only with a refusal. Seconds, as numbers of digits. */
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
 * Removes windows that ended more than a minute ago and answers how many. Each statement removes at most
 * `batchSize`, so that none holds locks for long; at most `maxBatches` of them run, the rest waits for the next call.
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
