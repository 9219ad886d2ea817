// What the periodic sweep removes, module by module. One instance runs it per slot.
// A part that fails does not keep the others from running.
import { join } from 'node:path';
import type { Deps } from './deps.ts';
import { deleteOldEntries } from './modules/audit/store.ts';
import { deleteIdleAttempts } from './modules/auth/lockout-store.ts';
import { deleteExpiredOneTimeTokens } from './modules/auth/one-time-tokens.ts';
import { deleteRetiredKeys } from './modules/sessions/key-store.ts';
import { deleteDeadSessions } from './modules/sessions/store.ts';
import { refreshLifetimeSeconds } from './modules/sessions/tokens.ts';
import { removeUnverifiedAccounts } from './modules/users/service.ts';
import { deleteOldIdempotencyKeys } from './platform/http/idempotency.ts';
import { deleteExpiredLimits } from './platform/limits/rate-limit.ts';
import { deleteOldOutbox } from './platform/mail/outbox.ts';
import { deleteOldOutboxFiles } from './platform/mail/outbox-folder.ts';

/** Ended sessions stay readable for a month, for those who ask what happened. */
const ENDED_SESSION_DAYS = 30;
/** Failed attempts are forgotten after a day without another; a lock lasts by its own setting. */
const IDLE_ATTEMPT_HOURS = 24;
/** Sent and given-up mails, as rows and as files. */
const OLD_MAIL_DAYS = 7;

export async function cleanUp(deps: Deps): Promise<void> {
  const { db, pool, settings, log } = deps;
  const parts: Record<string, () => Promise<unknown>> = {
    unverified_accounts: () => removeUnverifiedAccounts(deps, settings.unverifiedAccountHours),
    sessions: () => deleteDeadSessions(db, ENDED_SESSION_DAYS),
    one_time_tokens: () => deleteExpiredOneTimeTokens(db),
    login_attempts: () => deleteIdleAttempts(db, IDLE_ATTEMPT_HOURS),
    signing_keys: () => deleteRetiredKeys(db, refreshLifetimeSeconds(settings)),
    audit_logs: async () =>
      settings.auditRetentionDays === 0 ? 0 : deleteOldEntries(db, settings.auditRetentionDays),
    idempotency_keys: () => deleteOldIdempotencyKeys(pool),
    rate_limits: () => deleteExpiredLimits(pool),
    outbox_rows: () => deleteOldOutbox(pool, OLD_MAIL_DAYS),
    outbox_files: () => deleteOldOutboxFiles(join(settings.dataDir, 'outbox'), OLD_MAIL_DAYS),
  };
  const removed: Record<string, unknown> = {};
  for (const [name, run] of Object.entries(parts)) {
    try {
      removed[name] = await run();
    } catch (error) {
      log.error({ err: error, part: name }, 'clean-up failed; it is tried again at the next slot');
    }
  }
  log.info({ removed }, 'clean-up done');
}
