// Runs periodic jobs, each slot on one instance only, by a row a job in the database.
// It must not know what a job does, nor trust the process clock: the database decides when a slot is due.
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';

type Log = { warn(obj: object, msg: string): void; error(obj: object, msg: string): void };

export type Scheduler = {
  /**
   * Declares a job before `start`; the name is its row. Slots lie `intervalMs` apart (fractions count) and do not
   * drift; slots missed while nobody ran are made up by one run. A job that throws is logged and tried at its next
   * slot, as is one whose process died. An instance runs a job once at a time; a run that outlasts its interval may
   * meet the next one on another instance.
   */
  every(name: string, intervalMs: number, run: () => Promise<void>): void;
  /** The first slot of a job that never ran is due at once. */
  start(): void;
  /** Takes no more slots and waits for the running jobs, at most `timeoutMs`; called again, for the first wait only. */
  stop(timeoutMs?: number): Promise<void>;
};

type Job = { name: string; intervalMs: number; run: () => Promise<void> };

// Shorter than the time-outs of usual supervisors (systemd 90 s, Kubernetes 30 s, Docker 10 s) allow for all.
const defaultStopTimeoutMs = 8_000;

const minIntervalMs = 10; // a slot costs one statement on every instance
const maxTimerMs = 2 ** 31 - 1; // setTimeout's own bound; longer ones fire at once
const minWaitMs = 5; // a timer may fire a little before the database's clock says so
const maxRetryMs = 30_000; // between looks at a database that does not answer

// A shorter interval than at the last start must not wait for the end of the longer one.
const registerSql = `
insert into job_schedule as job (name, next_at) values ($1, statement_timestamp())
on conflict (name) do update set next_at = excluded.next_at + $2::float8 * interval '1 millisecond'
where job.next_at > excluded.next_at + $2::float8 * interval '1 millisecond'`;

// One instance moves next_at past now, by whole intervals; the others then find it in the future.
const takeSql = `
with taken as (
  update job_schedule set next_at = next_at + $2::float8 * interval '1 millisecond'
    * (1 + floor(extract(epoch from statement_timestamp() - next_at) * 1000 / $2::numeric)::float8)
  where name = $1 and next_at <= statement_timestamp()
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
  const underWay = new Set<Promise<void>>();
  let started = false;
  let stopped: Promise<void> | undefined;

  const register = (job: Job) =>
    pool.query({ name: 'job_register', text: registerSql, values: [job.name, job.intervalMs] });

  /** Runs the job if its slot was free; answers after how many milliseconds the next one may be. */
  async function takeSlot(job: Job): Promise<number> {
    const values = [job.name, job.intervalMs];
    const query = { name: 'job_take', text: takeSql, values };
    const { rows } = await pool.query<{ taken: boolean; wait_ms: number }>(query);
    const slot = rows[0];
    if (!slot) {
      await register(job);
      return 0;
    }
    if (!slot.taken) return slot.wait_ms;
    const startedAt = performance.now();
    await job
      .run()
      .catch((error: unknown) => log.error({ err: error, job: job.name }, 'periodic job failed'));
    return slot.wait_ms - (performance.now() - startedAt);
  }

  async function look(job: Job): Promise<number> {
    try {
      return await takeSlot(job);
    } catch (error) {
      log.warn({ err: error, job: job.name }, 'could not look for a due job');
      return Math.min(job.intervalMs, maxRetryMs);
    }
  }

  function lookAfter(job: Job, waitMs: number): void {
    if (stopped) return;
    const timer = setTimeout(
      () => {
        const turn = look(job).then((nextMs) => {
          underWay.delete(turn);
          lookAfter(job, nextMs);
        });
        underWay.add(turn);
      },
      Math.min(Math.max(Math.ceil(waitMs), minWaitMs), maxTimerMs),
    );
    timer.unref();
    timers.set(job, timer);
  }

  async function settleDown(timeoutMs: number): Promise<void> {
    for (const timer of timers.values()) clearTimeout(timer);
    const bound = new AbortController();
    const late = wait(timeoutMs, true, { signal: bound.signal }).catch(() => false);
    const isLate = await Promise.race([late, Promise.all(underWay).then(() => false)]);
    bound.abort();
    if (isLate) log.warn({ timeoutMs }, 'periodic jobs still run at the end of the wait for them');
  }

  return {
    every(name, intervalMs, run) {
      if (started) throw new Error(`job "${name}" comes after the scheduler's start`);
      if (jobs.has(name)) throw new Error(`job "${name}" is declared twice`);
      if (!(intervalMs >= minIntervalMs))
        throw new RangeError(`job "${name}" needs ${minIntervalMs} ms or more`);
      jobs.set(name, { name, intervalMs, run: async () => run() });
    },
    start() {
      if (started) throw new Error('the scheduler runs already');
      started = true;
      for (const job of jobs.values()) {
        const registered = register(job).then(
          () => lookAfter(job, 0),
          (error: unknown) => {
            log.warn({ err: error, job: job.name }, 'could not register a job');
            lookAfter(job, Math.min(job.intervalMs, maxRetryMs));
          },
        );
        const turn = registered.finally(() => underWay.delete(turn));
        underWay.add(turn);
      }
    },
    stop(timeoutMs = defaultStopTimeoutMs) {
      stopped ??= settleDown(timeoutMs);
      return stopped;
    },
  };
}
