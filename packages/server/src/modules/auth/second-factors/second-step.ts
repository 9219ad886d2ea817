// Completes a sign-in whose password was right, with the proof of a second factor.
// Every try is counted before anything is verified, and every decision is made under the lock of the user's row.
import { proofs } from '@castellan/contract/authentication';
import type { SecondFactorBody } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import type { Tx } from '../../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction, recordBounded } from '../../audit/service.ts';
import {
  completePending,
  failPending,
  hashOf,
  judgeCode,
  judgePasskey,
  type PreparedCode,
  type PreparedPasskey,
  preparePasskey,
  prepareRecoveryCode,
  readPending,
  takeTry,
} from '../../factors/service.ts';
import { lockEpoch } from '../../passwords/service.ts';
import { contextOf, startSession } from '../../sessions/service.ts';
import { recordLanguage } from '../../users/service.ts';
import type { SignIn, Started, Visitor } from '../login.ts';
import { signedIn, signInEvents } from '../login.ts';
import { languageOf } from '../mail-language.ts';
import { seenFrom, warn, warnOfCode } from '../warn.ts';
import type { SecondFactorDeps } from './deps.ts';
import { ceremonyOf } from './pending.ts';
import { onlyProof, type ProofInput, type Refusal, refusalOf } from './proofs.ts';

type Account = { userId: string; email: string };
type Outcome = { started: Started } | { over: true } | { refused: Refusal; attemptsLeft: number | undefined };

/**
 * Returns the session that the proof completes. Throws `sign_in_expired`, `second_factor_invalid`, `code_already_used`,
 * `second_factor_locked`, `passkey_unknown` and `passkey_refused` (422).
 */
export async function completeSignIn(
  deps: SecondFactorDeps,
  visitor: Visitor,
  { token, ...input }: SecondFactorBody,
): Promise<SignIn> {
  const { client, browserId } = visitor;
  const proof = onlyProof(input);
  const tokenHash = hashOf(token);
  const pending = await takeTry(deps.db, { tokenHash, browserHash: hashOf(browserId) });
  if (!pending) throw await expired(deps, visitor, proof, null);
  const userId = pending.user_id;
  // Parallel tries wait here, not on a connection.
  return deps.attemptGate.run(`factor ${userId}`, client, async () => {
    const prepared = await prepare(deps, visitor, { userId, tokenHash }, proof);
    const outcome = await inRecordedTransaction(deps, client, (tx) =>
      settle(tx, deps, visitor, { userId, tokenHash, prepared }),
    );
    if ('over' in outcome) throw await expired(deps, visitor, proof, userId);
    if ('refused' in outcome) throw refusalOf(outcome.refused, outcome.attemptsLeft);
    return { done: await signedIn(deps, outcome.started, proofs[`password+${proof.method}`].acr) };
  });
}

async function prepare(
  deps: SecondFactorDeps,
  { client }: Visitor,
  { userId, tokenHash }: { userId: string; tokenHash: Buffer },
  proof: ProofInput,
): Promise<PreparedCode | PreparedPasskey> {
  if (proof.method === 'passkey')
    return preparePasskey(deps, proof.response, { userId, ...ceremonyOf(tokenHash) });
  return proof.method === 'totp'
    ? { method: 'totp', code: proof.code }
    : prepareRecoveryCode(deps, client, userId, proof.text);
}

/** One answer whatever ended the sign-in. */
async function expired(
  deps: SecondFactorDeps,
  { client }: Visitor,
  { method }: ProofInput,
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

async function settle(
  tx: Tx,
  deps: SecondFactorDeps,
  { client }: Visitor,
  {
    userId,
    tokenHash,
    prepared,
  }: { userId: string; tokenHash: Buffer; prepared: PreparedCode | PreparedPasskey },
): Promise<{ result: Outcome; events: AuditEvent[] }> {
  const locked = await lockEpoch(tx, userId);
  const pending = locked && (await readPending(tx, tokenHash));
  if (!locked?.is_active || !locked.verified || !pending) return { result: { over: true }, events: [] };
  const account = { userId, email: locked.email };
  const verdict =
    prepared.method === 'passkey'
      ? await judgePasskey(tx, account, prepared)
      : await judgeCode(tx, deps, account, prepared);
  const seen = seenFrom(client, locked.email, locked.now);
  await warnOfCode(tx, deps, seen, verdict);
  if ('refused' in verdict) {
    if (verdict.refused === 'expired') return { result: { over: true }, events: [] };
    const left = verdict.isCounted ? await failPending(tx, tokenHash) : undefined;
    // The password was right: somebody else may know it.
    if (left === 0) await warn(tx, deps, 'second_factor_attack', seen);
    const { email } = account;
    const refusal = failureEvent(userId, { email, method: prepared.method, reason: verdict.refused });
    return {
      result: { refused: verdict, attemptsLeft: left },
      events: [...verdict.consequences, refusal],
    };
  }
  await completePending(tx, tokenHash);
  const language = languageOf(client);
  if (language !== null && language !== locked.language) await recordLanguage(tx, userId, language);
  const proof = `password+${verdict.accepted}` as const;
  const beginning = {
    id: userId,
    now: locked.now,
    isSignIn: true,
    proof,
    context: contextOf(proof, locked.now),
  };
  const started = await startSession(tx, deps, beginning, client);
  return {
    result: { started },
    events: [...eventsOfUse(account, verdict), ...signInEvents(client, { ...account, proof }, started)],
  };
}

/** Returns what an accepted proof leaves in the audit log: the use of a recovery code, or what a passkey told about itself. */
export const eventsOfUse = (
  { userId, email }: Account,
  { left, notes = [] }: { left?: number; notes?: AuditEvent[] },
): AuditEvent[] =>
  left === undefined
    ? notes
    : [{ action: 'recovery_code_used', actorId: userId, resourceId: userId, details: { email, left } }];
