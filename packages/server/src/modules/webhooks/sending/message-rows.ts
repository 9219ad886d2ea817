// Reads what one attempt needs: the webhook as it is now, its secrets, and the entry as it is now.
import { sql } from 'kysely';
import type { Db } from '../../../schema/database.ts';
import { type EntryJson, entryJson } from '../../audit/entry-json.ts';

/** Of `webhooks w`. */
const liveSecrets = sql`
  coalesce((
    select json_agg(json_build_object('id', s.id, 'sealed', encode(s.secret_sealed, 'base64')) order by s.created_at desc)
    from webhook_secrets s where s.webhook_id = w.id and (s.ends_at is null or s.ends_at > now())), '[]')`;

/** `deliveryId`: of what may have no entry; null: it has one. */
export type Wanted = { webhookId: string; entryId: string; deliveryId: string | null };

/** What an event without an entry in the audit log consists of. */
type Content = Pick<EntryJson, 'resource_type' | 'resource_id' | 'timestamp'> & {
  details: Record<string, unknown>;
};

export type MessageRow = {
  url: string;
  personal: boolean;
  /** Those that live, newest first; in base64. */
  secrets: { id: string; sealed: string }[];
  /** Null if the audit log no longer has it. */
  entry: EntryJson | null;
  type: string | null;
  content: Content | null;
};

/** Returns where a webhook is sent to, and its secrets. It reads no entry. */
export async function findEndpoint(
  db: Db,
  webhookId: string,
): Promise<Pick<MessageRow, 'url' | 'secrets'> | undefined> {
  const { rows } = await sql<Pick<MessageRow, 'url' | 'secrets'>>`
    select w.url, ${liveSecrets} as secrets from webhooks w where w.id = ${webhookId}`.execute(db);
  return rows[0];
}

/** Returns webhooks with entries by the position of what is wanted; undefined for a webhook that was deleted. */
export async function findMessages(db: Db, wanted: readonly Wanted[]): Promise<(MessageRow | undefined)[]> {
  const { rows } = await sql<MessageRow & { ordinal: string }>`
    select o.ordinal, w.url, w.personal, d.type, d.content,
      ${liveSecrets} as secrets,
      case when e.id is not null then ${entryJson} end as entry
    from unnest(${wanted.map(({ webhookId }) => webhookId)}::uuid[], ${wanted.map(({ entryId }) => entryId)}::uuid[],
        ${wanted.map(({ deliveryId }) => deliveryId)}::bigint[])
      with ordinality as o (webhook_id, entry_id, delivery_id, ordinal)
    join webhooks w on w.id = o.webhook_id left join audit_logs e on e.id = o.entry_id
    left join deliveries d on d.id = o.delivery_id and d.content is not null`.execute(db);
  const found = new Map(rows.map(({ ordinal, ...row }) => [Number(ordinal), row]));
  return wanted.map((_, index) => found.get(index + 1));
}
