// What every change of a person's own factors has in common: recovery codes with the first factor, the end of other sessions,
// the audit entry and the answer. It must not know how a factor is set up.
import { type Factors, RECOVERY_CODES } from '@castellan/contract/factors';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { newRecoveryCodes, readRecoveryCode } from '../../../platform/security/factors/recovery-codes.ts';
import type { Tx } from '../../../schema/database.ts';
import type { AuditEvent } from '../../audit/service.ts';
import type { UserCaller } from '../../authz/caller.ts';
import {
  clearCodeFailures,
  deleteRecoveryCodes,
  hasFactor,
  replaceRecoveryCodes,
} from '../../factors/service.ts';
import {
  type Context,
  contextIn,
  contextOf,
  provedByPassword,
  type SessionTokens,
} from '../../sessions/service.ts';
import { seenFrom, warn } from '../warn.ts';
import type { SecondFactorDeps } from './deps.ts';
import { readFactors } from './presentation.ts';
import { firstProofOf } from './proofs.ts';
import { requireFactorsLeft } from './requirement.ts';
import { goOn, type Held, startAnew } from './tokens.ts';

/** What a change leaves: `context` is that of its tokens. */
export type Ended = { tokens: SessionTokens; context: Context | null; recoveryCodes?: string[] };

export type Changed = { tokens: SessionTokens; factors: Factors; recoveryCodes?: string[] };

export type Codes = { rows: { selector: string; code_hash: string }[]; texts: string[] };

/** Makes recovery codes and hashes them, in the hasher's queue and outside of any transaction. */
export async function makeRecoveryCodes(
  { hasher }: Pick<SecondFactorDeps, 'hasher'>,
  client: Client,
  userId: string,
): Promise<Codes> {
  const rows = [];
  const texts = [];
  for (const { selector, text } of newRecoveryCodes(RECOVERY_CODES)) {
    const canonical = readRecoveryCode(text)?.canonical ?? text;
    const code_hash = await hasher.hash(canonical, {
      key: `factor ${userId}`,
      signal: client.gone,
    });
    rows.push({ selector, code_hash });
    texts.push(text);
  }
  return { rows, texts };
}

type Added = {
  held: Held;
  /** Recovery codes, in case that the factor is the first; null if the account had one before. */
  codes: Codes | null;
  proved: 'totp' | 'passkey';
  /** The event of the new factor. */
  event: AuditEvent;
  /** The name of the new factor, for the mail that tells of it. */
  factor: string;
};

/**
 * Ends a change that added a factor. The first one makes recovery codes, ends all sessions and starts the caller's anew with
 * its proof; a further one ends nothing. Throws `conflict` (409) if it became the first one in the meantime.
 */
export async function factorAdded(
  tx: Tx,
  deps: SecondFactorDeps,
  caller: UserCaller,
  { held, codes, proved, event, factor }: Added,
): Promise<{ result: Ended; events: AuditEvent[] }> {
  const { client, principal } = caller;
  const seen = seenFrom(client, principal.email, held.locked.now);
  await warn(tx, deps, 'second_factor_added', { ...seen, factor });
  if (held.locked.has_factor) {
    const context = contextIn(principal.record);
    return { result: { tokens: await goOn(tx, deps, caller, { held, context }), context }, events: [event] };
  }
  if (!codes)
    throw new AppError('conflict', { detail: 'The factors were changed at the same time. Start again.' });
  await replaceRecoveryCodes(tx, principal.id, codes.rows);
  const proof = `${firstProofOf(held.session.proof)}+${proved}` as const;
  const context = contextOf(proof, held.locked.now);
  const { tokens } = await startAnew(tx, deps, caller, {
    held,
    reason: 'factor_added',
    raised: { proof, context },
  });
  return {
    result: { tokens, context, recoveryCodes: codes.texts },
    events: [event, ownEvent(caller, 'recovery_codes_created', { count: codes.texts.length })],
  };
}

/** Ends a change that removed a factor: with the last one the recovery codes go, and all other sessions end. */
export async function factorRemoved(
  tx: Tx,
  deps: SecondFactorDeps,
  caller: UserCaller,
  { held, eventOf, factor }: { held: Held; eventOf: (sessionsEnded: number) => AuditEvent; factor: string },
): Promise<{ result: Ended; events: AuditEvent[] }> {
  const { client, principal } = caller;
  if (!(await hasFactor(tx, principal.id))) {
    await deleteRecoveryCodes(tx, principal.id);
    await clearCodeFailures(tx, principal.id);
  }
  await requireFactorsLeft(tx, deps.settings, principal.id);
  const seen = seenFrom(client, principal.email, held.locked.now);
  await warn(tx, deps, 'second_factor_removed', { ...seen, factor });
  const { tokens, ended } = await startAnew(tx, deps, caller, { held, reason: 'factor_removed' });
  return { result: { tokens, context: contextIn(principal.record) }, events: [eventOf(ended)] };
}

export const ownEvent = (
  { principal }: UserCaller,
  action: AuditEvent['action'],
  details: Record<string, unknown>,
): AuditEvent => ({
  action,
  actorId: principal.id,
  resourceId: principal.id,
  details: { email: principal.email, ...details },
});

/** Returns the answer to a change. Call it after the commit. */
export const presentChange = async (
  deps: SecondFactorDeps,
  { principal }: UserCaller,
  { context, ...changed }: Ended,
): Promise<Changed> => ({
  ...changed,
  factors: await readFactors(
    deps,
    principal.record,
    context ?? provedByPassword(principal.session.context.authTime),
  ),
});
