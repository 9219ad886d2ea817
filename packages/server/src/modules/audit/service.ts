// Writes the audit log: who did what to which record, from where.
// It must never fail the operation it records, and never be handed a password, hash or token.
import type { AuditAction } from '@castellan/contract/audit';
import { sql } from 'kysely';
import type { Db, Tx } from '../../database.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/log.ts';
import { insertEntry } from './store.ts';

export type AuditEvent = {
  action: AuditAction;
  /** Null when no user is known. */
  actorId: string | null;
  /** `security_event` unless said otherwise. */
  resourceType?: string;
  resourceId?: string;
  details?: Record<string, unknown>;
};

type AuditDeps = { db: Db; log: Logger };

// How long an answer waits for the log before it goes out without (security rule 19: own time-out).
const MAX_WAIT_MS = 3_000;
// Longest text value that is kept; what people type into a login form is not ours to store at length.
const MAX_TEXT_LENGTH = 500;

/** After commit or where there is no transaction; on a connection of its own. Resolves always. */
export async function recordEvent(deps: AuditDeps, client: Client | null, event: AuditEvent): Promise<void> {
  const entry = toEntry(client, event);
  const { promise: timedOut, resolve } = Promise.withResolvers<'late'>();
  const timer = setTimeout(() => resolve('late'), MAX_WAIT_MS);
  const written = insertEntry(deps.db, entry).catch((error: unknown) => {
    deps.log.error({ err: error, action: event.action, request_id: client?.requestId }, 'audit entry lost');
  });
  if ((await Promise.race([written, timedOut])) === 'late')
    deps.log.error(
      { action: event.action, request_id: client?.requestId },
      'audit entry late: answered without waiting',
    );
  clearTimeout(timer);
}

/** Inside the transaction of the change, under a savepoint: when it fails the change stands. */
export async function recordChange(
  tx: Tx,
  log: Logger,
  client: Client | null,
  event: AuditEvent,
): Promise<void> {
  await sql`savepoint audit`.execute(tx);
  try {
    await insertEntry(tx, toEntry(client, event));
    await sql`release savepoint audit`.execute(tx);
  } catch (error) {
    log.error({ err: error, action: event.action, request_id: client?.requestId }, 'audit entry lost');
    await sql`rollback to savepoint audit`.execute(tx);
  }
}

function toEntry(client: Client | null, event: AuditEvent) {
  const details = {
    ...(client ? { address: client.address, request_id: client.requestId } : {}),
    ...event.details,
  };
  return {
    id: newId(),
    actor_id: event.actorId,
    action: event.action,
    resource_type: event.resourceType ?? 'security_event',
    resource_id: event.resourceId ?? '',
    details: JSON.stringify(details, shortened),
  };
}

// jsonb takes neither NUL nor lone surrogates.
const shortened = (_key: string, value: unknown): unknown =>
  typeof value === 'string'
    ? value.slice(0, MAX_TEXT_LENGTH).replaceAll('\0', '\uFFFD').toWellFormed()
    : value;
