// Reads that may be some seconds old, from a standby of the database if it is there and near enough, else from the primary.
// It must not be used for a decision, a session or a token, nor for what a change is based on.
import { setTimeout as wait } from 'node:timers/promises';
import type { Pool } from 'pg';
import { AppError } from '../errors.ts';
import { onlyRow } from './sql.ts';

export type AgedReads<D> = {
  /**
   * Runs the read, on the standby unless `current` is set. A failure of the standby is not seen: the read runs again on the
   * primary. `ageSeconds` is how old the result may be at most, in whole seconds; null if it is from the primary.
   */
  run<T>(
    read: (db: D) => Promise<T>,
    options?: { current?: boolean },
  ): Promise<{ value: T; ageSeconds: number | null }>;
};

type Server<D> = { pool: Pool; db: D };

export type AgedReadOptions<D> = {
  primary: Server<D>;
  replica: Server<D>;
  /** The standby is not used while it may be further behind. */
  maxAgeSeconds: number;
  log: { warn(obj: object, msg: string): void; info(msg: string): void };
  /** Monotonic, in milliseconds. */
  now?: () => number;
};

/** How long a measurement counts; part of the age that is reported. */
const MEASURE_MS = 1_000;
/** How long a read waits for a measurement. A standby that takes longer is not used. */
const PATIENCE_MS = 500;
/** Pause after a failure of the standby. */
const PAUSE_MS = 5_000;

/** Returns reads that all run on the primary. */
export const readsOnPrimary = <D>(db: D): AgedReads<D> => ({
  run: async (read) => ({ value: await read(db), ageSeconds: null }),
});

/**
 * Returns reads on the standby. Its age does not depend on clocks: what the primary had written at a moment (its position
 * in the log) has been replayed by the standby, so results are at most as old as that moment.
 */
export function createAgedReads<D>(options: AgedReadOptions<D>): AgedReads<D> {
  const { primary, replica, maxAgeSeconds, log, now = () => performance.now() } = options;
  const maxAgeMs = maxAgeSeconds * 1_000;
  let positions: { at: number; position: bigint }[] = [];
  /** The standby has everything that was committed before. */
  let freshAt = Number.NEGATIVE_INFINITY;
  let nextMeasure = Number.NEGATIVE_INFINITY;
  let measuring: Promise<void> | undefined;
  let problem: string | undefined;

  function giveUp(reason: string, error?: unknown): void {
    freshAt = Number.NEGATIVE_INFINITY;
    positions = [];
    nextMeasure = now() + PAUSE_MS;
    if (problem !== reason) log.warn(error === undefined ? {} : { err: error }, reason);
    problem = reason;
  }

  async function measure(): Promise<void> {
    const at = now();
    const [own, other] = await Promise.all([readPrimary(primary.pool), readReplica(replica.pool)]);
    if (own.identity !== other.identity || other.replayed === null)
      return giveUp(
        'DATABASE_REPLICA_URL does not lead to a standby of the database in DATABASE_URL, so nothing is read there. After a failover, this passes with the next checkpoint of the standby.',
      );
    positions = [...positions.filter((one) => one.at >= at - maxAgeMs), { at, position: own.position }];
    const { replayed } = other;
    freshAt = positions.findLast(({ position }) => position <= replayed)?.at ?? freshAt;
    nextMeasure = at + MEASURE_MS;
    if (problem !== undefined) log.info('the standby in DATABASE_REPLICA_URL is used again');
    problem = undefined;
  }

  const standbyFailed = (error: unknown): void =>
    giveUp('the standby in DATABASE_REPLICA_URL failed; its reads run on the primary', error);

  /** Returns the age of the standby in milliseconds, after a measurement if the latest one is too old. */
  async function currentAge(): Promise<number> {
    if (now() >= nextMeasure) {
      measuring ??= measure()
        .catch(standbyFailed)
        .finally(() => {
          measuring = undefined;
        });
      const bound = new AbortController();
      await Promise.race([measuring, wait(PATIENCE_MS, undefined, { signal: bound.signal }).catch(() => {})]);
      bound.abort();
      // An answer that is still due may come from a server that hangs.
      if (measuring !== undefined) return Number.POSITIVE_INFINITY;
    }
    return now() - freshAt;
  }

  return {
    async run(read, { current = false } = {}) {
      if (!current && (await currentAge()) <= maxAgeMs) {
        const freshAtRead = freshAt;
        try {
          const value = await read(replica.db);
          return { value, ageSeconds: Math.ceil((now() - freshAtRead) / 1_000) };
        } catch (error) {
          // Refusals are the same everywhere.
          if (error instanceof AppError) throw error;
          standbyFailed(error);
        }
      }
      return { value: await read(primary.db), ageSeconds: null };
    },
  };
}

/** Returns a position in the log (`16/B374D848`) as a number. */
function positionOf(lsn: string): bigint {
  const [high, low] = lsn.split('/');
  return BigInt(`0x${high}`) * 0x1_0000_0000n + BigInt(`0x${low}`);
}

// Both servers belong to one cluster, and their log is the same: a former primary with commits that were lost in a failover
// has another timeline. A standby knows its timeline since its last checkpoint (restartpoint).

async function readPrimary(pool: Pool): Promise<{ identity: string; position: bigint }> {
  const result = await pool.query<{ identity: string; position: string }>(
    `select concat_ws('/', s.system_identifier, current_database(),
       ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int) as identity,
       pg_current_wal_lsn()::text as position
     from pg_control_system() as s`,
  );
  const { identity, position } = onlyRow(result);
  return { identity, position: positionOf(position) };
}

/** `replayed` is null if the server is no standby. */
async function readReplica(pool: Pool): Promise<{ identity: string; replayed: bigint | null }> {
  const result = await pool.query<{ identity: string; replayed: string | null }>(
    `select concat_ws('/', s.system_identifier, current_database(), c.timeline_id) as identity,
       case when pg_is_in_recovery() then pg_last_wal_replay_lsn()::text end as replayed
     from pg_control_system() as s, pg_control_checkpoint() as c`,
  );
  const { identity, replayed } = onlyRow(result);
  return { identity, replayed: replayed === null ? null : positionOf(replayed) };
}
