// Shared by the operations on webhooks: presents one, locks one for a change, and says who may let one read the audit log.
// It must not change a webhook, and nothing here opens a secret.
import type { Permission } from '@castellan/contract/permissions';
import type { Webhook } from '@castellan/contract/webhooks';
import { AppError } from '../../platform/errors.ts';
import type { Versioned } from '../../platform/http/record-version.ts';
import type { OutboundSettings } from '../../platform/outbound/request.ts';
import { type Caller, requireLasting } from '../authz/caller.ts';
import { type ChangeDeps, type Entitled, type Entry, type Locking, lockSubjects } from '../authz/change.ts';
import { requireMayGrantPermissions } from '../authz/delegation.ts';
import { requireMayUse } from '../authz/requirements/call.ts';
import { findReadingPermission, lockWebhook, readWebhook, type WebhookRow } from './store.ts';
import type { WebhookVault } from './vault.ts';

export type WebhookDeps = ChangeDeps & {
  webhookVault: WebhookVault;
  settings: OutboundSettings;
};

/** PostgreSQL writes times inside JSON with its own offset. */
const iso = (time: string): string => new Date(time).toISOString();

export function toWebhook({
  version: _version,
  paused_at,
  failures,
  secrets,
  created_at,
  updated_at,
  oldest_waiting_at,
  last_success_at,
  ...row
}: WebhookRow): Webhook {
  return {
    ...row,
    status: paused_at !== null ? 'paused' : failures > 0 ? 'failing' : 'active',
    oldest_waiting_at: oldest_waiting_at?.toISOString() ?? null,
    last_success_at: last_success_at?.toISOString() ?? null,
    secrets: secrets.map((one) => ({
      id: one.id,
      created_at: iso(one.created_at),
      ends_at: one.ends_at === null ? null : iso(one.ends_at),
    })),
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  };
}

export const versionedWebhook = (row: WebhookRow): Versioned<Webhook> => ({
  record: toWebhook(row),
  version: row.version,
});

/** Returns what the audit log shows of a webhook. Not the whole address: some have a secret in their path. */
export const shownFields = ({
  name,
  url,
  events,
  resource_types,
  results,
  personal,
  paused_at,
}: WebhookRow) => ({
  name,
  origin: new URL(url).origin,
  events,
  resource_types,
  results,
  personal,
  status: paused_at === null ? 'active' : 'paused',
});

/** Returns the audit entry of an event of a webhook. */
export const webhookEntry = (
  action: Entry['action'],
  { id, name }: Pick<WebhookRow, 'id' | 'name'>,
  change: Pick<Entry, 'before' | 'after' | 'details'>,
): Entry => ({ action, resourceType: 'webhook', resourceId: id, resourceName: name, ...change });

/** Locks the caller and the webhook until the transaction ends. `also`: permissions besides that of the route. Throws, in order, 404, then 401 or 403. */
export async function requireWebhook(
  locking: Locking,
  id: string,
  also: readonly Permission[] = [],
): Promise<{ entitled: Entitled; webhook: WebhookRow }> {
  await lockSubjects(locking, {});
  if (!(await lockWebhook(locking.tx, id))) throw new AppError('webhook_not_found');
  const entitled = await locking.entitle(also);
  // A separate statement, so that it sees what was committed while the locks were awaited.
  return { entitled, webhook: await readWebhook(locking.tx, id) };
}

/** Throws `permission_denied` or `step_up_required` (403) unless the caller may read what events show. */
export const requireMayReadEvents = (caller: Caller): void => requireMayUse(caller, 'audit_log.read');

/**
 * Requires that the caller may read the audit log: a webhook reads it from now on, also when the caller no longer may. Throws
 * `privilege_escalation`, and
 * `user_session_required` for a personal access token.
 */
export async function requireMayLetRead(entitled: Entitled): Promise<void> {
  requireLasting(entitled.caller);
  await requireMayGrantPermissions(entitled, [await findReadingPermission(entitled.tx)]);
}
