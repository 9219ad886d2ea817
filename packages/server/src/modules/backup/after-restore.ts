// Makes a restored database safe to use: what ended after its backup was made must not live again. It runs in the transaction
// of the restore, on the newest schema.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Logger } from '../../platform/logging/log.ts';
import { openPrivateKey } from '../../platform/security/signing-keys.ts';
import type { Tx } from '../../schema/database.ts';
import { recordChange } from '../audit/service.ts';
import { forgetFeed } from '../feed/store.ts';

export type RestoreChoices = {
  /**
   * End every session, every personal access token, all trust in devices, every mailed link, waiting mail and signing key; or keep them, if this key decrypts the signing keys of the
   * backup.
   */
  sessions: 'end' | { secretKey: Buffer };
  /** Revokes every API key and every secret of an application. */
  revokeApiKeys: boolean;
};

export type Ended = {
  sessions: number;
  links: number;
  mails: number;
  /** Accounts that their owners deleted, and may have kept since. */
  plannedDeletions: number;
  revokedApiKeys: number;
  validApiKeys: number;
  revokedSecrets: number;
  validSecrets: number;
  /** Unused in the backup: some may have been used since. */
  recoveryCodes: number;
};

/** Throws an Error for the operator if the sessions cannot be kept. */
export async function settleRestored(
  tx: Tx,
  log: Logger,
  choices: RestoreChoices,
  backupTime: string,
): Promise<Ended> {
  // An instance that knows the graph of the lost database, or of this one later than the backup, must read it again.
  await sql`delete from authz_changes`.execute(tx);
  await sql`update authz_version set version = version + 1, stamp = gen_random_uuid()`.execute(tx);
  // The next seal begins a new log: the database lacks what was sealed after the backup.
  await sql`update audit_log_head set is_restored = true`.execute(tx);
  // What the backup still had to deliver may have been delivered since, and no instance of it lives.
  await sql`truncate deliveries, delivery_attempts, webhook_replays`.execute(tx);
  await sql`update delivery_targets set holder = null, locked_until = null`.execute(tx);
  const ended =
    choices.sessions === 'end'
      ? { ...(await endSignIns(tx)), plannedDeletions: await putOffDeletions(tx) }
      : { sessions: 0, links: 0, mails: 0, plannedDeletions: 0 };
  if (choices.sessions !== 'end') await requireKeys(tx, choices.sessions.secretKey);
  const revokedApiKeys = choices.revokeApiKeys ? await revokeApiKeys(tx) : 0;
  const revokedSecrets = choices.revokeApiKeys ? await revokeSecrets(tx) : 0;
  await recordChange(tx, { log, writer: null }, null, {
    action: 'database_restored',
    actorId: null,
    resourceType: 'database',
    resourceId: '',
    details: {
      via: 'command_line',
      backup_time: backupTime,
      sessions_ended: choices.sessions === 'end',
      api_keys_revoked: choices.revokeApiKeys,
    },
  });
  // What was changed above is noted as well, so this is last.
  await forgetFeed(tx);
  return {
    ...ended,
    revokedApiKeys,
    validApiKeys: await countApiKeys(tx),
    revokedSecrets,
    validSecrets: await countSecrets(tx),
    recoveryCodes: await countRecoveryCodes(tx),
  };
}

async function endSignIns(tx: Tx): Promise<Pick<Ended, 'sessions' | 'links' | 'mails'>> {
  // First: what ends below is told anew, and what the backup still had to tell may have been told since.
  await sql`truncate logout_notices, logout_backlog`.execute(tx);
  const { numAffectedRows: sessions } = await sql`
    update sessions set revoked_at = now(), revoked_reason = 'database_restored'
    where revoked_at is null and expires_at > now()`.execute(tx);
  await sql`update personal_tokens set revoked_at = now() where revoked_at is null`.execute(tx);
  await sql`delete from live_session_counts`.execute(tx);
  await sql`delete from factor_user_counts`.execute(tx);
  await sql`
    truncate session_tokens, client_tokens, application_tokens, application_requests, device_requests, provider_sign_ins`.execute(
    tx,
  );
  await sql`
    update access_grants set revoked_at = now(), revoked_reason = 'database_restored' where revoked_at is null`.execute(
    tx,
  );
  // Trust that has ended since ends again, and so does every sign-in that waits for its second factor.
  await sql`update devices set trusted_until = null, trusted_epoch = null where trusted_until is not null`.execute(
    tx,
  );
  await sql`delete from pending_sign_ins`.execute(tx);
  const { numAffectedRows: links } = await sql`
    delete from one_time_tokens where used_at is null and expires_at > now()`.execute(tx);
  // A link is made when its mail is written, so a mail that had been sent would bring a second one.
  const { numAffectedRows: mails } = await sql`
    delete from outbox where sent_at is null and failed_at is null`.execute(tx);
  // A key that was revoked since may be in wrong hands. The next start makes new ones.
  await sql`
    insert into revoked_signing_keys (key_id, swept_at)
    select key_id, now() from signing_keys union all select key_id, now() from application_keys
    on conflict do nothing`.execute(tx);
  await sql`delete from signing_keys`.execute(tx);
  await sql`delete from application_keys`.execute(tx);
  return { sessions: Number(sessions ?? 0), links: Number(links ?? 0), mails: Number(mails ?? 0) };
}

/** How long an account stays after a restore at least, so that its owner can ask for it: the link that keeps it is gone. */
const DAYS_BEFORE_REMOVAL = 7;

/**
 * Puts off the removal of accounts whose owners deleted them: the first clean-up would remove those that are due, also those that
 * their owners have kept since. Returns how many there are.
 */
async function putOffDeletions(tx: Tx): Promise<number> {
  const { numAffectedRows } = await sql`
    update users set deletion_due_at = greatest(deletion_due_at, now() + make_interval(days => ${DAYS_BEFORE_REMOVAL}))
    where deletion_due_at is not null`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

async function requireKeys(tx: Tx, secretKey: Buffer): Promise<void> {
  const { rows } = await sql<{ key_id: string; private_key_sealed: Buffer }>`
    select key_id, private_key_sealed from signing_keys
    union all select key_id, private_key_sealed from application_keys`.execute(tx);
  for (const { key_id, private_key_sealed } of rows) openPrivateKey(secretKey, key_id, private_key_sealed);
}

async function revokeApiKeys(tx: Tx): Promise<number> {
  const { numAffectedRows } = await sql`
    update api_keys set revoked_at = now() where revoked_at is null`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

async function revokeSecrets(tx: Tx): Promise<number> {
  const { numAffectedRows } = await sql`
    update application_secrets set revoked_at = now() where revoked_at is null`.execute(tx);
  return Number(numAffectedRows ?? 0);
}

async function countRecoveryCodes(tx: Tx): Promise<number> {
  const { count } = onlyRow(
    await sql<{ count: number }>`
      select count(*)::integer as count from recovery_codes where used_at is null`.execute(tx),
  );
  return count;
}

async function countApiKeys(tx: Tx): Promise<number> {
  const { count } = onlyRow(
    await sql<{ count: number }>`
      select count(*)::integer as count from api_keys
      where revoked_at is null and (expires_at is null or expires_at > now())`.execute(tx),
  );
  return count;
}

async function countSecrets(tx: Tx): Promise<number> {
  const { count } = onlyRow(
    await sql<{ count: number }>`
      select count(*)::integer as count from application_secrets
      where revoked_at is null and (expires_at is null or expires_at > now())`.execute(tx),
  );
  return count;
}
