// Writes the audit log: who did what to which record, from where.
// It must never fail the operation it records, and never be handed a password, hash or token.
import type { AuditAction } from '@castellan/contract/audit';
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { RateLimiter } from '../../platform/limits/rate-limit.ts';
import type { Logger } from '../../platform/log.ts';
import { networkOf } from '../../platform/security/client-address.ts';
import { writeEntry } from './event-writer.ts';
import { countRefusal } from './refusal-count.ts';
import { insertEntries } from './store.ts';

export type AuditEvent = {
  action: AuditAction;
  /** Null when no user is known. */
  actorId: string | null;
  /** `security_event` unless said otherwise. */
  resourceType?: string;
  resourceId?: string;
  details?: Record<string, unknown>;
  /** The record before and after a change, null where there is none: the fields that differ are kept. */
  before?: Record<string, unknown> | null;
  after?: Record<string, unknown> | null;
};

type AuditDeps = { db: Db; log: Logger };
type BoundedDeps = AuditDeps & { limiter: RateLimiter };

// How long an answer waits for the log before it goes out without (security rule 19: own time-out).
const MAX_WAIT_MS = 3_000;
// Longest text value that is kept; what people type into a login form is not ours to store at length.
const MAX_TEXT_LENGTH = 500;

// How long a change, with the locks it holds, waits for the log's lock; below the time-out of its own statements.
const MAX_LOCK_WAIT = '1s';

/** After commit or where there is no transaction; on a connection of its own. Resolves always. */
export const recordEvent = (deps: AuditDeps, client: Client | null, event: AuditEvent): Promise<void> =>
  record(deps, client, event, 'acts');

async function record(
  deps: AuditDeps,
  client: Client | null,
  event: AuditEvent,
  lane: 'acts' | 'refusals',
): Promise<void> {
  const entry = toEntry(client, event);
  const { promise: timedOut, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => resolve('late'), MAX_WAIT_MS);
  const written = writeEntry(deps.db, entry, lane).catch((error: unknown) => {
    deps.log.error({ err: error, action: event.action, request_id: client?.requestId }, 'audit entry lost');
  });
  if ((await Promise.race([written, timedOut])) === 'late')
    deps.log.error(
      { action: event.action, request_id: client?.requestId },
      'audit entry late: answered without waiting',
    );
  clearTimeout(timer);
}

/**
 * As `recordEvent`, for refusals that anybody can provoke: the first of each minute, by action and network, and where
 * there is no room for all the first to be left out.
 */
export const recordBounded = (deps: BoundedDeps, client: Client, event: AuditEvent): Promise<void> =>
  recordFirst(deps, client, event, networkOf(client.address));

/** A user asked for what he has no right to. As `recordBounded`, by user: no account may fill the log. */
export const recordDenied = (
  deps: BoundedDeps,
  client: Client,
  user: { user_id: string; email: string },
  details: Record<string, unknown>,
): Promise<void> =>
  recordFirst(
    deps,
    client,
    {
      action: 'permission_denied',
      actorId: user.user_id,
      resourceId: user.user_id,
      details: { email: user.email, ...details },
    },
    user.user_id,
  );

async function recordFirst(deps: BoundedDeps, client: Client, event: AuditEvent, by: string): Promise<void> {
  const counted = await countRefusal(deps.limiter, `audit|${event.action}|${by}`);
  if (counted === 'left out') return;
  const details = counted === 'last' ? { ...event.details, more_left_out: true } : event.details;
  await record(deps, client, { ...event, ...(details ? { details } : {}) }, 'refusals');
}

/** Inside the transaction of the change, under a savepoint: when it fails the change stands. */
export const recordChange = (tx: Tx, log: Logger, client: Client | null, event: AuditEvent): Promise<void> =>
  recordChanges(tx, log, client, [event]);

/** As `recordChange`, for the parts of a bulk change: one statement whatever their number. */
export async function recordChanges(
  tx: Tx,
  log: Logger,
  client: Client | null,
  events: readonly AuditEvent[],
): Promise<void> {
  if (events.length === 0) return;
  await sql.raw(`savepoint audit; set local lock_timeout = '${MAX_LOCK_WAIT}'`).execute(tx);
  try {
    await insertEntries(
      tx,
      events.map((event) => toEntry(client, event)),
    );
    await sql`release savepoint audit; set local lock_timeout to default`.execute(tx);
  } catch (error) {
    log.error({ err: error, action: events[0]?.action, request_id: client?.requestId }, 'audit entries lost');
    await sql`rollback to savepoint audit`.execute(tx);
  }
}

function toEntry(client: Client | null, event: AuditEvent) {
  const details = {
    ...(client ? { address: client.address, request_id: client.requestId } : {}),
    ...event.details,
    ...difference(event.before, event.after),
  };
  return {
    id: newId(),
    actor_id: event.actorId,
    action: event.action,
    resource_type: event.resourceType ?? 'security_event',
    resource_id: event.resourceId ?? '',
    details: JSON.parse(JSON.stringify(details, shortened)) as unknown,
  };
}

// jsonb takes neither NUL nor lone surrogates.
const shortened = (_key: string, value: unknown): unknown =>
  typeof value === 'string'
    ? value.slice(0, MAX_TEXT_LENGTH).replaceAll('\0', '\uFFFD').toWellFormed()
    : value;

function difference(before: AuditEvent['before'], after: AuditEvent['after']): Record<string, unknown> {
  if (before === undefined && after === undefined) return {};
  if (!before || !after) return { before: before ?? null, after: after ?? null };
  const changed = Object.keys(after).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]),
  );
  const pick = (record: Record<string, unknown>) =>
    Object.fromEntries(changed.map((field) => [field, record[field]]));
  return { before: pick(before), after: pick(after) };
}
