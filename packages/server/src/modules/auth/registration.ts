// Opening an account: register, confirm the e-mail, ask for the mail again.
// An account, its default role and its mail are one transaction: all of them or none.
import type { RegisterBody } from '@castellan/contract/auth';
import type { User } from '@castellan/contract/users';
import { brokenConstraint } from '../../platform/db/failures.ts';
import { inTransaction } from '../../platform/db/transaction.ts';
import { AppError } from '../../platform/errors.ts';
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import { recordBounded, recordEvent } from '../audit/service.ts';
import { findPasswordHolderByEmail, hashFirstPassword, type PasswordDeps } from '../passwords/service.ts';
import {
  addRoleByName,
  cleanNames,
  insertUser,
  markVerified,
  present,
  readRecord,
  type UserDeps,
  type VersionedUser,
} from '../users/service.ts';
import { type AbuseDeps, mayMail, mayRegister } from './abuse.ts';
import { requireEmail } from './email-input.ts';
import type { AccountMail } from './mails.ts';
import { consumeOneTimeToken, endOneTimeTokens, isOfVerifiedUser } from './one-time-tokens.ts';

export type RegistrationDeps = PasswordDeps &
  UserDeps &
  AbuseDeps & { accountMail: AccountMail; settings: { defaultRole: string } };

export async function register(deps: RegistrationDeps, client: Client, body: RegisterBody): Promise<User> {
  const email = requireEmail(body.email);
  const names = cleanNames({ first_name: body.first_name, last_name: body.last_name });
  if (!(await mayRegister(deps, client, email))) {
    await recordRefusal(deps, client, email, 'abuse_limit');
    throw new AppError('registration_refused');
  }
  const passwordHash = await hashFirstPassword(deps, body.password, { email, ...names }).catch(
    async (error: unknown) => {
      if (error instanceof AppError && error.code === 'password_rejected')
        await recordRefusal(deps, client, email, 'password_rejected');
      throw error;
    },
  );
  const id = newId();
  let record: VersionedUser;
  try {
    record = await inTransaction(deps.db, async (tx) => {
      await insertUser(tx, { id, email, ...names, password_hash: passwordHash, verified: false });
      const role = deps.settings.defaultRole;
      if (role !== '' && !(await addRoleByName(tx, id, role)))
        deps.log.warn({ role }, 'DEFAULT_ROLE names no role, or a system role: registered without one');
      await deps.accountMail.enqueue(tx, 'verification', { email });
      return readRecord(tx, id);
    });
  } catch (error) {
    if (brokenConstraint(error) !== 'users_email_key') throw error;
    await recordRefusal(deps, client, email, 'email_taken');
    throw new AppError('email_taken');
  }
  deps.accountMail.wake();
  await mayMail(deps, 'verification', email);
  await recordEvent(deps, client, {
    action: 'user_registered',
    actorId: id,
    resourceId: id,
    details: { email },
  });
  return (await present(deps, record)).user;
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

/** Throws `verification_token_invalid` or `already_verified` (400). */
export async function verifyEmail(deps: RegistrationDeps, client: Client, token: string): Promise<User> {
  const verified = await inTransaction(deps.db, async (tx) => {
    const consumed = await consumeOneTimeToken(tx, 'verify_email', token);
    if (!consumed || !(await markVerified(tx, consumed.user_id, consumed.email))) return null;
    await endOneTimeTokens(tx, 'verify_email', consumed.user_id);
    return readRecord(tx, consumed.user_id);
  });
  if (!verified) {
    const code = (await isOfVerifiedUser(deps.db, token)) ? 'already_verified' : 'verification_token_invalid';
    await recordBounded(deps, client, {
      action: 'verification_refused',
      actorId: null,
      details: { reason: code },
    });
    throw new AppError(code);
  }
  await recordEvent(deps, client, {
    action: 'email_verified',
    actorId: verified.user_id,
    resourceId: verified.user_id,
    details: { email: verified.email },
  });
  return (await present(deps, verified)).user;
}

/** Answers nothing on purpose: the caller says the same sentence to everybody. */
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
  return { name: holder.verified ? 'already_verified' : 'queued', userId: holder.user_id };
}
