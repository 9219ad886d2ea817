// Rules of webhooks as records: who may write one, and what a change of one does.
// The text of a secret leaves this file only in the response that creates it.
import { isDeepStrictEqual } from 'node:util';
import type { Pagination } from '@castellan/contract/common';
import {
  type CreateWebhookBody,
  type CreateWebhookSecretBody,
  type NewWebhook,
  type NewWebhookSecret,
  OVERLAP_SECONDS,
  type UpdateWebhookBody,
  type Webhook,
  type WebhookListQuery,
} from '@castellan/contract/webhooks';
import { PROBED_AFTER } from '../../platform/delivery/held.ts';
import { hastenWaiting } from '../../platform/delivery/targets-store.ts';
import { AppError } from '../../platform/errors.ts';
import type { Settle } from '../../platform/http/plugins/idempotency.ts';
import { requireVersion, type Versioned } from '../../platform/http/record-version.ts';
import { newId } from '../../platform/ids.ts';
import { paginationOf } from '../../platform/pages.ts';
import { authorIdOf, type Caller, requireLasting } from '../authz/caller.ts';
import { change, type Entitled, type Entry, lockSubjects } from '../authz/change.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { changedFields, newFields, type WebhookFields, writtenFields } from './fields.ts';
import {
  requireMayLetRead,
  requireWebhook,
  shownFields,
  toWebhook,
  versionedWebhook,
  type WebhookDeps,
  webhookEntry,
} from './record.ts';
import {
  countBeforeInsert,
  countWebhooks,
  deleteWebhookRow,
  endSecrets,
  findWebhook,
  insertSecret,
  insertWebhook,
  listWebhooks as listRows,
  pauseTarget,
  readWebhook,
  resumeTarget,
  updateWebhook as updateRow,
  type WebhookRow,
} from './store.ts';

/** Each entry of the audit log is compared with all of them when it is written. */
const MAX_WEBHOOKS = 50;
/** Enough to change one while another is in use. Each signs every event. */
const MAX_LIVE_SECRETS = 3;

/** Returns one page of webhooks, by name. */
export async function listWebhooks(
  { db }: WebhookDeps,
  query: WebhookListQuery,
): Promise<{ data: Webhook[]; pagination: Pagination }> {
  const [total, rows] = await Promise.all([countWebhooks(db), listRows(db, query)]);
  return { data: rows.map(toWebhook), pagination: paginationOf(query, total) };
}

export async function getWebhook({ db }: WebhookDeps, id: string): Promise<Versioned<Webhook>> {
  const webhook = await findWebhook(db, id);
  if (!webhook) throw new AppError('webhook_not_found');
  return versionedWebhook(webhook);
}

/** Creates a webhook with its first secret. Throws 422, 403 unless the caller may read the audit log, 409 for one too many. */
export async function createWebhook(
  deps: WebhookDeps,
  caller: Caller,
  body: CreateWebhookBody,
  settle: Settle<Versioned<NewWebhook>>,
): Promise<Versioned<NewWebhook>> {
  const fields = changedFields(newFields, body, deps.settings.outboundDeny);
  const id = newId();
  return change(
    deps,
    caller,
    async (locking) => {
      const { tx } = locking;
      await lockSubjects(locking, {});
      const entitled = await locking.entitle();
      await requireMayLetRead(entitled);
      if ((await countBeforeInsert(tx)) >= MAX_WEBHOOKS) throw new AppError('too_many_webhooks');
      await insertWebhook(entitled, { id, created_by_id: authorIdOf(caller), ...writtenFields(fields) });
      const { secret } = await issueSecret(deps, entitled, id);
      const row = await readWebhook(tx, id);
      const entry = webhookEntry('webhook_created', row, { before: null, after: shownFields(row) });
      const { record, version } = versionedWebhook(row);
      return entitled.done({ record: { ...record, secret }, version }, sameAccess, entry);
    },
    settle,
  );
}

async function issueSecret(
  { webhookVault }: WebhookDeps,
  entitled: Entitled,
  webhookId: string,
): Promise<NewWebhookSecret & { secret: string }> {
  const id = newId();
  const { text, sealed } = webhookVault.create(id);
  const row = await insertSecret(entitled, { id, webhook_id: webhookId, secret_sealed: sealed });
  return {
    id,
    created_at: row.created_at.toISOString(),
    ends_at: row.ends_at?.toISOString() ?? null,
    secret: text,
  };
}

const fieldsOf = ({ name, url, events, resource_types, results, personal }: WebhookRow): WebhookFields => ({
  name,
  url,
  events,
  resource_types,
  results,
  personal,
});

/**
 * Changes a webhook, pauses or resumes it. Writes nothing if every field already has its value. Throws 422, 404, 412, 403 for what
 * shows somebody more of the audit log, unless the caller may read it.
 */
export async function updateWebhook(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
  { status, ...given }: UpdateWebhookBody,
): Promise<Versioned<Webhook>> {
  return change(deps, caller, async (locking) => {
    const { entitled, webhook } = await requireWebhook(locking, id);
    await requireVersion(caller.ifMatch, webhook.version, () => toWebhook(webhook));
    const before = fieldsOf(webhook);
    const after = changedFields(before, given, deps.settings.outboundDeny);
    const isPaused = webhook.paused_at !== null;
    const resumes = status === 'active' && isPaused;
    const pauses = status === 'paused' && !isPaused;
    const isChanged = !isDeepStrictEqual(after, before);
    if (!isChanged && !resumes && !pauses) return entitled.unchanged(versionedWebhook(webhook));
    if (resumes || !isDeepStrictEqual({ ...after, name: '' }, { ...before, name: '' }))
      await requireMayLetRead(entitled);
    await updateRow(entitled, id, writtenFields(after));
    if (pauses) await pauseTarget(locking.tx, id, 'requested');
    if (resumes) {
      await resumeTarget(entitled, id, PROBED_AFTER);
      // Otherwise the probe would wait for as long as the last failures say, up to six hours.
      await hastenWaiting(locking.tx, id);
    }
    const row = await readWebhook(locking.tx, id);
    const updated = webhookEntry('webhook_updated', row, {
      before: shownFields(webhook),
      after: resumes ? { ...shownFields(row), status: 'paused' } : shownFields(row),
      details: after.url === before.url ? {} : { url_changed: true },
    });
    const resumed = webhookEntry('webhook_resumed', row, { details: { reason: webhook.paused_reason } });
    if (!resumes) return entitled.done(versionedWebhook(row), sameAccess, updated);
    const entries: readonly [Entry, ...Entry[]] = isChanged ? [updated, resumed] : [resumed];
    return entitled.done(versionedWebhook(row), sameAccess, ...entries);
  });
}

/** Deletes a webhook, and with it what waits. Returns the deleted record. Throws 404, 412. */
export async function deleteWebhook(deps: WebhookDeps, caller: Caller, id: string): Promise<Webhook> {
  return change(deps, caller, async (locking) => {
    const { entitled, webhook } = await requireWebhook(locking, id);
    await requireVersion(caller.ifMatch, webhook.version, () => toWebhook(webhook));
    await deleteWebhookRow(entitled, id);
    const entry = webhookEntry('webhook_deleted', webhook, { before: shownFields(webhook), after: null });
    return entitled.done(toWebhook(webhook), sameAccess, entry);
  });
}

/** Creates a further secret; the present ones end after the overlap. Throws 404, 409 if three would live. */
export async function createSecret(
  deps: WebhookDeps,
  caller: Caller,
  id: string,
  {
    body: { overlap_seconds = OVERLAP_SECONDS },
    settle,
  }: { body: CreateWebhookSecretBody; settle: Settle<NewWebhookSecret> },
): Promise<NewWebhookSecret> {
  return change(
    deps,
    caller,
    async (locking) => {
      const { entitled, webhook } = await requireWebhook(locking, id);
      requireLasting(caller);
      if ((await endSecrets(entitled, id, overlap_seconds)) >= MAX_LIVE_SECRETS)
        throw new AppError('too_many_secrets', {
          detail:
            'A webhook has at most 3 live secrets. Wait until one ends, or set overlap_seconds to 0, which ends them at once.',
        });
      const secret = await issueSecret(deps, entitled, id);
      const entry = webhookEntry('webhook_secret_created', webhook, {
        details: { secret_id: secret.id, overlap_seconds },
      });
      return entitled.done<NewWebhookSecret>(secret, sameAccess, entry);
    },
    settle,
  );
}
