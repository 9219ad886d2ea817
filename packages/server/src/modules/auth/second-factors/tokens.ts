// The tokens that an operation of second factors ends with: of a session that takes the caller's place, or of the caller's own.
import type { Proof } from '@castellan/contract/authentication';
import { AppError } from '../../../platform/errors.ts';
import type { Tx } from '../../../schema/database.ts';
import type { UserCaller } from '../../authz/caller.ts';
import { type LockedHolder, lockEpoch } from '../../passwords/service.ts';
import {
  addTokens,
  type Context,
  endAllSessions,
  type HeldSession,
  lockLiveSession,
  renewed,
  type SessionTokens,
  startSession,
} from '../../sessions/service.ts';
import type { SecondFactorDeps } from './deps.ts';

/** The caller's account and session, under their locks. */
export type Held = { locked: LockedHolder; session: HeldSession };

/** Locks the caller's row and session. Throws `token_revoked` if the session ended while the request waited. */
export async function holdCaller(tx: Tx, { principal }: UserCaller): Promise<Held> {
  const locked = await lockEpoch(tx, principal.id);
  const session = locked && (await lockLiveSession(tx, principal.id, principal.session.id));
  if (!locked || !session) throw new AppError('token_revoked');
  return { locked, session };
}

/** How a session begins that takes the caller's place; `raised`: by a factor that was proved just now. */
type Raised = { proof: Proof; context: Context | null };

/**
 * Ends every session of the caller, with all trust and all pending sign-ins, and starts theirs anew. Their personal access tokens
 * go on. Returns its tokens, and
 * how many sessions ended.
 */
export async function startAnew(
  tx: Tx,
  deps: SecondFactorDeps,
  { client, principal }: UserCaller,
  { held, reason, raised }: { held: Held; reason: string; raised?: Raised },
): Promise<{ tokens: SessionTokens; ended: number }> {
  const { count } = await endAllSessions(tx, principal.id, reason, { keepsTokens: true });
  const beginning = {
    id: principal.id,
    now: held.locked.now,
    isSignIn: false,
    ...renewed(held.session, principal),
    ...raised,
  };
  const { tokens } = await startSession(tx, deps, beginning, client);
  return { tokens, ended: count };
}

/** Returns new tokens of the caller's session. Earlier ones live on with the context that they had. */
export const goOn = (
  tx: Tx,
  deps: SecondFactorDeps,
  { client, principal }: UserCaller,
  { held, context }: { held: Held; context: Context | null },
): Promise<SessionTokens> =>
  addTokens(tx, deps, client, {
    userId: principal.id,
    sessionId: principal.session.id,
    now: held.locked.now,
    began: held.session.created_at,
    context,
  });
