// Runs periodic jobs. A row per job in the database makes sure that only one instance runs each slot.
// It must not know what a job does, nor use the process clock: the database decides when a slot is due.
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';

type Log = { warn(obj: object, msg: string): void; error(obj: object, msg: string): void };

export type Scheduler = {
  /**
   * Declares a job; call it before `start`. The name identifies its row. Slots are `intervalMs` apart (fractions count)
   * and do not drift; one run makes up for all slots that were missed. A job that throws is logged and runs again at
   * its next slot, as does one whose process died. An instance runs a job once at a time; if a run outlasts its
   * interval, another instance may start the next one.
   */
  every(name: string, intervalMs: number, run: () => Promise<void>): void;
  /** Starts to run jobs. A job that no instance has run yet is due after its interval. */
  start(): void;
  /**
   * Takes no more slots and waits for running jobs, at most `timeoutMs`. Further calls return the first call's promise.
   */
  stop(timeoutMs?: number): Promise<void>;
  /** Returns what the runs in this process came to, of every job. */
  stats(): JobStats[];
};

export type JobStats = {
  name: string;
  succeeded: number;
  failed: number;
  /** Seconds since the epoch by the clock of this process; null before the first success. */
  lastSuccessAt: number | null;
};

type Job = { name: string; intervalMs: number; run: () => Promise<void>; stats: JobStats };

// Shorter than the stop timeouts of common supervisors (systemd 90 s, Kubernetes 30 s, Docker 10 s).
const DEFAULT_STOP_TIMEOUT_MS = 8_000;

const MIN_INTERVAL_MS = 10; // a slot costs one statement on every instance
const maxTimerMs = 2 ** 31 - 1; // the limit of setTimeout; longer timers fire at once
const MIN_WAIT_MS = 5; // a timer may fire slightly before the slot is due by the database's clock
const MAX_RETRY_MS = 30_000; // between attempts while the database does not answer

// If the interval is shorter than at the last start, the first slot must not wait for the end of the longer one.
// clock_timestamp(), so that a statement that waited for another instance's slot does not move the next one back.
const registerSql = `
insert into job_schedule as job (name, next_at)
select name, statement_timestamp() + interval_ms * interval '1 millisecond'
from unnest($1::text[], $2::float8[]) as declared (name, interval_ms) order by name
on conflict (name) do update
set next_at = least(job.next_at, clock_timestamp() + (excluded.next_at - statement_timestamp()))
returning name, greatest(0, extract(epoch from next_at - clock_timestamp()) * 1000)::float8 as wait_ms`;

// One instance moves next_at past now, by whole intervals; the others then find it in the future. If next_at is more
// than an interval ahead, it was set while the clock was ahead: the job is due, and next_at is moved back. The
// tolerance of a tenth keeps small steps of the clock from running a slot twice; clock_timestamp(), so that a statement that
// waited for another instance's slot does not take it for one set while the clock was ahead.
const takeSql = `
with taken as (
  update job_schedule set next_at = next_at + $2::float8 * interval '1 millisecond'
    * (1 + floor(extract(epoch from statement_timestamp() - next_at) * 1000 / $2::numeric)::float8)
  where name = $1 and (next_at <= statement_timestamp()
    or next_at > clock_timestamp() + 1.1 * $2::float8 * interval '1 millisecond')
  returning next_at
)
select slot.taken, greatest(0, extract(epoch from slot.next_at - statement_timestamp()) * 1000)::float8 as wait_ms
from (
  select true as taken, next_at from taken
  union all
  select false, next_at from job_schedule where name = $1 and not exists (select from taken)
) as slot`;

export function createScheduler(deps: { pool: Pool; log: Log }): Scheduler {
  const { pool, log } = deps;
  const jobs = new Map<string, Job>();
  const timers = new Map<Job, NodeJS.Timeout>();
  const running = new Set<Promise<void>>();
  let started = false;
  let stopped: Promise<void> | undefined;

  /** Returns the milliseconds until the next slot of each job. */
  async function register(declared: readonly Job[]): Promise<Map<string, number>> {
    const values = [declared.map((job) => job.name), declared.map((job) => job.intervalMs)];
    const query = { name: 'job_register', text: registerSql, values };
    const { rows } = await pool.query<{ name: string; wait_ms: number }>(query);
    return new Map(rows.map((row) => [row.name, row.wait_ms]));
  }

  /** Runs the job if its slot is due. Returns the milliseconds until the next slot. */
  async function takeSlot(job: Job): Promise<number> {
    const values = [job.name, job.intervalMs];
    const query = { name: 'job_take', text: takeSql, values };
    const { rows } = await pool.query<{ taken: boolean; wait_ms: number }>(query);
    const slot = rows[0];
    if (!slot) return (await register([job])).get(job.name) ?? 0;
    if (!slot.taken) return slot.wait_ms;
    const startedAt = performance.now();
    try {
      await job.run();
      job.stats.succeeded += 1;
      job.stats.lastSuccessAt = Date.now() / 1_000;
    } catch (error) {
      job.stats.failed += 1;
      log.error({ err: error, job: job.name }, 'periodic job failed');
    }
    return slot.wait_ms - (performance.now() - startedAt);
  }

  async function check(job: Job): Promise<number> {
    try {
      return await takeSlot(job);
    } catch (error) {
      log.warn({ err: error, job: job.name }, 'could not check for due jobs');
      return Math.min(job.intervalMs, MAX_RETRY_MS);
    }
  }

  function checkAfter(job: Job, waitMs: number): void {
    if (stopped) return;
    const timer = setTimeout(
      () => {
        const turn = check(job).then((nextMs) => {
          running.delete(turn);
          checkAfter(job, nextMs);
        });
        running.add(turn);
      },
      Math.min(Math.max(Math.ceil(waitMs), MIN_WAIT_MS), maxTimerMs),
    );
    timer.unref();
    timers.set(job, timer);
  }

  async function waitForJobs(timeoutMs: number): Promise<void> {
    for (const timer of timers.values()) clearTimeout(timer);
    const bound = new AbortController();
    const late = wait(timeoutMs, true, { signal: bound.signal }).catch(() => false);
    const isLate = await Promise.race([late, Promise.all(running).then(() => false)]);
    bound.abort();
    if (isLate) log.warn({ timeoutMs }, 'periodic jobs were still running when shutdown stopped waiting');
  }

  return {
    every(name, intervalMs, run) {
      if (started) throw new Error(`job "${name}" comes after the scheduler's start`);
      if (jobs.has(name)) throw new Error(`job "${name}" is declared twice`);
      if (!(intervalMs >= MIN_INTERVAL_MS))
        throw new RangeError(`job "${name}" needs ${MIN_INTERVAL_MS} ms or more`);
      const stats: JobStats = { name, succeeded: 0, failed: 0, lastSuccessAt: null };
      jobs.set(name, { name, intervalMs, run: async () => run(), stats });
    },
    start() {
      if (started) throw new Error('the scheduler runs already');
      started = true;
      const declared = [...jobs.values()];
      const turn = register(declared)
        .then(
          (waits) => {
            for (const job of declared) checkAfter(job, waits.get(job.name) ?? 0);
          },
          (error: unknown) => {
            log.warn({ err: error }, 'could not register the periodic jobs');
            // Each registers itself when it finds no row.
            for (const job of declared) checkAfter(job, Math.min(job.intervalMs, MAX_RETRY_MS));
          },
        )
        .finally(() => running.delete(turn));
      running.add(turn);
    },
    stop(timeoutMs = DEFAULT_STOP_TIMEOUT_MS) {
      stopped ??= waitForJobs(timeoutMs);
      return stopped;
    },
    stats: () => [...jobs.values()].map((job) => ({ ...job.stats })),
  };
}
