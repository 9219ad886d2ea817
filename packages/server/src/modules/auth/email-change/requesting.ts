// Requests a change of one's own email address: a mail with a link goes to the new address, and a warning to the present one.
// It must not look up the new address: the answer, its time and the audit log say the same whether an account has it.
import type { ChangeEmailBody } from '@castellan/contract/auth';
import { AppError } from '../../../platform/errors.ts';
import { allHandled } from '../../../platform/fields.ts';
import { overLimit } from '../../../platform/http/plugins/rate-limits.ts';
import { newId } from '../../../platform/ids.ts';
import { requireEmail } from '../../../platform/security/email.ts';
import type { Tx } from '../../../schema/database.ts';
import { inRecordedTransaction, recordBounded } from '../../audit/service.ts';
import type { UserCaller } from '../../authz/caller.ts';
import { type FreshnessDeps, hasFactor, requireFresh } from '../../factors/service.ts';
import { findPasswordHolder, type LockedHolder, lockEpoch } from '../../passwords/service.ts';
import { refuseWhereRequired } from '../../required-providers/service.ts';
import { lockLiveSession } from '../../sessions/service.ts';
import { type AbuseDeps, countMail, mayMail } from '../abuse.ts';
import type { LoginDeps } from '../login.ts';
import { requireCurrentPassword } from '../password-change.ts';
import { seenFrom, warn } from '../warn.ts';
import { insertRequest } from './store.ts';

export type EmailChangeDeps = LoginDeps & AbuseDeps & FreshnessDeps;

/**
 * Throws `invalid_email`, `invalid_input` (the present address), `no_password` or `wrong_current_password` (400), `account_locked` or
 * `provider_required` (422), `step_up_required` (403), and `rate_limited` (429) beyond the requests of this account. Beyond the mails
 * to the new address, nothing is sent, and the answer is the same.
 */
export async function requestEmailChange(
  deps: EmailChangeDeps,
  caller: UserCaller,
  { new_email, current_password, ...rest }: ChangeEmailBody,
): Promise<void> {
  allHandled(rest);
  const { client, principal } = caller;
  const newEmail = requireEmail(new_email, 'new_email');
  requireOther(newEmail, principal.email);
  // By the addresses alone: an account of such a domain neither leaves it nor comes into it by a mail.
  for (const email of [principal.email, newEmail]) refuseWhereRequired(deps, email);
  const passwordEpoch = await proveByPassword(deps, caller, current_password);
  if (passwordEpoch === null || (await hasFactor(deps.db, principal.id)))
    await requireFresh(deps.db, deps, principal);
  await requireFewRequests(deps, caller);
  const isAllowed = await mayMail(deps, 'new-email', newEmail);
  await inRecordedTransaction(deps, client, async (tx) => {
    const locked = await holdProved(tx, deps, caller, passwordEpoch);
    requireOther(newEmail, locked.email);
    if (isAllowed) await store(tx, deps, caller, { locked, newEmail });
    return {
      result: undefined,
      events: [
        {
          action: 'email_change_requested',
          actorId: principal.id,
          resourceId: principal.id,
          details: {
            email: locked.email,
            new_email: newEmail,
            outcome: isAllowed ? 'queued' : 'limited',
            session_id: principal.session.id,
          },
        },
      ],
    };
  });
}

function requireOther(newEmail: string, email: string): void {
  if (newEmail !== email) return;
  throw new AppError('invalid_input', {
    errors: [{ field: 'new_email', code: 'unchanged', message: 'is the email address that the account has' }],
  });
}

/** Returns the epoch of the password that was verified; null if none was sent. */
async function proveByPassword(
  deps: EmailChangeDeps,
  { client, principal }: UserCaller,
  password: string | undefined,
): Promise<number | null> {
  if (password === undefined) return null;
  const holder = await findPasswordHolder(deps.db, principal.id);
  if (!holder) throw new AppError('token_revoked');
  await requireCurrentPassword(deps, client, {
    holder,
    password,
    refusalOf: (reason) => ({
      action: 'password_refused',
      actorId: principal.id,
      resourceId: principal.id,
      details: { email: holder.email, attempted: 'email_change_requested', reason },
    }),
  });
  return holder.password_epoch;
}

/** Counts after the proof, so that a stolen token cannot use up the owner's requests. Throws 429. */
async function requireFewRequests(deps: EmailChangeDeps, { client, principal }: UserCaller): Promise<void> {
  const counted = await countMail(deps, 'email-change', principal.email);
  if (counted?.allowed !== false) return;
  await recordBounded(deps, client, {
    action: 'rate_limited',
    actorId: principal.id,
    resourceId: principal.id,
    details: { email: principal.email, limit: 'email-change' },
  });
  throw overLimit(counted);
}

/** Locks the caller's row, and judges session and proof again. */
async function holdProved(
  tx: Tx,
  deps: EmailChangeDeps,
  { principal }: UserCaller,
  passwordEpoch: number | null,
): Promise<LockedHolder> {
  const locked = await lockEpoch(tx, principal.id);
  if (!locked || !(await lockLiveSession(tx, principal.id, principal.session.id)))
    throw new AppError('token_revoked');
  if (passwordEpoch === null || locked.has_factor) await requireFresh(tx, deps, principal);
  // A password that has been replaced proves nothing.
  if (passwordEpoch !== null && passwordEpoch !== locked.password_epoch)
    throw new AppError('wrong_current_password');
  return locked;
}

async function store(
  tx: Tx,
  deps: EmailChangeDeps,
  { client, principal }: UserCaller,
  { locked, newEmail }: { locked: LockedHolder; newEmail: string },
): Promise<void> {
  const id = newId();
  await insertRequest(tx, {
    id,
    user_id: principal.id,
    former_email: locked.email,
    new_email: newEmail,
    session_id: principal.session.id,
  });
  const seen = seenFrom(client, locked.email, locked.now);
  await deps.accountMail.enqueue(tx, 'email_change', { ...seen, change: id });
  await warn(tx, deps, 'email_change_requested', { ...seen, new_email: newEmail });
}
