// Makes an audit entry of an event. It must not read or write anything.
import type { AuditAction } from '@castellan/contract/audit';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { NewEntry } from './store.ts';

export type AuditEvent = {
  action: AuditAction;
  /** Id of a user or a service account; null when neither is known. */
  actorId: string | null;
  /** Default: what the id names now. */
  actorType?: 'user' | 'service_account';
  /** Name of a service account. */
  actorName?: string | null;
  /** Id of the API key with which the actor signed in. It becomes `details.key_id`. */
  actorKeyId?: string | null;
  /** Id of the personal access token with which the actor acted. It becomes `details.token_id`. */
  actorTokenId?: string | null;
  /** Default: `security_event`. */
  resourceType?: string;
  resourceId?: string;
  /**
   * The name of the record at that time. Default: the `name` or `email` in `after`, else in `before`; of a user, the
   * email that the account has when the entry is written.
   */
  resourceName?: string;
  details?: Record<string, unknown>;
  /**
   * The record before and after a change; null if it did not or does not exist. Only the fields that differ are kept.
   */
  before?: Record<string, unknown> | null;
  after?: Record<string, unknown> | null;
};

/** Who caused an event. */
export type Actor = Pick<AuditEvent, 'actorId' | 'actorType' | 'actorName' | 'actorKeyId' | 'actorTokenId'>;

/** Maximum UTF-16 units of a text value, because public forms could otherwise store long texts. */
export const MAX_TEXT_LENGTH = 500;

/** Returns the entry without its time. Of `before` and `after` it has the fields that differ. */
export function toEntry(client: Client | null, event: AuditEvent): Omit<NewEntry, 'madeAt'> {
  const details: unknown = JSON.parse(JSON.stringify(detailsOf(client, event), shortened));
  return {
    id: newId(),
    actor_id: event.actorId,
    actor_type: event.actorType ?? null,
    actor_name: event.actorName ?? null,
    acted_by_id: client?.actedById ?? null,
    action: event.action,
    resource_type: event.resourceType ?? 'security_event',
    resource_id: event.resourceId ?? '',
    resource_name: event.resourceName ?? nameIn(event.after) ?? nameIn(event.before) ?? null,
    details,
  };
}

/** Returns the name of a role, a group or a permission, or the email of a user. */
const nameIn = (record: AuditEvent['before']): string | undefined =>
  [record?.name, record?.email].find((value) => typeof value === 'string');

function detailsOf(client: Client | null, event: AuditEvent): Record<string, unknown> {
  return {
    ...(client ? { address: client.address, request_id: client.requestId } : {}),
    ...event.details,
    ...difference(event.before, event.after),
    ...(event.actorKeyId ? { key_id: event.actorKeyId } : {}),
    ...(event.actorTokenId ? { token_id: event.actorTokenId } : {}),
  };
}

// jsonb accepts neither NUL nor lone surrogates.
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
