// Delivers what waits for targets outside, each held by one instance at a time, in order per key.
// It must not hold a connection while a target answers, nor know what it delivers.
import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type { QueryExecutorProvider } from 'kysely';
import type { Logger } from '../logging/log.ts';
import { createOutageLog } from '../logging/outage-log.ts';
import {
  countFailure,
  type Held,
  holdTarget,
  isProbed,
  LEASE_MS,
  limitOf,
  PROBED_AFTER,
  readLimitAfter,
  roomToNote,
  wantedOf,
} from './held.ts';
import { MAX_STUCK, type Queued } from './lineup.ts';
import { type Attempt, createRecorder, SETTLE_RETRY_MS } from './outcomes.ts';
import {
  endUnderWay,
  hastenWaiting,
  holdTargets,
  type Lease,
  noteUnderWay,
  readDueAgain,
  readFailed,
  readTargets,
  readWaiting,
  releaseTargets,
  type TargetState,
} from './targets-store.ts';

export type TargetKind = {
  kind: string;
  /** For how long one delivery is tried, in hours. */
  hours: number;
  /** Makes one attempt, in at most `SEND_LIMIT_MS`. Rejects if it could not be begun: then nothing is counted. */
  send(targetId: string, one: Queued): Promise<Attempt>;
  /** Pauses a target, unless it is paused. */
  pause(targetId: string, reason: 'failing' | 'gone'): Promise<void>;
  /** Called in each round, before targets are read: what else fills the queue. */
  prepare?(): Promise<void>;
};

export type TargetWorker = {
  start(): void;
  /** Begins nothing more, waits for what is under way, and leaves the targets to other instances. */
  stop(timeoutMs?: number): Promise<void>;
  /** Returns how the attempts of this process ended. */
  stats(): { sent: number; failed: number };
};

/** The longest that one attempt may take. */
export const SEND_LIMIT_MS = 10_000;
/** Nobody wakes the worker: rows come from any transaction of any instance. */
const POLL_MS = 500;
/** Reads of all targets at once. */
const READS = 2;
const STOP_TIMEOUT_MS = 8_000;

export function createTargetWorker(db: QueryExecutorProvider, kind: TargetKind, log: Logger): TargetWorker {
  const holder = randomUUID();
  const targets = new Map<string, Held>();
  /** Targets that this instance has let go while deliveries were under way. */
  const former = new Map<string, Held>();
  const underWay = new Set<Promise<void>>();
  let reads = 0;
  let isRunning = false;
  let isCutOff = false;
  let timer: NodeJS.Timeout | undefined;
  let round: Promise<void> | undefined;
  let stopped: Promise<void> | undefined;
  const outages = createOutageLog<unknown>(
    {
      begin: (err) => log.warn({ err, kind: kind.kind }, 'deliveries cannot be read; they wait'),
      end: () => log.info({ kind: kind.kind }, 'deliveries can be read again'),
    },
    60_000,
  );
  const recorder = createRecorder(db, kind.hours, {
    pause,
    done: pump,
    failed: (error) => outages.failed(error),
  });

  /** An attempt that outlasted the lease would go on while another instance begins. */
  const mayBegin = (held: Held, now: number): boolean =>
    isRunning &&
    targets.get(held.id) === held &&
    held.nextAt <= now &&
    held.leaseUntil - now > SEND_LIMIT_MS &&
    held.sending < limitOf(held);

  /** Begins what may begin, and prepares what follows. */
  function pump(held: Held): void {
    if (isProbed(held)) putBack(held);
    while (mayBegin(held, performance.now())) {
      const one = held.noted.shift();
      if (!one) break;
      begin(held, one);
    }
    if (mayPrepare(held)) note(held);
  }

  /** What may be under way when there is room. */
  const mayPrepare = (held: Held): boolean =>
    isRunning && targets.get(held.id) === held && held.nextAt <= performance.now() && held.notes === 0;

  /** A target that waits as one begins none of those that are noted, except the first. */
  function putBack(held: Held): void {
    const keep = held.sending === 0 && held.nextAt <= performance.now() ? 1 : 0;
    const returned = held.noted.splice(keep);
    for (const one of returned.reverse()) held.lineup.putBack(one);
    forget(held, returned);
  }

  /** Notes that deliveries do not begin. */
  function forget(held: Held, some: readonly Queued[]): void {
    if (some.length === 0) return;
    held.notes += 1;
    const ids = some.map((one) => one.id);
    const forgotten = endUnderWay(db, held.id, ids)
      .catch((error: unknown) => outages.failed(error))
      .finally(() => {
        held.notes -= 1;
        underWay.delete(forgotten);
        pump(held);
      });
    underWay.add(forgotten);
  }

  /** Notes the next deliveries as under way. They count as tried from then on, also if this process ends. */
  function note(held: Held): void {
    const room = roomToNote(held);
    const next: Queued[] = [];
    while (next.length < room) {
      const one = held.lineup.take();
      if (!one) break;
      next.push(one);
    }
    if (next.length < room) read(held);
    if (next.length === 0) return;
    held.notes += 1;
    const ids = next.map(({ id }) => id);
    const noting = noteUnderWay(db, holder, held.id, ids)
      .then(
        (isMine) => {
          held.notes -= 1;
          if (!isMine || targets.get(held.id) !== held || !isRunning) {
            for (const one of next.reverse()) held.lineup.putBack(one);
            if (isMine) forget(held, next);
            else drop(held);
            return;
          }
          held.noted.push(...next);
          pump(held);
        },
        (error: unknown) => {
          // The next round, or the next outcome, tries again.
          held.notes -= 1;
          for (const one of next.reverse()) held.lineup.putBack(one);
          outages.failed(error);
        },
      )
      .finally(() => underWay.delete(noting));
    underWay.add(noting);
  }

  function begin(held: Held, one: Queued): void {
    held.sending += 1;
    const wasProbe = isProbed(held);
    const sent = kind
      .send(held.id, one)
      .then(
        (attempt) => {
          held.sending -= 1;
          count(held, attempt, wasProbe);
          recorder.add(held, one, attempt);
        },
        (error: unknown) => {
          held.sending -= 1;
          held.lineup.settle(one, performance.now() + SETTLE_RETRY_MS);
          forget(held, [one]);
          outages.failed(error);
        },
      )
      .finally(() => {
        underWay.delete(sent);
        pump(held);
      });
    underWay.add(sent);
  }

  /** Counts what an attempt says about its target. One with nothing to deliver says nothing. */
  function count(held: Held, attempt: Attempt, wasProbe: boolean): void {
    const now = performance.now();
    if (attempt.cause !== null) {
      if (!attempt.isLast) countFailure(held, wasProbe, attempt.askedMs, now);
      return;
    }
    if (held.failures >= PROBED_AFTER) release(held);
    held.failures = 0;
    held.nextAt = now;
  }

  /** Reads more for a target, if that may find something. */
  function read(held: Held): void {
    if (held.isReading || held.isExhausted || reads >= READS) return;
    const now = performance.now();
    const failed = held.lineup.stuck > MAX_STUCK ? held.lineup.due(now) : null;
    if (failed?.length === 0) return;
    held.isReading = true;
    reads += 1;
    const found = failed
      ? readFailed(db, held.id, failed, held.readLimit)
      : readWaiting(db, held.id, held.lineup.excluded(now), held.readLimit);
    const reading = found
      .then(
        (rows) => {
          const readAt = performance.now();
          held.readLimit = readLimitAfter(readAt - now);
          held.lineup.add(rows, readAt);
          held.isExhausted = rows.length === 0;
        },
        (error: unknown) => {
          held.isExhausted = true;
          outages.failed(error);
        },
      )
      .finally(() => {
        held.isReading = false;
        reads -= 1;
        underWay.delete(reading);
        pump(held);
        for (const other of targets.values()) if (other !== held && other.lineup.size === 0) pump(other);
      });
    underWay.add(reading);
  }

  /** The target answers again: what waits after failures need not wait longer. */
  function release(held: Held): void {
    const released = hastenWaiting(db, held.id)
      .then(
        () => held.lineup.release(),
        (error: unknown) => outages.failed(error),
      )
      .finally(() => underWay.delete(released));
    underWay.add(released);
  }

  function drop(held: Held): void {
    if (targets.get(held.id) === held) targets.delete(held.id);
    const noted = held.noted.splice(0);
    for (const one of noted) held.lineup.putBack(one);
    forget(held, noted);
    if (held.lineup.underWay > 0) former.set(held.id, held);
  }

  async function pause(id: string, reason: 'failing' | 'gone'): Promise<void> {
    const held = targets.get(id);
    if (held) drop(held);
    try {
      await kind.pause(id, reason);
    } catch (error) {
      // The next failure tries it again.
      log.error({ err: error, target_id: id, reason }, 'a target could not be paused');
    }
  }

  async function look(): Promise<void> {
    await kind.prepare?.();
    const before = performance.now();
    const found = await readTargets(db, kind.kind, holder);
    const wanted = wantedOf(found, targets, before);
    const leases = wanted.length > 0 ? await holdTargets(db, holder, wanted) : [];
    const mine = new Map(leases.map((lease) => [lease.id, lease]));
    const there = new Map(found.map((state) => [state.id, state]));
    for (const [id, held] of targets) {
      const state = there.get(id);
      if (!state || state.is_paused || !(state.is_mine || mine.has(id))) drop(held);
    }
    for (const [id, held] of former) if (held.lineup.underWay === 0) former.delete(id);
    for (const state of found) {
      const lease = mine.get(state.id);
      if (lease) await hold(state, lease, before);
    }
    for (const held of targets.values()) {
      if (held.lineup.stuck > 0) held.lineup.release(await readDueAgain(db, held.id));
      held.isExhausted = false;
      pump(held);
    }
    outages.succeeded();
  }

  async function hold(state: TargetState, lease: Lease, before: number): Promise<void> {
    const { id, parallel, failures, next_in_ms } = state;
    const leaseUntil = before + LEASE_MS;
    const held = targets.get(id);
    if (held) {
      held.leaseUntil = leaseUntil;
      return;
    }
    // What is still being sent would be read and sent again, beside it. A later round takes the target.
    if (former.has(id)) return;
    if (lease.is_inherited && lease.under_way.length > 0) await recorder.interrupted(state, lease.under_way);
    const nextAt = before + Math.max(0, next_in_ms ?? 0);
    targets.set(id, holdTarget({ id, parallel, leaseUntil, failures, nextAt }));
  }

  function lookAgain(): void {
    if (!isRunning) return;
    timer = setTimeout(() => {
      round = look()
        .catch((error: unknown) => outages.failed(error))
        .finally(() => {
          round = undefined;
          lookAgain();
        });
    }, POLL_MS).unref();
  }

  async function finish(timeoutMs: number): Promise<void> {
    await round;
    for (const held of targets.values()) forget(held, held.noted.splice(0));
    const ended = (async () => {
      while (underWay.size > 0 || recorder.recording())
        await Promise.all([...underWay, recorder.recording()]);
    })();
    const bound = new AbortController();
    const late = wait(timeoutMs, true, { signal: bound.signal }).catch(() => false);
    isCutOff = await Promise.race([late, ended.then(() => false)]);
    bound.abort();
    targets.clear();
    // Another instance would send again what is still under way.
    if (isCutOff) log.warn({ kind: kind.kind }, 'deliveries were still being sent at shutdown');
    else await releaseTargets(db, holder).catch(() => undefined);
  }

  return {
    start() {
      stopped = undefined;
      isRunning = true;
      lookAgain();
    },
    stop(timeoutMs = STOP_TIMEOUT_MS) {
      isRunning = false;
      clearTimeout(timer);
      stopped ??= finish(timeoutMs);
      return stopped;
    },
    stats: recorder.stats,
  };
}
