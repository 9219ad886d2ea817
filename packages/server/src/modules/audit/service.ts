// Records who did what to which record, and from where, in the audit log.
// It must never fail the operation that it records. Never pass it a password, hash or token.
import { type AuditAction, afterCommitActions, boundedActions } from '@castellan/contract/audit';
import { sql } from 'kysely';
import { isDatabaseUnavailable } from '../../platform/db/failures.ts';
import { afterCommit, hasFollowUps, inTransaction } from '../../platform/db/transaction.ts';
import type { Client } from '../../platform/http/client.ts';
import type { RateLimiter } from '../../platform/limits/rate-limit.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { networkOf } from '../../platform/security/client-address.ts';
import type { Db, Tx } from '../../schema/database.ts';
import { type AuditEvent, MAX_TEXT_LENGTH, toEntry } from './entry.ts';
import { createEventWriter, type EventWriter, type Lane } from './event-writer.ts';
import { createRepeatCount, type RepeatCount, subjectKey } from './repeat-count.ts';
import { insertEntries, type NewEntry } from './store.ts';

export type { Actor, AuditEvent } from './entry.ts';

/** Where the entries of changes go. */
export type ChangeLog = {
  log: Logger;
  /** Keeps entries while they cannot be written. Null for a start that only makes one change: then they are lost. */
  writer: EventWriter | null;
};
/** The audit log of an instance. */
export type AuditLog = ChangeLog & { writer: EventWriter; repeats: RepeatCount<LeftOut> };
/** What a module needs to record what it does. */
export type Audited = { db: Db; auditLog: AuditLog };
type Recorder = Pick<Audited, 'auditLog'>;
// `event.details` come from `subjectIn`.
type LeftOut = { client: Client | null; event: AuditEvent; lane: Lane };

// How long a change waits for the table while it holds row locks. Two instances may wait one after the other.
const MAX_LOCK_WAIT = '250ms';

/** The limits on repeated events count over all instances. */
export function createAuditLog(db: Db, log: Logger, limiter: RateLimiter): AuditLog {
  const writer = createEventWriter(db, log);
  const report = ({ client, event, lane }: LeftOut, count: number): Promise<void> =>
    writer.write(toEntry(client, { ...event, details: { ...event.details, more_left_out: count } }), lane);
  return { log, writer, repeats: createRepeatCount<LeftOut>(limiter, report) };
}

/** Returns the entries that wait in memory, and those that were lost since the start. */
export const auditStats = ({ writer }: AuditLog): ReturnType<EventWriter['stats']> => writer.stats();

/** Writes the counts of events left out, and the waiting entries. Call it before the pool ends. */
export async function closeAuditLog({ writer, repeats }: AuditLog): Promise<void> {
  void repeats.reportAll();
  await writer.close();
}

/**
 * Records an event on a separate connection. Call it after the commit, or if there is no transaction. Never rejects.
 * Of an action that one subject can repeat at will (`boundedActions`), writes the first of each minute and counts the
 * others.
 */
export const recordEvent = (deps: Recorder, client: Client | null, event: AuditEvent): Promise<void> =>
  isRepeatable(event)
    ? recordFirst(deps, client, event, 'events')
    : deps.auditLog.writer.write(toEntry(client, event), 'events');

/** Records a refusal that anyone can cause: always limited as repeatable events are, and in a smaller queue. */
export const recordBounded = (deps: Recorder, client: Client, event: AuditEvent): Promise<void> =>
  recordFirst(deps, client, event, 'refusals');

const bounded: ReadonlySet<AuditAction> = new Set(boundedActions);

const writtenAfterCommit: ReadonlySet<AuditAction> = new Set(afterCommitActions);

/**
 * Returns whether an event of a change is written after its commit: events of passwords, as the specification requires,
 * and repeatable events, because counting them takes a separate statement.
 */
export const isWrittenAfterCommit = (event: AuditEvent): boolean =>
  writtenAfterCommit.has(event.action) || isRepeatable(event);

/** Bounded actions that are always written when an administrator does them to another user. */
const alsoAdministrative: ReadonlySet<AuditAction> = new Set(['session_revoked', 'verification_email_sent']);

/** Returns whether entries of the event may be left out. */
const isRepeatable = ({ action, actorId, resourceId }: AuditEvent): boolean =>
  bounded.has(action) && !(alsoAdministrative.has(action) && actorId !== null && actorId !== resourceId);

async function recordFirst(
  { auditLog: { writer, repeats } }: Recorder,
  client: Client | null,
  event: AuditEvent,
  lane: Lane,
): Promise<void> {
  const key = repeatKey(client, event);
  if (await repeats.admits(key)) await writer.write(toEntry(client, event), lane);
  else await repeats.leaveOut(key, { client, event: { ...event, details: subjectIn(event) }, lane });
}

const repeatKey = (client: Client | null, event: AuditEvent): string =>
  `audit|${event.action}|${subjectOf(client, event)}`;

/** Returns the subject to count by: the user, else the email in the request, else the network. */
const subjectOf = (client: Client | null, { actorId, details }: AuditEvent): string =>
  subjectKey(actorId ?? emailIn(details) ?? (client ? networkOf(client.address) : ''));

const emailIn = (details: AuditEvent['details']): string | undefined =>
  typeof details?.email === 'string' ? details.email : undefined;

const subjectIn = ({ details }: AuditEvent): Record<string, unknown> => {
  const email = emailIn(details);
  // Copied, because a slice would keep the whole text in memory.
  return email === undefined ? {} : { email: structuredClone(email.slice(0, MAX_TEXT_LENGTH)) };
};

/**
 * Runs a transaction that records the returned security events itself, so that they take no commit of their own. If their
 * entries cannot be written, rolls back, runs it again without them, and records them as `recordEvent` does: a failure of
 * the audit log changes no outcome. So does an event that may have to be left out, because counting it takes a statement.
 */
export async function inRecordedTransaction<R>(
  deps: Audited,
  client: Client,
  run: (tx: Tx) => Promise<{ result: R; events: readonly AuditEvent[] }>,
): Promise<R> {
  const { writer, repeats } = deps.auditLog;
  // A repeated transaction counts an event once.
  const admitted = new Set<string>();
  const isAdmitted = (event: AuditEvent): boolean => {
    if (!isRepeatable(event)) return true;
    const key = repeatKey(client, event);
    if (!admitted.has(key) && repeats.admitsAtOnce(key)) admitted.add(key);
    return admitted.has(key);
  };
  // Kept here, because on a broken connection the transaction throws the failure of its rollback instead.
  let refusal: { cause: unknown; action: AuditAction } | undefined;
  const attempt = (withEntries: boolean) =>
    inTransaction(deps.db, async (tx) => {
      refusal = undefined;
      const { result, events } = await run(tx);
      const own = withEntries ? events.filter(isAdmitted) : [];
      const [first] = own;
      if (first)
        await insertBriefly(tx, client, own).catch((cause: unknown) => {
          refusal = { cause, action: first.action };
          throw new Error('the entries were refused', { cause });
        });
      return { result, later: events.filter((event) => !own.includes(event)) };
    });
  const { result, later } = await attempt(!writer.isHeldUp).catch((error: unknown) => {
    if (refusal === undefined) throw error;
    if (isDatabaseUnavailable(refusal.cause)) writer.holdUp(refusal.cause, refusal.action);
    return attempt(false);
  });
  for (const event of later) {
    if (isAdmitted(event)) await writer.write(toEntry(client, event), 'events');
    else await recordEvent(deps, client, event);
  }
  return result;
}

/** Waits no longer than MAX_LOCK_WAIT for a lock of the audit log. */
async function insertBriefly(tx: Tx, client: Client, events: readonly AuditEvent[]): Promise<void> {
  await sql.raw(`set local lock_timeout = '${MAX_LOCK_WAIT}'`).execute(tx);
  await insertEntries(
    tx,
    events.map((event) => toEntry(client, event)),
  );
}

/** An entry about a user or by one, `age_s` seconds ago. */
export type PastEntry = Pick<
  NewEntry,
  'id' | 'actor_id' | 'action' | 'resource_type' | 'resource_id' | 'details'
> & { age_s: number };

/** Inserts a made-up past inside a transaction, for `castellan demo`. Unlike the other functions, fails with it. */
export function insertPast(tx: Tx, entries: readonly PastEntry[]): Promise<void> {
  const now = performance.now();
  return insertEntries(
    tx,
    entries.map(({ age_s, ...entry }) => ({
      ...entry,
      actor_type: entry.actor_id === null ? null : 'user',
      actor_name: null,
      acted_by_id: null,
      resource_name: null,
      madeAt: now - age_s * 1_000,
    })),
  );
}

/** Records a change inside its transaction, under a savepoint, so that a failure does not undo the change. */
export const recordChange = (
  tx: Tx,
  auditLog: ChangeLog,
  client: Client | null,
  event: AuditEvent,
): Promise<void> => recordChanges(tx, auditLog, client, [event]);

/**
 * Records the parts of a bulk change as `recordChange` does, in one statement. While the log cannot be written, the
 * entries wait in memory and are written after the commit, so that no transaction holds its locks while it waits for
 * the log.
 */
export async function recordChanges(
  tx: Tx,
  auditLog: ChangeLog,
  client: Client | null,
  events: readonly AuditEvent[],
): Promise<void> {
  const [first] = events;
  if (!first) return;
  const { log } = auditLog;
  const writer = hasFollowUps(tx) ? auditLog.writer : null;
  const entries = events.map((event) => toEntry(client, event));
  const writeLater = (later: EventWriter): void => {
    const madeAt = performance.now();
    afterCommit(tx, () => {
      for (const entry of entries) void later.write({ ...entry, madeAt }, 'events');
    });
  };
  if (writer?.isHeldUp) return writeLater(writer);
  await sql.raw(`savepoint audit; set local lock_timeout = '${MAX_LOCK_WAIT}'`).execute(tx);
  try {
    await insertEntries(tx, entries);
    await sql`release savepoint audit; set local lock_timeout to default`.execute(tx);
  } catch (error) {
    const isLate = writer !== null && isDatabaseUnavailable(error);
    if (isLate) writer.holdUp(error, first.action);
    else log.error({ err: error, action: first.action, request_id: client?.requestId }, 'audit entries lost');
    await sql`rollback to savepoint audit`.execute(tx);
    if (isLate) writeLater(writer);
  }
}
