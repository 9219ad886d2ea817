// SQL of webhooks as records, and of their secrets. What waits for them is in deliveries/ and in platform/delivery.
import type { PageQuery } from '@castellan/contract/common';
import type { Webhook } from '@castellan/contract/webhooks';
import { sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { isOfTarget } from '../../platform/delivery/targets-store.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export type SecretRow = Pick<Row<'webhook_secrets'>, 'id' | 'created_at' | 'ends_at'>;

export type WebhookRow = Omit<Row<'webhooks'>, 'actions' | 'results' | 'resource_types'> &
  Pick<Row<'delivery_targets'>, 'paused_at' | 'failures' | 'last_success_at'> & {
    results: 'all' | 'failure';
    resource_types: Webhook['resource_types'];
    paused_reason: 'requested' | 'failing' | 'gone' | null;
    waiting: number;
    dead: number;
    oldest_waiting_at: Date | null;
    secrets: { id: string; created_at: string; ends_at: string | null }[];
  };

/** Counting more takes longer than a page of a list should. */
const MOST_COUNTED = 100_000;

const isOwn = isOfTarget('d.target_id', sql`w.id`);
const columns = sql`
  w.id, w.name, w.url, w.events, w.resource_types, w.results, w.personal, w.created_at, w.updated_at, w.created_by_id,
  w.version, t.paused_at, t.paused_reason, t.failures, t.last_success_at,
  (select count(*)::integer from (
    select from deliveries d where ${isOwn} and d.state = 'waiting' limit ${sql.lit(MOST_COUNTED)}) c) as waiting,
  (select count(*)::integer from (
    select from deliveries d where ${isOwn} and d.state = 'dead' limit ${sql.lit(MOST_COUNTED)}) c) as dead,
  (select d.created_at from deliveries d where ${isOwn} and d.state = 'waiting' order by d.target_id, d.id limit 1)
    as oldest_waiting_at,
  coalesce((
    select json_agg(json_build_object('id', s.id, 'created_at', s.created_at, 'ends_at', s.ends_at)
      order by s.created_at desc, s.id desc)
    from webhook_secrets s where s.webhook_id = w.id and (s.ends_at is null or s.ends_at > now())), '[]') as secrets`;

export async function findWebhook(db: Db, id: string): Promise<WebhookRow | undefined> {
  const { rows } = await sql<WebhookRow>`
    select ${columns} from webhooks w join delivery_targets t on t.id = w.id where w.id = ${id}`.execute(db);
  return rows[0];
}

export async function hasWebhook(db: Db, id: string): Promise<boolean> {
  const { rows } = await sql`select from webhooks where id = ${id}`.execute(db);
  return rows.length > 0;
}

export async function countWebhooks(db: Db): Promise<number> {
  const { rows } = await sql<{ total: number }>`select count(*)::integer as total from webhooks`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Returns one page of webhooks, by name. */
export async function listWebhooks(db: Db, page: PageQuery): Promise<WebhookRow[]> {
  const { rows } = await sql<WebhookRow>`${plannedForValues}
    select ${columns} from webhooks w join delivery_targets t on t.id = w.id
    order by lower(w.name), w.id limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows;
}

/** Counts webhooks so that no other transaction adds one before this one ends. */
export async function countBeforeInsert(tx: Tx): Promise<number> {
  await lockUntilCommit('webhooks').execute(tx);
  return countWebhooks(tx);
}

/** Locks the webhook until the transaction ends. Returns whether it exists. */
export async function lockWebhook(tx: Tx, id: string): Promise<boolean> {
  const { rows } = await sql`select from webhooks where id = ${id} for no key update`.execute(tx);
  return rows.length > 0;
}

/** Returns a webhook that the transaction has locked or created. */
export async function readWebhook(tx: Tx, id: string): Promise<WebhookRow> {
  const webhook = await findWebhook(tx, id);
  if (!webhook) throw new Error('a webhook that this transaction has locked is missing');
  return webhook;
}

/** Returns the id of the permission to read the audit log. */
export async function findReadingPermission(tx: Tx): Promise<string> {
  const { rows } = await sql<{ id: string }>`
    select id from permissions where name = 'audit_log.read'`.execute(tx);
  const [found] = rows;
  if (!found) throw new Error('the permission audit_log.read is missing: restart the service, which adds it');
  return found.id;
}

export type WrittenFields = Pick<
  Row<'webhooks'>,
  'name' | 'url' | 'events' | 'actions' | 'resource_types' | 'results' | 'personal'
>;

/** Deliveries of one webhook that are under way at once. */
const PARALLEL = 8;

export async function insertWebhook(
  { tx }: Entitled,
  webhook: WrittenFields & Pick<Row<'webhooks'>, 'id' | 'created_by_id'>,
): Promise<void> {
  await sql`
    insert into delivery_targets (id, kind, parallel) values (${webhook.id}, 'webhook', ${PARALLEL})`.execute(
    tx,
  );
  await tx.insertInto('webhooks').values(webhook).execute();
}

export async function updateWebhook({ tx }: Entitled, id: string, fields: WrittenFields): Promise<void> {
  await tx
    .updateTable('webhooks')
    .set(({ fn }) => ({ ...fields, updated_at: fn<Date>('now') }))
    .where('id', '=', id)
    .execute();
}

/** Pauses a webhook. Returns whether it was not paused. */
export async function pauseTarget(
  tx: Tx,
  id: string,
  reason: NonNullable<WebhookRow['paused_reason']>,
): Promise<boolean> {
  const { rows } = await sql`
    update delivery_targets set paused_at = now(), paused_reason = ${reason}
    where id = ${id} and paused_at is null returning id`.execute(tx);
  return rows.length > 0;
}

/** Ends a pause. `failures`: as after so many failures, so that a single delivery is tried first. */
export async function resumeTarget({ tx }: Entitled, id: string, failures: number): Promise<void> {
  await sql`
    update delivery_targets
    set paused_at = null, paused_reason = null, next_at = null, failures = ${failures}, failing_since = now()
    where id = ${id}`.execute(tx);
}

/** Deletes a webhook. What waits for it is deleted by the clean-up. */
export async function deleteWebhookRow({ tx }: Entitled, id: string): Promise<void> {
  await sql`delete from webhooks where id = ${id}`.execute(tx);
  await sql`delete from delivery_targets where id = ${id}`.execute(tx);
}

export async function insertSecret(
  { tx }: Entitled,
  secret: Pick<Row<'webhook_secrets'>, 'id' | 'webhook_id' | 'secret_sealed'>,
): Promise<SecretRow> {
  return tx
    .insertInto('webhook_secrets')
    .values(secret)
    .returning(['id', 'created_at', 'ends_at'])
    .executeTakeFirstOrThrow();
}

/** Ends the live secrets of a webhook after `seconds`, unless they end before. Returns how many live on. */
export async function endSecrets({ tx }: Entitled, webhookId: string, seconds: number): Promise<number> {
  await sql`
    update webhook_secrets set ends_at = least(ends_at, now() + make_interval(secs => ${seconds}))
    where webhook_id = ${webhookId} and (ends_at is null or ends_at > now())`.execute(tx);
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from webhook_secrets
    where webhook_id = ${webhookId} and (ends_at is null or ends_at > now())`.execute(tx);
  return rows[0]?.total ?? 0;
}

/** Deletes secrets that have ended. Returns their number. */
export async function deleteEndedSecrets(db: Db): Promise<number> {
  const { numAffectedRows = 0n } =
    await sql`delete from webhook_secrets where ends_at < now() - interval '1 day'`.execute(db);
  return Number(numAffectedRows);
}
