// Makes, lists and ends personal access tokens: for their owners, and for administrators.
// The text of a token leaves this file only in the response that creates it.
import type {
  CreatePersonalTokenBody,
  NewPersonalToken,
  PersonalToken,
} from '@castellan/contract/personal-tokens';
import { requireFuture } from '../../platform/db/database-time.ts';
import { AppError } from '../../platform/errors.ts';
import { allHandled } from '../../platform/fields.ts';
import { newId } from '../../platform/ids.ts';
import { createPersonalToken } from '../../platform/security/api-key.ts';
import { cleanName } from '../../platform/security/record-text.ts';
import type { Tx } from '../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction } from '../audit/service.ts';
import type { LoginDeps } from '../auth/login.ts';
import { requireCurrentPassword } from '../auth/password-change.ts';
import { seenFrom, warn } from '../auth/warn.ts';
import type { Caller, UserCaller } from '../authz/caller.ts';
import { change } from '../authz/change.ts';
import { findHeld } from '../authz/holding.ts';
import { sameAccess } from '../authz/impact/impact.ts';
import { type FreshnessDeps, hasFactor, requireFresh } from '../factors/service.ts';
import { findPasswordHolder, type LockedHolder, lockEpoch } from '../passwords/service.ts';
import { requirePermissionIds } from '../permissions/service.ts';
import { lockLiveSession } from '../sessions/service.ts';
import { endPendingLinks } from '../users/changes/change-store.ts';
import { requireMayActOn } from '../users/protection.ts';
import { findUserById } from '../users/store.ts';
import {
  countLiveTokens,
  deleteOlderEndedTokens,
  type EndedToken,
  endToken,
  findTokensOf,
  insertToken,
  readToken,
  type TokenRecord,
} from './store.ts';

export type PersonalTokenDeps = LoginDeps &
  FreshnessDeps & { settings: { personalTokens: boolean; personalTokenMaxDays: number } };

/** Maximum characters of a name. The database repeats it as a CHECK constraint. */
const MAX_NAME_LENGTH = 250;
/** Maximum live tokens of one account. Every further one is one more secret to lose. */
const MAX_LIVE_TOKENS = 50;
/** Tokens that have ended are kept to tell their holders so. The audit log has them all. */
const KEPT_ENDED_TOKENS = 50;
const DAY_MS = 86_400_000;

const toPersonalToken = (record: TokenRecord): PersonalToken => ({
  ...record,
  expires_at: record.expires_at.toISOString(),
  last_used_at: record.last_used_at?.toISOString() ?? null,
  created_at: record.created_at.toISOString(),
});

type Readable = Pick<PersonalTokenDeps, 'db'>;

/** Returns the tokens of a user that nobody has ended, newest first. */
export const listTokens = async ({ db }: Readable, userId: string): Promise<PersonalToken[]> =>
  (await findTokensOf(db, userId)).map(toPersonalToken);

/** As `listTokens`. Throws `user_not_found`. */
export async function listTokensOf(deps: Readable, userId: string): Promise<PersonalToken[]> {
  if (!(await findUserById(deps.db, userId))) throw new AppError('user_not_found');
  return listTokens(deps, userId);
}

/**
 * Makes a token of the caller, who proves with their password or by a recent sign-in that it is them. Throws 400 (password), 403
 * (turned off, proof, permissions that the caller lacks), 404 (permission), 409, 422.
 */
export async function createToken(
  deps: PersonalTokenDeps,
  caller: UserCaller,
  body: CreatePersonalTokenBody,
): Promise<NewPersonalToken> {
  const { name: given, expires_at, permissions = null, current_password: password, ...rest } = body;
  allHandled(rest);
  if (!deps.settings.personalTokens) throw new AppError('personal_tokens_off');
  const name = cleanName(given, MAX_NAME_LENGTH);
  const { client, principal } = caller;
  const prove =
    password === undefined
      ? await proveBySession(deps, caller)
      : await proveByPassword(deps, caller, password);
  return inRecordedTransaction(deps, client, async (tx) => {
    const locked = await lockEpoch(tx, principal.id);
    // What ends the tokens of the account waits for this one, or has ended the session.
    if (!locked || !(await lockLiveSession(tx, principal.id, principal.session.id)))
      throw new AppError('token_revoked');
    await prove(tx, locked);
    const issued = await issue(tx, deps, caller, {
      name,
      permissions,
      expires_at,
      epoch: locked.session_epoch,
    });
    await warn(tx, deps, 'personal_token_created', {
      ...seenFrom(client, locked.email, locked.now),
      token: name,
    });
    const {
      token: _token,
      id,
      name: token_name,
      prefix,
      narrowed_by,
      expires_at: ends,
      permissions: held,
    } = issued;
    const event: AuditEvent = {
      action: 'personal_token_created',
      actorId: principal.id,
      resourceId: principal.id,
      details: {
        personal_token_id: id,
        prefix,
        token_name,
        expires_at: ends,
        permissions: held,
        narrowed_by,
      },
    };
    return { result: issued, events: [event] };
  });
}

/** Checks the proof again while the account is locked. */
type Prove = (tx: Tx, locked: LockedHolder) => Promise<void>;

async function proveBySession(deps: PersonalTokenDeps, { principal }: UserCaller): Promise<Prove> {
  await requireFresh(deps.db, deps, principal);
  return (tx) => requireFresh(tx, deps, principal);
}

/** An account with a factor proves itself by the factor: a thief of session and password must not make a token. */
async function proveByPassword(
  deps: PersonalTokenDeps,
  { client, principal }: UserCaller,
  password: string,
): Promise<Prove> {
  const refuse = (): AppError =>
    new AppError('validation_failed', {
      errors: [
        {
          field: 'current_password',
          code: 'not_allowed',
          message: 'is not enough for an account with a second factor; step up, and leave it out',
        },
      ],
    });
  if (await hasFactor(deps.db, principal.id)) throw refuse();
  const holder = await findPasswordHolder(deps.db, principal.id);
  if (!holder) throw new AppError('token_revoked');
  await requireCurrentPassword(deps, client, {
    holder,
    password,
    refusalOf: (reason) => ({
      action: 'password_refused',
      actorId: principal.id,
      resourceId: principal.id,
      details: { email: holder.email, attempted: 'personal_token_created', reason },
    }),
  });
  return async (_tx, locked) => {
    if (locked.has_factor) throw refuse();
    // A password that has been replaced proves nothing.
    if (locked.password_epoch !== holder.password_epoch) throw new AppError('wrong_current_password');
  };
}

type Wanted = {
  name: string;
  permissions: readonly string[] | null;
  expires_at: string;
  epoch: number;
};

/** Inserts a token while the account is locked. Returns it with its text. Throws 403, 404, 409, 422. */
async function issue(
  tx: Tx,
  deps: PersonalTokenDeps,
  { principal }: UserCaller,
  wanted: Wanted,
): Promise<NewPersonalToken> {
  const expiresAt = await readEnd(tx, deps, wanted.expires_at);
  const named = wanted.permissions && (await requirePermissionIds(tx, wanted.permissions));
  const held = await findHeld(tx, principal);
  if (!held) throw new AppError('token_revoked');
  requireHeld(held.permission_ids, named, wanted.permissions ?? []);
  const narrowsByMaker = named === null && !held.is_superuser;
  if ((await countLiveTokens(tx, principal.id)) >= MAX_LIVE_TOKENS) throw new AppError('too_many_tokens');
  await deleteOlderEndedTokens(tx, principal.id, KEPT_ENDED_TOKENS);
  const { text, prefix, hash } = createPersonalToken();
  const id = newId();
  await insertToken(tx, {
    id,
    user_id: principal.id,
    name: wanted.name,
    prefix,
    secret_hash: hash,
    user_epoch: wanted.epoch,
    acr: principal.session.context.acr,
    expires_at: expiresAt,
    // A role that is given tomorrow adds nothing to a token that somebody laid down today.
    permissionIds: narrowsByMaker ? held.permission_ids : named,
    is_narrowed_by_maker: narrowsByMaker,
  });
  const record = await readToken(tx, id);
  if (!record) throw new Error('a token that was inserted cannot be read');
  return { ...toPersonalToken(record), token: text };
}

async function readEnd(tx: Tx, { settings }: PersonalTokenDeps, value: string): Promise<Date> {
  const end = await requireFuture(tx, value);
  const days = settings.personalTokenMaxDays;
  if (end !== null && end.getTime() - Date.now() <= days * DAY_MS + CLOCK_TOLERANCE_MS) return end;
  const message = `must be at most ${days} days ahead`;
  throw new AppError('validation_failed', {
    detail: `expires_at ${message}.`,
    errors: [{ field: 'expires_at', code: 'too_far_ahead', message }],
  });
}

/** Clients that add the days to their own clock may be ahead by this much. */
const CLOCK_TOLERANCE_MS = 60_000;

/** Throws `privilege_escalation` (403), which names the permissions that the owner of the token lacks. */
function requireHeld(
  held: readonly string[],
  wanted: readonly string[] | null,
  names: readonly string[],
): void {
  const missing = wanted?.some((id) => !held.includes(id)) ?? false;
  if (missing)
    throw new AppError('privilege_escalation', {
      detail: `You cannot give a token permissions that you do not hold. You asked for: ${names.slice(0, 20).join(', ')}.`,
    });
}

const endedDetails = ({ id, name, prefix }: EndedToken) => ({
  personal_token_id: id,
  prefix,
  token_name: name,
});

/** Ends a token of the caller at the next request. Throws `personal_token_not_found`. */
export const endOwnToken = (
  deps: PersonalTokenDeps,
  { client, principal }: UserCaller,
  id: string,
): Promise<void> =>
  inRecordedTransaction(deps, client, async (tx) => {
    await lockEpoch(tx, principal.id);
    const ended = await endToken(tx, principal.id, id);
    if (!ended) throw new AppError('personal_token_not_found');
    const event: AuditEvent = {
      action: 'personal_token_ended',
      actorId: principal.id,
      resourceId: principal.id,
      details: endedDetails(ended),
    };
    return { result: undefined, events: [event] };
  });

/** Ends a token of a user, and the mailed links of the account. Throws 404 (no such user, or no such token), 403. */
export const endTokenOf = (
  deps: PersonalTokenDeps,
  caller: Caller,
  { userId, tokenId }: { userId: string; tokenId: string },
): Promise<void> =>
  change(deps, caller, async (locking) => {
    const { entitled, user } = await requireMayActOn(locking, userId);
    const ended = await endToken(locking.tx, user.user_id, tokenId);
    if (!ended) throw new AppError('personal_token_not_found');
    await endPendingLinks(entitled, [user.user_id]);
    return entitled.done(undefined, sameAccess, {
      action: 'personal_token_ended',
      resourceId: user.user_id,
      details: endedDetails(ended),
    });
  });
