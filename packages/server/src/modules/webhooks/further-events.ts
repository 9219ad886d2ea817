// Queues events that are no entries of the audit log, such as a new head of its seal. They must not contain personal data.
import type { EventType } from '@castellan/contract/events';
import { sql } from 'kysely';
import { newId } from '../../platform/ids.ts';
import type { Db } from '../../schema/database.ts';

export type FurtherEvent = {
  type: EventType;
  resourceType: string;
  resourceId: string;
  details: Record<string, unknown>;
};

/** Queues an event for the webhooks that want it. In a transaction, it is sent only if that commits. */
export async function queueEvent(
  db: Db,
  { type, resourceType, resourceId, details }: FurtherEvent,
): Promise<void> {
  const id = newId();
  const content = JSON.stringify({
    resource_type: resourceType,
    resource_id: resourceId,
    timestamp: new Date().toISOString(),
    details,
  });
  await sql`
    insert into deliveries (target_id, source_id, type, content, key)
    select w.id, ${id}::uuid, ${type}, ${content}::jsonb, delivery_key(${resourceType}, ${resourceId}, ${id}::uuid)
    from webhooks w
    where ${type} = any(w.actions) and (w.resource_types is null or ${resourceType} = any(w.resource_types))`.execute(
    db,
  );
}
