// Completes a sign-in whose password was right, or that a provider vouches for, with the proof of a second factor.
// Every try is counted before anything is verified, and every decision is made under the lock of the user's row.
import { proofs } from '@castellan/contract/authentication';
import type { SecondFactorBody } from '@castellan/contract/factors';
import { afterCommit } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Tx } from '../../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction, recordBounded } from '../../audit/service.ts';
import { policyOf } from '../../authz/requirements/account.ts';
import { findAccountLevel } from '../../authz/requirements/standing.ts';
import { mayTrustDevice } from '../../devices/service.ts';
import {
  completePending,
  failPending,
  hashOf,
  holdProviderOf,
  judgeCode,
  judgePasskey,
  type PasskeyVerdict,
  type PreparedCode,
  type PreparedPasskey,
  preparePasskey,
  prepareRecoveryCode,
  readPending,
  resultOf,
  takeTry,
  type Verdict,
} from '../../factors/service.ts';
import { lockEpoch } from '../../passwords/service.ts';
import { beginSession, type Started } from '../devices/begin-session.ts';
import type { Visitor } from '../devices/cookie.ts';
import { type SignIn, signedIn } from '../login.ts';
import { seenFrom, warn, warnOfCode } from '../warn.ts';
import type { SecondFactorDeps } from './deps.ts';
import { ceremonyOf } from './pending.ts';
import { onlyProof, type ProofInput, type Refusal, refusalOf, requireOne } from './proofs.ts';
import { type PreparedLink, usedLinkEvent, useRecoveryLink } from './recovery.ts';

type Account = { userId: string; email: string; deviceId: string | null };
type Outcome = { started: Started } | { over: true } | { refused: Refusal; attemptsLeft: number | undefined };

/**
 * Returns the session that the proof completes. Throws `sign_in_expired`, `second_factor_invalid`, `code_already_used`,
 * `second_factor_locked`, `passkey_unknown` and `passkey_refused` (422).
 */
export async function completeSignIn(
  deps: SecondFactorDeps,
  visitor: Visitor,
  { token, trust_device: isTrustAsked = false, ...input }: SecondFactorBody,
): Promise<SignIn> {
  const { client, browserId } = visitor;
  const proof = proofIn(input);
  const tokenHash = hashOf(token);
  const pending = await takeTry(deps.db, { tokenHash, browserHash: hashOf(browserId) });
  if (!pending) throw await expired(deps, visitor, proof, null);
  const { user_id: userId, identity_id: identityId } = pending;
  // Parallel tries wait here, not on a connection.
  return deps.attemptGate.run(`factor ${userId}`, client, async () => {
    const prepared = await prepare(deps, visitor, { userId, tokenHash }, proof);
    const outcome = await inRecordedTransaction(deps, client, (tx) =>
      settle(tx, deps, visitor, { userId, identityId, tokenHash, prepared, isTrustAsked }),
    );
    if ('over' in outcome) throw await expired(deps, visitor, proof, userId);
    if ('refused' in outcome) throw refusalOf(outcome.refused, outcome.attemptsLeft);
    return { done: await signedIn(deps, outcome.started, proofs[`password+${proof.method}`].acr) };
  });
}

/** A proof of a factor, or the token of a recovery link. */
type StepInput = ProofInput | PreparedLink;
type Prepared = PreparedCode | PreparedPasskey | PreparedLink;

/** Throws `validation_failed` (422) unless there is exactly one proof. */
function proofIn({ recovery_token: token, ...proofs }: Omit<SecondFactorBody, 'token'>): StepInput {
  requireOne({ ...proofs, recovery_token: token }, ['totp', 'recovery_code', 'passkey', 'recovery_token']);
  return token === undefined ? onlyProof(proofs) : { method: 'recovery_link', token };
}

async function prepare(
  deps: SecondFactorDeps,
  { client }: Visitor,
  { userId, tokenHash }: { userId: string; tokenHash: Buffer },
  proof: StepInput,
): Promise<Prepared> {
  if (proof.method === 'passkey')
    return preparePasskey(deps, proof.response, { userId, ...ceremonyOf(tokenHash) });
  return proof.method === 'recovery_code' ? prepareRecoveryCode(deps, client, userId, proof.text) : proof;
}

type StepVerdict = Verdict | PasskeyVerdict | { accepted: 'recovery_link' };

async function judge(
  tx: Tx,
  deps: SecondFactorDeps,
  { account, isPending }: { account: Account; isPending: boolean },
  prepared: Prepared,
): Promise<StepVerdict> {
  if (prepared.method === 'passkey') return judgePasskey(tx, deps, account, { prepared });
  if (prepared.method !== 'recovery_link') return judgeCode(tx, deps, account, prepared);
  const isAccepted = await useRecoveryLink(tx, { userId: account.userId, isPending }, prepared.token);
  const verdict: StepVerdict = isAccepted
    ? { accepted: 'recovery_link' }
    : { refused: 'wrong_code', isCounted: false, consequences: [] };
  afterCommit(tx, () => deps.factorChecks.count('recovery_link', resultOf(verdict)));
  return verdict;
}

/** One answer whatever ended the sign-in. */
async function expired(
  deps: SecondFactorDeps,
  { client }: Visitor,
  { method }: StepInput,
  userId: string | null,
): Promise<AppError> {
  await recordBounded(deps, client, failureEvent(userId, { method, reason: 'expired' }));
  return new AppError('sign_in_expired');
}

const failureEvent = (userId: string | null, details: Record<string, unknown>): AuditEvent => ({
  action: 'second_factor_failed',
  actorId: userId,
  resourceId: userId ?? '',
  details,
});

type Step = {
  userId: string;
  /** The one that the sign-in began with; null if it began with a password. */
  identityId: string | null;
  tokenHash: Buffer;
  prepared: Prepared;
  isTrustAsked: boolean;
};

async function settle(
  tx: Tx,
  deps: SecondFactorDeps,
  visitor: Visitor,
  { userId, identityId, tokenHash, prepared, isTrustAsked }: Step,
): Promise<{ result: Outcome; events: AuditEvent[] }> {
  if (identityId !== null) await holdProviderOf(tx, identityId);
  const locked = await lockEpoch(tx, userId);
  const pending = locked && (await readPending(tx, tokenHash));
  if (!locked?.is_active || !locked.verified || !pending) return { result: { over: true }, events: [] };
  const { client } = visitor;
  const account = { userId, email: locked.email, deviceId: pending.device_id };
  const verdict = await judge(tx, deps, { account, isPending: locked.recovery_pending }, prepared);
  const seen = seenFrom(client, locked.email, locked.now);
  await warnOfCode(tx, deps, seen, verdict);
  if ('refused' in verdict) {
    if (verdict.refused === 'expired') return { result: { over: true }, events: [] };
    const left = verdict.isCounted ? await failPending(tx, tokenHash) : undefined;
    // The password was right: somebody else may know it, also if they begin anew before the fifth wrong code.
    const isClosing = verdict.consequences.some(({ action }) => action === 'second_factor_locked');
    if (left === 0 || isClosing) await warn(tx, deps, 'second_factor_attack', seen);
    const { email } = account;
    const refusal = failureEvent(userId, { email, method: prepared.method, reason: verdict.refused });
    return {
      result: { refused: verdict, attemptsLeft: left },
      events: [...verdict.consequences, refusal],
    };
  }
  await completePending(tx, tokenHash);
  const { provider, identity_id, provider_sid, provider_id_token_sealed } = pending;
  const by =
    provider === null
      ? undefined
      : { provider, origin: { identity_id, provider_sid, provider_id_token_sealed } };
  const proof = `${by ? 'provider' : 'password'}+${verdict.accepted}` as const;
  const isTrusted = isTrustAsked && (await mayTrust(tx, deps, userId));
  const proved = { userId, locked, proof, isTrusted, by };
  const { started, events } = await beginSession(tx, deps, visitor, proved);
  return { result: { started }, events: [...usedEvents(account, verdict), ...events] };
}

const mayTrust = async (tx: Tx, { settings }: SecondFactorDeps, userId: string): Promise<boolean> =>
  mayTrustDevice(settings, await findAccountLevel(tx, policyOf(settings), userId));

const usedEvents = (account: Account, verdict: Extract<StepVerdict, { accepted: string }>): AuditEvent[] =>
  verdict.accepted === 'recovery_link' ? [usedLinkEvent(account)] : eventsOfUse(account, verdict);

/** Returns what an accepted proof leaves in the audit log: the use of a recovery code, or what a passkey told about itself. */
export const eventsOfUse = (
  { userId, email }: Pick<Account, 'userId' | 'email'>,
  { left, notes = [] }: { accepted?: string; left?: number; notes?: AuditEvent[] },
): AuditEvent[] =>
  left === undefined
    ? notes
    : [{ action: 'recovery_code_used', actorId: userId, resourceId: userId, details: { email, left } }];
