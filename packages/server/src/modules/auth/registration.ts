// Registers accounts, verifies their email and sends the verification mail again.
// One transaction creates the account, its default role and its mail.
import type { RegisterBody } from '@castellan/contract/auth';
import type { User } from '@castellan/contract/users';
import { brokenConstraint } from '../../platform/db/failures.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { Gate } from '../../platform/limits/gate.ts';
import { requireEmail } from '../../platform/security/email.ts';
import { assignByName } from '../assignments/unattended.ts';
import { recordBounded, recordEvent } from '../audit/service.ts';
import { findPasswordHolderByEmail, hashFirstPassword, type PasswordDeps } from '../passwords/service.ts';
import { type RequiredProviders, refuseWhereRequired } from '../required-providers/service.ts';
import {
  cleanNames,
  insertRegistration,
  markVerified,
  present,
  readRecord,
  type UserDeps,
  type VersionedUser,
} from '../users/service.ts';
import { type AbuseDeps, mayCreateAccount, mayMail, mayRegisterFrom } from './abuse.ts';
import { languageOf } from './mail-language.ts';
import type { AccountMail } from './mails.ts';
import { consumeOneTimeToken, endOneTimeTokens, isOfVerifiedUser, turnKeyOf } from './one-time-tokens.ts';

export type RegistrationDeps = PasswordDeps &
  UserDeps &
  AbuseDeps & {
    accountMail: AccountMail;
    /** Limits parallel attempts on one account and parallel uses of one mailed link. */
    attemptGate: Gate;
    requiredProviders: RequiredProviders;
    settings: { defaultRole: string };
  };

export async function register(deps: RegistrationDeps, client: Client, body: RegisterBody): Promise<User> {
  const { email: address, password, first_name, last_name, ...rest } = body;
  allHandled(rest);
  const email = requireEmail(address);
  refuseWhereRequired(deps, email);
  const names = cleanNames({ first_name, last_name });
  if (!(await mayRegisterFrom(deps, client))) throw await refusal(deps, client, email, 'abuse_limit');
  const passwordHash = await hashFirstPassword(deps, password, { email, ...names }).catch(
    async (error: unknown) => {
      if (error instanceof AppError && error.code === 'password_rejected')
        await recordRefusal(deps, client, email, 'password_rejected');
      throw error;
    },
  );
  if (await findPasswordHolderByEmail(deps.db, email))
    throw await refusal(deps, client, email, 'email_taken');
  if (!(await mayCreateAccount(deps, email))) throw await refusal(deps, client, email, 'abuse_limit');
  const id = newId();
  let record: VersionedUser;
  try {
    record = await inTransaction(deps.db, async (tx) => {
      const language = languageOf(client);
      await insertRegistration(tx, { id, email, ...names, password_hash: passwordHash, language });
      const role = deps.settings.defaultRole;
      if (role !== '' && (await assignByName(tx, 'user', [{ id, role }])) === 0)
        deps.log.warn(
          { role },
          'DEFAULT_ROLE names a missing role or a system role: the user was registered without a role',
        );
      await deps.accountMail.enqueue(tx, 'verification', { email });
      return readRecord(tx, id);
    });
  } catch (error) {
    if (brokenConstraint(error) !== 'users_email_key') throw error;
    throw await refusal(deps, client, email, 'email_taken');
  }
  deps.accountMail.wake();
  await mayMail(deps, 'verification', email);
  await recordEvent(deps, client, {
    action: 'user_registered',
    actorId: id,
    resourceId: id,
    details: { email },
  });
  await recordEvent(deps, client, {
    action: 'verification_email_sent',
    actorId: null,
    resourceId: id,
    details: { email, outcome: 'queued' },
  });
  return (await present(deps, record)).record;
}

async function recordRefusal(
  deps: RegistrationDeps,
  client: Client,
  email: string,
  reason: string,
): Promise<void> {
  await recordEvent(deps, client, {
    action: 'registration_refused',
    actorId: null,
    details: { email, reason },
  });
}

/** Records the refusal in the audit log. Returns the error to throw. */
async function refusal(
  deps: RegistrationDeps,
  client: Client,
  email: string,
  reason: 'abuse_limit' | 'email_taken',
): Promise<AppError> {
  await recordRefusal(deps, client, email, reason);
  return new AppError(reason === 'email_taken' ? 'email_taken' : 'registration_refused');
}

/** Verifies the email. Throws `verification_token_invalid` or `already_verified` (400), and GateFullError. */
export async function verifyEmail(deps: RegistrationDeps, client: Client, token: string): Promise<User> {
  const verified = await deps.attemptGate.run(turnKeyOf(token), client, () =>
    inTransaction(deps.db, async (tx) => {
      const consumed = await consumeOneTimeToken(tx, 'verify_email', token);
      if (!consumed || !(await markVerified(tx, consumed.user_id, consumed.email))) return null;
      await endOneTimeTokens(tx, 'verify_email', consumed.user_id);
      return readRecord(tx, consumed.user_id);
    }),
  );
  if (!verified) throw await linkRefusal(deps, client, token);
  return finishVerification(deps, client, verified);
}

/** Records a committed verification in the audit log. Returns the user. */
export async function finishVerification(
  deps: RegistrationDeps,
  client: Client,
  verified: VersionedUser,
): Promise<User> {
  await recordEvent(deps, client, {
    action: 'email_verified',
    actorId: verified.user_id,
    resourceId: verified.user_id,
    details: { email: verified.email },
  });
  return (await present(deps, verified)).record;
}

/** Records the refusal of a verification link in the audit log. Returns the error to throw. */
export async function linkRefusal(deps: RegistrationDeps, client: Client, token: string): Promise<AppError> {
  const code = (await isOfVerifiedUser(deps.db, token)) ? 'already_verified' : 'verification_token_invalid';
  await recordBounded(deps, client, {
    action: 'verification_refused',
    actorId: null,
    details: { reason: code },
  });
  return new AppError(code);
}

/** Queues the verification mail. Returns nothing, so that the response is the same whether or not an account exists. */
export async function resendVerification(
  deps: RegistrationDeps,
  client: Client,
  input: string,
): Promise<void> {
  const email = requireEmail(input);
  const outcome = (await mayMail(deps, 'verification', email))
    ? await queue(deps, email)
    : { name: 'limited', userId: null };
  await recordEvent(deps, client, {
    action: 'verification_email_sent',
    actorId: null,
    resourceId: outcome.userId ?? '',
    details: { email, outcome: outcome.name },
  });
}

async function queue(
  deps: RegistrationDeps,
  email: string,
): Promise<{ name: string; userId: string | null }> {
  const holder = await findPasswordHolderByEmail(deps.db, email);
  await inTransaction(deps.db, (tx) => deps.accountMail.enqueue(tx, 'verification', { email }));
  deps.accountMail.wake();
  if (!holder?.is_active) return { name: 'no_account', userId: null };
  const outcome = holder.verified ? 'already_verified' : holder.invited_at === null ? 'queued' : 'invited';
  return { name: outcome, userId: holder.user_id };
}
