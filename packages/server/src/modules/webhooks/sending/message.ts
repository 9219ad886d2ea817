// Makes the message of a delivery: the event as it is at this attempt. It must not send.
import { type EventMessage, type EventSource, renderEvent } from '@castellan/contract/event-messages';
import type { Queued } from '../../../platform/delivery/lineup.ts';
import type { Db } from '../../../schema/database.ts';
import { shownEntry } from '../../audit/presentation.ts';
import { findMessages, type MessageRow } from './message-rows.ts';

type Delivery = Pick<Queued, 'id' | 'sourceId' | 'isReplay'>;

/** Returns the event of a delivery; null if the audit log no longer has its entry. */
export function eventOf(row: MessageRow, { id, sourceId, isReplay }: Delivery): EventMessage | null {
  const source = sourceOf(row, sourceId);
  return source && renderEvent(source, { sequence: Number(id), replay: isReplay, personal: row.personal });
}

function sourceOf({ entry, type, content }: MessageRow, id: string): EventSource | null {
  if (entry) {
    const { details, ...shown } = shownEntry(entry);
    return { ...shown, details: Object.fromEntries(Object.entries(details)) };
  }
  if (content === null || type === null) return null;
  const nobody = { actor_id: null, actor_type: null, actor_name: null, actor_email: null };
  return { ...nobody, ...content, id, action: type, resource_name: null };
}

/** Returns the event of a delivery as the next attempt would send it; null if there is nothing to send. */
export async function findMessage(
  db: Db,
  webhookId: string,
  delivery: Delivery,
): Promise<EventMessage | null> {
  const [row] = await findMessages(db, [{ webhookId, entryId: delivery.sourceId, deliveryId: delivery.id }]);
  return row ? eventOf(row, delivery) : null;
}

/** The same for every attempt to deliver an entry to a webhook, also when it is resent or replayed: receivers know it again. */
export const messageId = (webhookId: string, entryId: string): string =>
  `msg_${webhookId.replaceAll('-', '')}_${entryId.replaceAll('-', '')}`;
