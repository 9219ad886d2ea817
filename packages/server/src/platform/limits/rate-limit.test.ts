// Tests the limiter on a real PostgreSQL: exact under races over several pools, no writes under attack, refusal on
// failure.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import {
  createRateLimiter,
  deleteExpiredLimits,
  parseRateLimit,
  type RateLimitRule,
  rateLimitHeaders,
} from './rate-limit.ts';

const fivePerMinute: RateLimitRule = { limit: 5, windowSeconds: 60 };

describe('parseRateLimit', () => {
  const accepted: [string, RateLimitRule | null][] = [
    ['10/second', { limit: 10, windowSeconds: 1 }],
    ['5/minute', { limit: 5, windowSeconds: 60 }],
    ['3/hour', { limit: 3, windowSeconds: 3_600 }],
    ['20/day', { limit: 20, windowSeconds: 86_400 }],
    ['1000000/day', { limit: 1_000_000, windowSeconds: 86_400 }],
    ['off', null],
  ];
  for (const [text, rule] of accepted) {
    test(`reads ${text}`, () => assert.deepEqual(parseRateLimit(text), rule));
  }

  const refused = [
    '',
    '5',
    '0/minute',
    '-1/minute',
    '5/week',
    '5/minutes',
    '5 / minute',
    '1.5/hour',
    '1000001/day',
  ];
  for (const text of [...refused, '5/constructor', 'OFF', '99999999999/day']) {
    test(`refuses "${text}" and names the accepted form`, () => {
      assert.throws(
        () => parseRateLimit(text),
        /^Error: is ".*"; write N\/second, .* such as 5\/minute, or off$/,
      );
    });
  }
});

describe('the limiter', () => {
  const pools: pg.Pool[] = [];
  let scratch: Awaited<ReturnType<typeof createScratchDatabase>>;
  let pool: pg.Pool;

  before(async () => {
    scratch = await createScratchDatabase();
    for (let i = 0; i < 3; i += 1) pools.push(new pg.Pool({ connectionString: scratch.url, max: 10 }));
    pool = pools[0] as pg.Pool;
  });
  after(async () => {
    await Promise.all(pools.map((one) => one.end()));
    await scratch?.drop();
  });

  const hitFromEveryPool = async (key: string, times: number) => {
    const limiters = pools.map((one) => createRateLimiter({ pool: one }));
    const results = await Promise.all(
      Array.from({ length: times }, () => limiters.map((limiter) => limiter.hit(key, fivePerMinute))).flat(),
    );
    return results.filter((result) => result.allowed).length;
  };
  const storedRow = async (key: string) => {
    const text = 'select ctid::text, xmin::text, hits, reset_at from rate_limits where key = $1';
    return (await pool.query(text, [key])).rows[0];
  };
  const endWindow = (key: string) =>
    pool.query(`update rate_limits set reset_at = now() - interval '2 minutes' where key = $1`, [key]);

  test('150 parallel hits over three pools: exactly the limit is allowed, every time', async () => {
    for (let round = 0; round < 10; round += 1) {
      assert.equal(await hitFromEveryPool(`race-${round}`, 50), 5);
    }
  });

  test('the same race on an ended window opens exactly one new window', async () => {
    const limiter = createRateLimiter({ pool });
    await limiter.hit('race-again', fivePerMinute);
    for (let round = 0; round < 10; round += 1) {
      await endWindow('race-again');
      assert.equal(await hitFromEveryPool('race-again', 50), 5);
    }
  });

  test('counts down, then refuses until the end of the window', async () => {
    const limiter = createRateLimiter({ pool });
    const seen = [];
    for (let i = 0; i < 7; i += 1) seen.push(await limiter.hit('countdown', fivePerMinute));
    assert.deepEqual(
      seen.map((result) => result.remaining),
      [4, 3, 2, 1, 0, 0, 0],
    );
    assert.deepEqual(
      seen.map((result) => result.allowed),
      [true, true, true, true, true, false, false],
    );
    for (const result of seen) assert.ok(result.resetSeconds >= 1 && result.resetSeconds <= 60);
    assert.ok((seen[0]?.resetSeconds ?? 0) >= 59);
  });

  test('hits do not extend the window', async () => {
    const limiter = createRateLimiter({ pool });
    await limiter.hit('fixed', fivePerMinute);
    const { reset_at: first } = await storedRow('fixed');
    await limiter.hit('fixed', fivePerMinute);
    assert.deepEqual((await storedRow('fixed')).reset_at, first);
  });

  test('a key over its limit is not written again, however often it is hit', async () => {
    await hitFromEveryPool('flood', 10);
    const rowBefore = await storedRow('flood');
    assert.equal(await hitFromEveryPool('flood', 100), 0);
    assert.deepEqual(await storedRow('flood'), rowBefore);
    const mostRacing = 5 + pools.length * 10;
    assert.ok(rowBefore.hits > 5 && rowBefore.hits <= mostRacing, `${rowBefore.hits} hits`);
  });

  test('keys are counted separately, including long ones and ones with a NUL', async () => {
    const limiter = createRateLimiter({ pool });
    const long = 'x'.repeat(10_000);
    for (const key of [`${long}a`, `${long}b`, 'nul\0a', 'nul\0b']) {
      assert.equal((await limiter.hit(key, fivePerMinute)).remaining, 4);
      assert.equal((await limiter.hit(key, fivePerMinute)).remaining, 3);
    }
    const { rows } = await pool.query('select max(length(key)) as longest from rate_limits');
    assert.ok(rows[0].longest <= 120);
  });

  test('clean-up deletes only ended windows, and no more than its limit', async () => {
    const limiter = createRateLimiter({ pool });
    const ended = Array.from({ length: 25 }, (_, i) => `ended-${i}`);
    for (const key of [...ended, 'live']) await limiter.hit(key, fivePerMinute);
    await Promise.all(ended.map(endWindow));
    assert.equal(await deleteExpiredLimits(pool, { batchSize: 10, maxBatches: 2 }), 20);
    assert.equal(await deleteExpiredLimits(pool, { batchSize: 10 }), 5);
    assert.equal(await deleteExpiredLimits(pool), 0);
    assert.equal((await limiter.hit('live', fivePerMinute)).remaining, 3);
  });

  test('clean-up during a race leaves the count exact', async () => {
    const limiter = createRateLimiter({ pool });
    for (let round = 0; round < 10; round += 1) {
      await limiter.hit('swept', fivePerMinute);
      await endWindow('swept');
      const [allowed] = await Promise.all([hitFromEveryPool('swept', 20), deleteExpiredLimits(pool)]);
      assert.equal(allowed, 5);
    }
  });
});

describe('without its database the limiter', () => {
  test('rejects when nothing listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    server.close();
    await once(server, 'close');
    const pool = new pg.Pool({ connectionString: `postgres://postgres@127.0.0.1:${port}/none` });
    await assert.rejects(createRateLimiter({ pool }).hit('key', fivePerMinute), { code: 'ECONNREFUSED' });
    await pool.end();
  });

  test('rejects within its limit when the server never answers', async () => {
    const sockets: Socket[] = [];
    const server = createServer((socket) => sockets.push(socket)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const pool = new pg.Pool({ connectionString: `postgres://postgres@127.0.0.1:${port}/none` });
    await assert.rejects(createRateLimiter({ pool, maxWaitMs: 100 }).hit('key', fivePerMinute), /in 100 ms/);
    for (const socket of sockets) socket.destroy();
    server.close();
    await pool.end();
  });
});

describe('rateLimitHeaders', () => {
  test('an allowed hit has the remaining number', () => {
    assert.deepEqual(rateLimitHeaders({ allowed: true, limit: 5, remaining: 4, resetSeconds: 60 }), {
      'RateLimit-Limit': '5',
      'RateLimit-Remaining': '4',
      'RateLimit-Reset': '60',
    });
  });

  test('a refused hit has Retry-After', () => {
    assert.deepEqual(rateLimitHeaders({ allowed: false, limit: 5, remaining: 0, resetSeconds: 17 }), {
      'RateLimit-Limit': '5',
      'RateLimit-Remaining': '0',
      'RateLimit-Reset': '17',
      'Retry-After': '17',
    });
  });
});
