// Queues the mails that say that a webhook is paused: to its creator and to superusers. It must not compose them.
import { sql } from 'kysely';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Tx } from '../../schema/database.ts';
import type { PausedWebhook } from './worker.ts';

/** Nobody needs more people to know. */
const MOST_READERS = 20;

type PausedMail = {
  email: string;
  at: string;
  network: string;
  user_agent: null;
  webhook: string;
  reason: PausedWebhook['reason'];
};

/** `enqueue` queues the mail of one reader. */
export async function enqueuePausedMails(
  tx: Tx,
  enqueue: (tx: Tx, kind: 'webhook_paused', payload: PausedMail) => Promise<void>,
  { name, created_by_id, reason }: PausedWebhook,
): Promise<void> {
  const { rows } = await sql<{ email: string }>`${plannedForValues}
    select email from users where (is_superuser or id = ${created_by_id}::uuid) and is_active
    order by id = ${created_by_id}::uuid desc nulls last, created_at, id limit ${MOST_READERS}`.execute(tx);
  const at = new Date().toISOString();
  for (const { email } of rows)
    await enqueue(tx, 'webhook_paused', { email, at, network: '', user_agent: null, webhook: name, reason });
}
