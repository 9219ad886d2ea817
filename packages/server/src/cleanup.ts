// The periodic clean-up of each module. One instance runs it per slot.
// A failed part must not stop the others.
import { join } from 'node:path';
import type { Deps } from './deps.ts';
import { deleteEndedSecrets } from './modules/applications/secrets-store.ts';
import { forgetAbandonedSink } from './modules/audit/sink-store.ts';
import { deleteOldEntries } from './modules/audit/store.ts';
import { deleteOldChanges } from './modules/auth/email-change/store.ts';
import { deleteExpiredOneTimeTokens } from './modules/auth/one-time-tokens.ts';
import { deleteIdleDevices } from './modules/devices/service.ts';
import { deleteExpiredPending, deleteExpiredProofs } from './modules/factors/service.ts';
import { forgetUsedLogoutTokens } from './modules/identities/backchannel-store.ts';
import { removeDueAccounts } from './modules/leaving/due-deletions.ts';
import { finishErasures } from './modules/leaving/erasure.ts';
import { deleteIdleAttempts } from './modules/lockout/service.ts';
import { deleteExpiredClientTokens } from './modules/oauth/store.ts';
import { removeEndedDeviceRequests } from './modules/openid/device/store.ts';
import { removeEndedRequests } from './modules/openid/interactions/service.ts';
import { endLostAccess } from './modules/openid/notices/lost-access.ts';
import {
  deleteOldNotices,
  deleteToldSessions,
  noticeExpiredSessions,
} from './modules/openid/notices/rows.ts';
import { removeEndedGrants } from './modules/openid/tokens/ended-rows.ts';
import { deleteEndedTokens } from './modules/personal-tokens/store.ts';
import { forgetUsedProofs } from './modules/proofs/service.ts';
import { removeEndedSignIns } from './modules/provider-sign-in/store.ts';
import { deleteEndedKeys } from './modules/service-accounts/keys-store.ts';
import { deleteOldSessions, removeEndedRows } from './modules/sessions/ended-rows.ts';
import { endSessionsOfRevokedKeys } from './modules/sessions/keys/revocation.ts';
import { keyRetentionSeconds } from './modules/sessions/keys/rotation.ts';
import { applicationKeys, deleteRetiredKeys, sessionKeys } from './modules/sessions/keys/store.ts';
import { forgetFormerUsers, renewUserMarks } from './modules/users/lists/page-marks.ts';
import { renewRoleHolders } from './modules/users/role-holders-store.ts';
import { removeUnverifiedAccounts } from './modules/users/service.ts';
import { deleteOrphans, deleteSettled, giveUpPaused } from './modules/webhooks/deliveries/store.ts';
import { deleteEndedSecrets as deleteEndedWebhookSecrets } from './modules/webhooks/store.ts';
import { deleteOldIdempotencyKeys } from './platform/http/plugins/idempotency.ts';
import { deleteExpiredLimits } from './platform/limits/rate-limit.ts';
import { deleteOldOutbox, healOutbox } from './platform/mail/outbox.ts';
import { deleteOldOutboxFiles } from './platform/mail/outbox-folder.ts';

/** Ended sessions are kept for a month, for investigations. */
const ENDED_SESSION_DAYS = 30;
/** Both links of a change have ended by then, also of mails that could not be sent for a day. */
const EMAIL_CHANGE_DAYS = 30;
/** Ended API keys are listed for a month. Revoked secrets of applications are kept as long, in no list. */
const ENDED_KEY_DAYS = 30;
/** Failed attempts are forgotten after a day without another one. The duration of a lock is a setting. */
const IDLE_ATTEMPT_HOURS = 24;
/** A service may present an ID token of a former key when it signs somebody out. */
const APPLICATION_KEY_SECONDS = 30 * 86_400;
/** Without any instance that has AUDIT_SINK, entries are queued for so long. */
const ABANDONED_SINK_DAYS = 7;
/** For sent and given-up mails, as rows and as files. */
const OLD_MAIL_DAYS = 7;

/** For settled logout notices: at least as long as LOGOUT_NOTICE_HOURS may be. */
const OLD_NOTICE_DAYS = 7;

/** For events that webhooks got, and for those that were given up. */
const webhookDays = { sentDays: 7, deadDays: 30 };
/** While a webhook is paused, events wait for so long. */
const PAUSED_WEBHOOK_DAYS = 7;
/** Some hundred thousand deliveries. */
const DELIVERIES_BUDGET_MS = 10_000;

const USER_MARKS_BUDGET_MS = 3_000;
/** Some hundred thousand audit entries. */
const ERASURES_BUDGET_MS = 60_000;

/** Runs all parts and logs what they removed. Rejects at the end if some failed. */
export async function cleanUp(deps: Deps): Promise<void> {
  const { db, pool, settings, log } = deps;
  const parts: Record<string, () => Promise<unknown>> = {
    unverified_accounts: () => removeUnverifiedAccounts(deps, settings.unverifiedAccountHours),
    deleted_accounts: () => removeDueAccounts(deps),
    erasures: () => finishErasures(deps, ERASURES_BUDGET_MS),
    sessions: () => deleteOldSessions(db, ENDED_SESSION_DAYS),
    one_time_tokens: () => deleteExpiredOneTimeTokens(db),
    email_changes: () => deleteOldChanges(db, EMAIL_CHANGE_DAYS),
    pending_sign_ins: () => deleteExpiredPending(db),
    proofs: () => deleteExpiredProofs(db),
    devices: () => deleteIdleDevices(db, settings.knownDeviceDays),
    login_attempts: () => deleteIdleAttempts(db, IDLE_ATTEMPT_HOURS),
    former_users: () => forgetFormerUsers(db, USER_MARKS_BUDGET_MS),
    sessions_of_revoked_keys: async () => (await endSessionsOfRevokedKeys(db)).ended,
    signing_keys: () => deleteRetiredKeys(db, sessionKeys, keyRetentionSeconds(settings)),
    application_keys: () => deleteRetiredApplicationKeys(db),
    application_secrets: () => deleteEndedSecrets(db, ENDED_KEY_DAYS),
    api_keys: () => deleteEndedKeys(db, ENDED_KEY_DAYS),
    personal_tokens: () => deleteEndedTokens(db, ENDED_KEY_DAYS),
    audit_logs: async () => (settings.auditRetentionDays === 0 ? 0 : removeOldEntries(deps)),
    audit_sink: async () => settings.auditSink === undefined && forgetAbandonedSink(db, ABANDONED_SINK_DAYS),
    idempotency_keys: () => deleteOldIdempotencyKeys(pool),
    rate_limits: () => deleteExpiredLimits(pool),
    logout_notices: () => deleteOldNotices(db, OLD_NOTICE_DAYS, NOTICES_BUDGET_MS),
    application_sessions: () => deleteToldSessions(db, NOTICES_BUDGET_MS),
    webhook_secrets: () => deleteEndedWebhookSecrets(db),
    deliveries_of_paused: () => giveUpPaused(db, PAUSED_WEBHOOK_DAYS, DELIVERIES_BUDGET_MS),
    deliveries: () => deleteSettled(db, webhookDays, DELIVERIES_BUDGET_MS),
    deliveries_of_none: () => deleteOrphans(db, DELIVERIES_BUDGET_MS),
    outbox_put_off: () => healOutbox(pool),
    outbox_rows: () => deleteOldOutbox(pool, OLD_MAIL_DAYS),
    outbox_files: () => deleteOldOutboxFiles(join(settings.dataDir, 'outbox'), OLD_MAIL_DAYS),
  };
  const removed: Record<string, unknown> = {};
  const failed: string[] = [];
  for (const [name, run] of Object.entries(parts)) {
    try {
      removed[name] = await run();
    } catch (error) {
      failed.push(name);
      log.error({ err: error, part: name }, 'clean-up failed and will be retried at its next run');
    }
  }
  log.info({ removed }, 'clean-up done');
  if (failed.length > 0) throw new Error(`these parts of the clean-up failed: ${failed.join(', ')}`);
}

/** Sealed entries go with their whole seal. What is not sealed yet will be, unless sealing is off. */
async function removeOldEntries({ db, settings, sealer }: Deps): Promise<number> {
  const sealed = await sealer.removeOld(settings.auditRetentionDays);
  return settings.auditSealing ? sealed : sealed + (await deleteOldEntries(db, settings.auditRetentionDays));
}

async function deleteRetiredApplicationKeys(db: Deps['db']): Promise<string[]> {
  const deleted: string[] = [];
  for (const family of applicationKeys)
    deleted.push(...(await deleteRetiredKeys(db, family, APPLICATION_KEY_SECONDS)));
  return deleted;
}

// Together shorter than a stop waits for running jobs (scheduler.ts), and at most a tenth of one connection's time.
const SESSION_ROWS_BUDGET_MS = 5_000;
const CLIENT_TOKENS_BUDGET_MS = 1_000;
const GRANTS_BUDGET_MS = 1_000;
const NOTICES_BUDGET_MS = 1_000;
const REQUESTS_BUDGET_MS = 1_000;
const PROOFS_BUDGET_MS = 1_000;

/** Returns the minutes between two runs of `removeSessionRows`, which limits the rows that one session accumulates. */
export const sessionRowsMinutes = (settings: { cleanupIntervalMinutes: number }): number =>
  Math.min(1, settings.cleanupIntervalMinutes);

/**
 * Tells applications of sessions that have expired, and deletes rows of sessions, of client tokens, of what applications asked
 * for and were granted, of sign-ins that were begun at providers, and of proofs and logout tokens that count once. It is a separate job, so
 * that the rows of one account never delay the rest of the clean-up.
 */
export async function removeSessionRows({ db }: Deps): Promise<void> {
  await deleteExpiredClientTokens(db, CLIENT_TOKENS_BUDGET_MS);
  await noticeExpiredSessions(db, NOTICES_BUDGET_MS);
  await removeEndedGrants(db, GRANTS_BUDGET_MS);
  await removeEndedRequests(db, REQUESTS_BUDGET_MS);
  await removeEndedDeviceRequests(db, REQUESTS_BUDGET_MS);
  await removeEndedSignIns(db, REQUESTS_BUDGET_MS);
  await forgetUsedProofs(db, PROOFS_BUDGET_MS);
  await forgetUsedLogoutTokens(db, PROOFS_BUDGET_MS);
  await removeEndedRows(db, SESSION_ROWS_BUDGET_MS);
}

const LOST_ACCESS_BUDGET_MS = 5_000;

/** Ends what people have at applications that they may no longer use. A separate job, because it has to be quick. */
export async function endLostAccessOfAll(deps: Deps): Promise<void> {
  await endLostAccess(deps, LOST_ACCESS_BUDGET_MS);
}

/**
 * Keeps pages in the middle of many users and the numbers of holders of roles fast. A separate job, because it follows every
 * bulk import.
 */
export async function renewPositions({ db }: Deps): Promise<void> {
  await renewRoleHolders(db);
  await renewUserMarks(db, USER_MARKS_BUDGET_MS);
}
