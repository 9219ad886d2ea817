// Renders entries of the audit log as events. It must not send or sign them.
import type { AuditLogEntry } from '../audit.ts';
import { isEventType, versionOf } from './catalogue.ts';
import { splitDetails } from './personal.ts';

/** What an event is made of: an entry of the audit log, as the API shows it, or what takes its place. */
export type EventSource = Omit<AuditLogEntry, 'details'> & { details: Readonly<Record<string, unknown>> };

export type EventOptions = {
  /** The place of the event in the order of its endpoint. */
  sequence: number;
  /** Whether it is sent again because a replay was asked for. */
  replay: boolean;
  /** Whether the endpoint gets personal data: names, emails, addresses, user agents. */
  personal: boolean;
  /** A test: nothing has happened. */
  test?: boolean;
};

export type EventMessage = {
  type: string;
  timestamp: string;
  data: {
    id: string;
    version: number;
    sequence: number;
    replay: boolean;
    test?: true;
    actor: {
      type: 'user' | 'service_account';
      id: string;
      name?: string | null;
      email?: string | null;
    } | null;
    acted_by_id?: string;
    resource: { type: string; id: string; name?: string | null };
    details: Readonly<Record<string, unknown>>;
  };
};

/**
 * Returns the event of an entry. Without `personal`, no name, email, address and user agent is in it, on no level; nor is a member
 * that this release does not know.
 */
export function renderEvent(entry: EventSource, options: EventOptions): EventMessage {
  const { action: type, details } = entry;
  return {
    type,
    timestamp: entry.timestamp,
    data: {
      id: entry.id,
      version: isEventType(type) ? versionOf(type) : 1,
      sequence: options.sequence,
      replay: options.replay,
      ...(options.test ? { test: true } : {}),
      actor: actorOf(entry, options),
      ...(entry.acted_by_id === undefined ? {} : { acted_by_id: entry.acted_by_id }),
      resource: {
        type: entry.resource_type,
        id: entry.resource_id,
        ...(options.personal ? { name: entry.resource_name } : {}),
      },
      details: options.personal ? details : splitDetails(type, details).open,
    },
  };
}

/** Entries of earlier versions do not say what their actor is: it is a user. */
function actorOf(entry: EventSource, { personal }: EventOptions): EventMessage['data']['actor'] {
  if (entry.actor_id === null) return null;
  return {
    type: entry.actor_type ?? 'user',
    id: entry.actor_id,
    ...(personal ? { name: entry.actor_name, email: entry.actor_email } : {}),
  };
}
