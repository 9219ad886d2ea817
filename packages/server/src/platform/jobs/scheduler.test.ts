// Tests the scheduler on a real PostgreSQL: each slot once over several instances, no drift, one run for missed slots.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { createScheduler, type Scheduler } from './scheduler.ts';

/** Ends a test that hangs; not a limit on speed. */
const HANG_MS = 60_000;
const pools: pg.Pool[] = [];
const running: Scheduler[] = [];
const logged: { level: string; msg: string; job?: string }[] = [];
const note = (level: string) => (obj: object, msg: string) => void logged.push({ level, msg, ...obj });
const log = { warn: note('warn'), error: note('error') };
let scratch: Awaited<ReturnType<typeof createScratchDatabase>>;
let pool: pg.Pool;

before(async () => {
  scratch = await createScratchDatabase();
  for (let i = 0; i < 3; i += 1) pools.push(new pg.Pool({ connectionString: scratch.url, max: 4 }));
  pool = pools[0] as pg.Pool;
  // Every slot that any instance takes adds a row.
  await pool.query(`
    create table taken (name text, previous timestamptz, next timestamptz, taken_at timestamptz default now());
    create function note_slot() returns trigger language plpgsql as $$ begin
      insert into taken (name, previous, next) values (new.name, old.next_at, new.next_at); return new; end $$;
    create trigger note_slot after update on job_schedule for each row when (old.next_at <> new.next_at)
      execute function note_slot();`);
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((scheduler) => scheduler.stop()));
  logged.length = 0;
});
after(async () => {
  await Promise.all(pools.map((one) => one.end()));
  await scratch?.drop();
});

function newScheduler(on = pool): Scheduler {
  const scheduler = createScheduler({ pool: on, log });
  running.push(scheduler);
  return scheduler;
}

async function until(met: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + HANG_MS;
  while (!(await met())) {
    if (performance.now() > deadline) assert.fail(`not within ${HANG_MS} ms: ${what}`);
    await pause(5);
  }
}

const slotsOf = async (name: string) => {
  const text = `select extract(epoch from previous) * 1000 as previous, extract(epoch from next) * 1000 as next
    from taken where name = $1 order by taken_at`;
  const { rows } = await pool.query<{ previous: string; next: string }>(text, [name]);
  return rows.map((row) => ({ previous: Number(row.previous), next: Number(row.next) }));
};

test('three instances run each slot once, and slots stay on their grid', async () => {
  let runs = 0;
  for (const on of pools) {
    const scheduler = newScheduler(on);
    scheduler.every('shared', 60, async () => {
      runs += 1;
    });
    scheduler.start();
  }
  await until(() => runs >= 20, '20 runs');
  await Promise.all(running.map((scheduler) => scheduler.stop()));
  const slots = await slotsOf('shared');
  assert.equal(runs, slots.length);
  assert.equal(new Set(slots.map((slot) => slot.next)).size, slots.length);
  for (const slot of slots) {
    const intervals = (slot.next - slot.previous) / 60;
    assert.ok(intervals >= 1 && Math.abs(intervals - Math.round(intervals)) < 1e-6, `${intervals} intervals`);
  }
});

test('an instance that waited for the slot of another one does not run it again', async () => {
  await pool.query("insert into job_schedule (name, next_at) values ('waited', now())");
  const other = await pool.connect();
  await other.query("begin; select from job_schedule where name = 'waited' for update");
  let runs = 0;
  const scheduler = newScheduler(pools[1]);
  scheduler.every('waited', 100, async () => {
    runs += 1;
  });
  scheduler.start();
  const waiting = `select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and clock_timestamp() > query_start + interval '50 ms'`;
  await until(async () => (await pool.query(waiting)).rowCount === 1, 'the instance waits');
  // The slot of an instance that took it just now: the next one is an interval ahead.
  await other.query(
    "update job_schedule set next_at = clock_timestamp() + interval '100 ms' where name = 'waited'; commit",
  );
  other.release();
  await until(() => runs > 0, 'the next slot');
  for (const { previous, next } of await slotsOf('waited'))
    assert.ok(next > previous, 'a slot was moved back');
});

test('a job that never ran is due an interval after the first start, whatever starts later', async () => {
  let runs = 0;
  const scheduler = newScheduler();
  scheduler.every('first', 400, async () => {
    runs += 1;
  });
  scheduler.start();
  const due = async () => (await pool.query("select next_at from job_schedule where name = 'first'")).rows[0];
  await until(async () => (await due()) !== undefined, 'the row');
  const declared = await due();
  const later = newScheduler(pools[1]);
  later.every('first', 400, async () => {
    runs += 1;
  });
  later.start();
  await until(() => runs > 0, 'the first run');
  const { rows } = await pool.query(
    "select previous from taken where name = 'first' order by taken_at limit 1",
  );
  assert.deepEqual(rows, [{ previous: declared.next_at }]);
});

test('a job that ran on another instance waits for its slot', async () => {
  const calls: string[] = [];
  await pool.query(`insert into job_schedule values ('waits', now() + interval '1 hour')`);
  const scheduler = newScheduler();
  scheduler.every('waits', 3_600_000, async () => void calls.push('waits'));
  scheduler.every('marker', 50, async () => void calls.push('marker'));
  scheduler.start();
  await until(() => calls.length >= 3, 'three runs of the other job');
  assert.ok(!calls.includes('waits'));
});

test('many missed slots are made up by one run, and the grid is kept', async () => {
  await pool.query(`insert into job_schedule values ('missed', now() - interval '10500 seconds')`);
  let runs = 0;
  const scheduler = newScheduler();
  scheduler.every('missed', 1_000_000, async () => {
    runs += 1;
  });
  scheduler.start();
  await until(() => runs === 1, 'the run');
  await scheduler.stop();
  const [slot, ...more] = await slotsOf('missed');
  assert.ok(slot);
  assert.deepEqual(more, []);
  assert.equal(Math.round((slot.next - slot.previous) / 1_000), 11_000);
  assert.equal(runs, 1);
});

test('a failing job is logged and runs again at its next slot', async () => {
  let runs = 0;
  const scheduler = newScheduler();
  scheduler.every('fails', 40, () => {
    runs += 1;
    if (runs === 1) throw new Error('thrown at once');
    return runs === 2 ? Promise.reject(new Error('rejected')) : Promise.resolve();
  });
  scheduler.start();
  await until(() => runs >= 3, 'a third run');
  assert.deepEqual(
    logged.map((line) => [line.level, line.job]),
    [
      ['error', 'fails'],
      ['error', 'fails'],
    ],
  );
});

test('a shortened interval counts from the start, not from the end of the longer one', async () => {
  await pool.query(`insert into job_schedule values ('shorter', now() + interval '1 day')`);
  let runs = 0;
  const scheduler = newScheduler();
  scheduler.every('shorter', 50.5, async () => {
    runs += 1;
  });
  scheduler.start();
  await until(() => runs >= 2, 'two runs');
});

test('a job whose row was deleted continues to run', async () => {
  let runs = 0;
  const scheduler = newScheduler();
  scheduler.every('removed', 40, async () => {
    runs += 1;
  });
  scheduler.start();
  await until(() => runs >= 1, 'the first run');
  await pool.query(`delete from job_schedule where name = 'removed'`);
  const runsThen = runs;
  await until(() => runs >= runsThen + 2, 'two more runs');
});

test('stop waits for the running job', async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let finished = false;
  await pool.query(`insert into job_schedule values ('slow', now())`);
  const scheduler = newScheduler();
  scheduler.every('slow', 3_600_000, async () => {
    entered.resolve();
    await release.promise;
    finished = true;
  });
  scheduler.start();
  await entered.promise;
  const stopping = scheduler.stop();
  release.resolve();
  await stopping;
  assert.ok(finished);
});

test('stop waits at most for its timeout', async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  await pool.query(`insert into job_schedule values ('stuck', now())`);
  const scheduler = newScheduler();
  scheduler.every('stuck', 3_600_000, async () => {
    entered.resolve();
    await release.promise;
  });
  scheduler.start();
  await entered.promise;
  await scheduler.stop(20);
  assert.deepEqual(
    logged.map((line) => line.level),
    ['warn'],
  );
  release.resolve();
});

test('an unavailable database is logged, and the job runs when it is back', async () => {
  let broken = true;
  const flaky = {
    query: (...args: Parameters<pg.Pool['query']>) =>
      broken ? Promise.reject(new Error('down')) : pool.query(...args),
  } as unknown as pg.Pool;
  let runs = 0;
  const scheduler = newScheduler(flaky);
  scheduler.every('recovers', 40, async () => {
    runs += 1;
  });
  scheduler.start();
  await until(() => logged.length >= 3, 'three failures');
  assert.equal(runs, 0);
  broken = false;
  await until(() => runs >= 1, 'a run');
});

test('a job declared twice, too often or too late is refused', () => {
  const scheduler = newScheduler();
  const run = async () => {};
  scheduler.every('once', 3_600_000, run);
  assert.throws(() => scheduler.every('once', 3_600_000, run), /twice/);
  assert.throws(() => scheduler.every('often', 1, run), RangeError);
  assert.throws(() => scheduler.every('never', Number.NaN, run), RangeError);
  scheduler.start();
  assert.throws(() => scheduler.every('late', 3_600_000, run), /start/);
});
