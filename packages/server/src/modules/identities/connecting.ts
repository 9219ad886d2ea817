// Connects identities to the caller's own account: by a sign-in at a provider that the account begins, or one that waits in this
// browser. It must not connect anything to another account.
import type { Identity } from '@castellan/contract/identities';
import { brokenConstraint } from '../../platform/db/failures.ts';
import { AppError } from '../../platform/errors.ts';
import type { Tx } from '../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction } from '../audit/service.ts';
import type { UserCaller } from '../authz/caller.ts';
import { type FreshnessDeps, requireFresh } from '../factors/service.ts';
import { keepActiveProvider } from '../identity-providers/store.ts';
import { lockEpoch } from '../passwords/service.ts';
import { connectAndTell } from '../provider-sign-in/accounts.ts';
import { accountPath } from '../provider-sign-in/addresses.ts';
import type { ProviderSignInDeps } from '../provider-sign-in/deps.ts';
import { findIdentity } from '../provider-sign-in/identities-store.ts';
import { type PendingConnection, requirePendingIdentity } from '../provider-sign-in/pending.ts';
import { beginSignIn, type Started } from '../provider-sign-in/start.ts';
import { finishPending } from '../provider-sign-in/store.ts';
import { lockLiveSession } from '../sessions/service.ts';
import { toIdentity } from './own.ts';
import { listIdentities } from './store.ts';

export type ConnectDeps = ProviderSignInDeps & FreshnessDeps;

/**
 * Begins a sign-in at a provider whose identity this account and session get. Throws `identity_provider_not_found` (404) and
 * `provider_unavailable` (503).
 */
export const beginConnecting = (
  deps: ConnectDeps,
  { client, principal }: UserCaller,
  { slug, browserId }: { slug: string; browserId: string },
): Promise<Started> =>
  beginSignIn(deps, {
    purpose: 'connect',
    userId: principal.id,
    sessionId: principal.session.id,
    client,
    slug,
    browserId,
    onward: { next: accountPath(deps.settings), interaction: null },
    asksAgain: false,
  });

/**
 * Connects the identity that waits in the browser with this cookie. Throws `step_up_required` (403),
 * `pending_identity_not_found` (404), and `identity_taken` (409) if it belongs to another account.
 */
export async function connectPending(
  deps: ConnectDeps,
  caller: UserCaller,
  cookie: string | undefined,
): Promise<Identity> {
  const pending = await requirePendingIdentity(deps, cookie);
  try {
    return await inRecordedTransaction(deps, caller.client, (tx) => connect(tx, deps, caller, pending));
  } catch (error) {
    if (brokenConstraint(error) !== 'identities_provider_id_issuer_subject_key') throw error;
    throw new AppError('identity_taken');
  }
}

async function connect(
  tx: Tx,
  deps: ConnectDeps,
  { client, principal }: UserCaller,
  { stateHash, provider, proven }: PendingConnection,
): Promise<{ result: Identity; events: AuditEvent[] }> {
  const { id: userId } = principal;
  const locked = await lockEpoch(tx, userId);
  // Before the session, which what ends at a provider locks after it.
  const isKept = await keepActiveProvider(tx, provider.id, provider.version);
  if (!locked || !(await lockLiveSession(tx, userId, principal.session.id)))
    throw new AppError('token_revoked');
  await requireFresh(tx, deps, principal);
  // Of two requests at once, and of two accounts in one browser, one finishes it.
  if (!isKept || !(await finishPending(tx, stateHash))) throw new AppError('pending_identity_not_found');
  const { issuer, subject } = proven;
  const known = await findIdentity(tx, { provider_id: provider.id, issuer, subject });
  if (known && known.user_id !== userId) throw new AppError('identity_taken');
  if (known) return { result: await readIdentity(tx, userId, known.id), events: [] };
  const owner = { ...locked, userId };
  const { identityId, events } = await connectAndTell(tx, deps, { client, provider, proven }, owner);
  return { result: await readIdentity(tx, userId, identityId), events };
}

async function readIdentity(tx: Tx, userId: string, id: string): Promise<Identity> {
  const row = (await listIdentities(tx, userId)).find((one) => one.id === id);
  if (!row) throw new AppError('identity_not_found');
  return toIdentity(row);
}
