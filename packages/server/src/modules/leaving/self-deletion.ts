// Deletes the caller's own account: it is not active at once, and the clean-up removes it when it is due.
// It must not remove anything: until then, the owner can keep the account.
import type { DeleteMeBody } from '@castellan/contract/leaving';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { networkOf } from '../../platform/security/client-address.ts';
import type { Tx } from '../../schema/database.ts';
import { recordChange } from '../audit/service.ts';
import type { LoginDeps } from '../auth/login.ts';
import type { AccountMail } from '../auth/mails.ts';
import { endLinksButUndo, lifetimeMinutes } from '../auth/one-time-tokens.ts';
import { requireCurrentPassword } from '../auth/password-change.ts';
import type { UserCaller } from '../authz/caller.ts';
import { type FreshnessDeps, hasFactor, requireFresh } from '../factors/service.ts';
import { findPasswordHolder, lockEpoch, type PasswordHolder } from '../passwords/service.ts';
import { endSessionsOfUsers, lockLiveSession } from '../sessions/service.ts';
import { requireSuperuserWithout } from '../users/protection.ts';
import { readRecord } from '../users/service.ts';
import { planDeletion } from './store.ts';

export type SelfDeletionDeps = LoginDeps &
  FreshnessDeps & { accountMail: AccountMail; settings: { selfDeletionDays: number | null } };

/**
 * Deactivates the caller's account, which ends everything that an administrator's deactivation ends. Returns when the account is due.
 * Throws, in this order, `self_deletion_off` or `step_up_required` (403), `invalid_input` (400, no password), `wrong_current_password` (400) or
 * `account_locked` (422), and `last_superuser` (409).
 */
export async function deleteOwnAccount(
  deps: SelfDeletionDeps,
  caller: UserCaller,
  { current_password: password, ...rest }: DeleteMeBody,
): Promise<{ deletion_due_at: string }> {
  allHandled(rest);
  const days = requireDays(deps);
  const { client, principal } = caller;
  const holder = await findPasswordHolder(deps.db, principal.id);
  if (!holder) throw new AppError('token_revoked');
  await requireProof(deps.db, deps, caller, holder);
  if (holder.password_hash !== null)
    await requireCurrentPassword(deps, client, {
      holder,
      password: requireGiven(password),
      refusalOf: (reason) => ({
        action: 'password_refused',
        actorId: holder.user_id,
        resourceId: holder.user_id,
        details: { email: holder.email, attempted: 'self_deletion_requested', reason },
      }),
    });
  const due = await inTransaction(deps.db, async (tx) => {
    await lockEpoch(tx, principal.id);
    // The session may have ended while the password was verified: with it ends the right to do this.
    if (!(await lockLiveSession(tx, principal.id, principal.session.id))) throw new AppError('token_revoked');
    await requireProof(tx, deps, caller, holder);
    return plan(tx, deps, caller, days);
  });
  deps.accountMail.wake();
  return { deletion_due_at: due.toISOString() };
}

/** Returns SELF_DELETION_DAYS. Throws `self_deletion_off` (403). */
export function requireDays({ settings }: { settings: { selfDeletionDays: number | null } }): number {
  if (settings.selfDeletionDays === null) throw new AppError('self_deletion_off');
  return settings.selfDeletionDays;
}

function requireGiven(password: string | undefined): string {
  if (password !== undefined) return password;
  throw new AppError('invalid_input', {
    detail: 'current_password must be sent, because the account has a password.',
    errors: [{ field: 'current_password', code: 'required', message: 'is required' }],
  });
}

/**
 * The password alone does not prove the owner of an account with a second factor, and there may be none. Throws
 * `step_up_required` (403).
 */
async function requireProof(
  db: SelfDeletionDeps['db'],
  deps: FreshnessDeps,
  { principal }: UserCaller,
  holder: PasswordHolder,
): Promise<void> {
  if (holder.password_hash === null || (await hasFactor(db, principal.id)))
    await requireFresh(db, deps, principal);
}

async function plan(
  tx: Tx,
  { accountMail, auditLog }: SelfDeletionDeps,
  { client, principal: { id } }: UserCaller,
  days: number,
): Promise<Date> {
  const before = await readRecord(tx, id);
  // A hijacker could otherwise change the address and then remove the account with the link that undoes the change.
  const due = await planDeletion(tx, id, { days, undoMinutes: lifetimeMinutes.revert_email });
  await requireSuperuserWithout(tx, before);
  await endLinksButUndo(tx, id);
  const ended = await endSessionsOfUsers(tx, [id], 'deactivated');
  await accountMail.enqueue(tx, 'deletion_planned', {
    email: before.email,
    at: new Date().toISOString(),
    network: networkOf(client.address),
    user_agent: client.userAgent,
  });
  await recordChange(tx, auditLog, client, {
    action: 'self_deletion_requested',
    actorId: id,
    resourceType: 'user',
    resourceId: id,
    details: {
      email: before.email,
      deletion_due_at: due.toISOString(),
      sessions_ended: ended.get(id) ?? 0,
    },
  });
  return due;
}
