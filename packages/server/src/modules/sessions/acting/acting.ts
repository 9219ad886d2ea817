// Starts and ends sessions in which somebody acts as another user: one access token, and nothing that renews it.
// It must not decide who may: users/sessions/acting.ts does.
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { newId } from '../../../platform/ids.ts';
import type { Tx } from '../../../schema/database.ts';
import type { Context } from '../../../schema/token-context.ts';
import { type Audited, recordEvent } from '../../audit/service.ts';
import type { KeyRing } from '../keys/ring.ts';
import { lockLiveSession, lockOwner, revokeSessions } from '../store.ts';
import { createToken, type TokenSettings } from '../tokens.ts';
import { insertActingSession } from './store.ts';

export type ActingDeps = { keyRing: KeyRing; settings: TokenSettings };

type By = { id: string; session: { id: string; context: Context } };

export type ActingStarted = { sessionId: string; accessToken: string; expiresAt: Date };

/**
 * Starts the session, which proves what the call of `by` has proved. The caller must have locked the rows of both users. Throws
 * `token_revoked` (401) if the session of `by` has ended.
 */
export async function startActing(
  tx: Tx,
  deps: ActingDeps,
  client: Client,
  { userId, by, minutes, now }: { userId: string; by: By; minutes: number; now: Date },
): Promise<ActingStarted> {
  if (!(await lockLiveSession(tx, by.id, by.session.id))) throw new AppError('token_revoked');
  const sessionId = newId();
  const acting = { actorId: by.id, minutes };
  const { text, row } = createToken(deps, 'access', {
    userId,
    sessionId,
    now,
    began: now,
    context: by.session.context,
    acting,
  });
  const session = {
    id: sessionId,
    user_id: userId,
    acted_by_id: by.id,
    acted_by_session_id: by.session.id,
    origin_address: client.address,
    user_agent: client.userAgent,
    expires_at: row.expires_at,
  };
  await insertActingSession(tx, session, row);
  return { sessionId, accessToken: text, expiresAt: row.expires_at };
}

/** Ends the session in which somebody acts as the principal, and no other. */
export async function stopActing(
  deps: Audited,
  {
    client,
    principal,
  }: { client: Client; principal: { id: string; email: string; session: { id: string } } },
): Promise<void> {
  const { id, email, session } = principal;
  await inTransaction(deps.db, async (tx) => {
    await lockOwner(tx, id);
    await revokeSessions(tx, id, [session.id], 'logout');
  });
  await recordEvent(deps, client, {
    action: 'act_as_ended',
    actorId: id,
    resourceId: id,
    details: { email, session_id: session.id },
  });
}
