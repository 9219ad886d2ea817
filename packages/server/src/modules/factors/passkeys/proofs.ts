// Decides about answers of passkeys and security keys. What needs no lock, challenge and signature, is verified before the
// transaction; counter, use of the challenge and whether the passkey is still there, under the lock of the user's row.

import { afterCommit } from '../../../platform/db/transaction.ts';
import type { Logger } from '../../../platform/logging/log.ts';
import type {
  ChallengePurpose,
  PasskeyChallenges,
} from '../../../platform/security/factors/passkey-challenge.ts';
import { isUsableRpId, type PasskeySite } from '../../../platform/security/factors/passkey-site.ts';
import {
  type AssertionJSON,
  challengeIn,
  credentialIdOf,
  type VerifiedAssertion,
  verifyAssertion,
} from '../../../platform/security/factors/passkeys.ts';
import type { Db, Tx } from '../../../schema/database.ts';
import type { AuditEvent } from '../../audit/service.ts';
import { clearCodeFailures } from '../attempts-store.ts';
import type { CheckResult, FactorChecks } from '../checks.ts';
import {
  findCredential,
  type PasskeyUse,
  readPasskeyUse,
  type StoredCredential,
  savePasskeyUse,
  useChallenge,
} from './store.ts';

export type PasskeyDeps = {
  db: Db;
  log: Logger;
  passkeySite: PasskeySite;
  passkeyChallenges: PasskeyChallenges;
};

/** What a challenge was issued for; `binding`: the browser, the pending sign-in or the session. */
export type Ceremony = { purpose: ChallengePurpose; binding: string };

/** `expired`: the challenge is over, used, or of another ceremony. */
type PasskeyRefusal = 'passkey_unknown' | 'passkey_refused' | 'expired';

/** An answer whose signature is right. It waits for its decision. */
type Proved = {
  credential: StoredCredential;
  assertion: VerifiedAssertion;
  challenge: { hash: Buffer; expiresAt: Date };
};

/** `ownerId`: whose passkey it seems to be; null if that is not known. */
type Failed = { refused: PasskeyRefusal; ownerId: string | null };

export type PreparedPasskey = { method: 'passkey'; found: Proved | Failed };

export type PasskeyVerdict =
  | {
      accepted: 'passkey';
      /** What the use told about the passkey. */
      notes: AuditEvent[];
    }
  | {
      refused: PasskeyRefusal;
      /** Nobody guesses a signature. */
      isCounted: false;
      consequences: AuditEvent[];
    };

/** `userId`: the account whose passkey it must be; null if it is to sign its owner in. */
export async function preparePasskey(
  deps: PasskeyDeps,
  response: AssertionJSON,
  { userId, ...ceremony }: Ceremony & { userId: string | null },
): Promise<PreparedPasskey> {
  return { method: 'passkey', found: await verified(deps, response, ceremony, userId) };
}

async function verified(
  deps: PasskeyDeps,
  response: AssertionJSON,
  { purpose, binding }: Ceremony,
  userId: string | null,
): Promise<Proved | Failed> {
  const { passkeySite: site, log } = deps;
  const fail = (refused: PasskeyRefusal, ownerId = userId): Failed => ({ refused, ownerId });
  const text = challengeIn(response);
  if (text === null) return fail('passkey_refused');
  const challenge = deps.passkeyChallenges.read(text, purpose, binding);
  if (!challenge) return fail('expired');
  const credential = await findCredential(deps.db, credentialIdOf(response));
  if (!credential || (userId !== null && credential.user_id !== userId)) return fail('passkey_unknown');
  const signsInAlone = userId === null;
  // What verifies the user only later may have got its PIN from a thief.
  if (signsInAlone && credential.kind !== 'passkey') return fail('passkey_refused', credential.user_id);
  if (!isUsableRpId(site, credential.rp_id)) return fail('passkey_refused', credential.user_id);
  const assertion = await verifyAssertion(response, {
    challenge: text,
    origins: site.origins,
    rpId: credential.rp_id,
    credential: { credentialId: credential.credential_id, publicKey: credential.public_key },
    requireUserVerification: signsInAlone,
    userId: credential.user_id,
    requireUserHandle: signsInAlone,
    debug: (reason) => log.debug({ reason }, 'a passkey was refused'),
  });
  return assertion ? { credential, assertion, challenge } : fail('passkey_refused', credential.user_id);
}

const refuse = (refused: PasskeyRefusal, consequences: AuditEvent[] = []): PasskeyVerdict => ({
  refused,
  isCounted: false,
  consequences,
});

type Asked = {
  prepared: PreparedPasskey;
  /** Whether the presence of somebody is not enough. */
  mustVerifyUser?: boolean;
};

/** Decides about the answer and uses its challenge up. */
export async function judgePasskey(
  tx: Tx,
  { factorChecks }: { factorChecks: FactorChecks },
  account: { userId: string; email: string },
  asked: Asked,
): Promise<PasskeyVerdict> {
  const verdict = await judge(tx, account, asked);
  afterCommit(tx, () => factorChecks.count('passkey', resultOf(verdict)));
  return verdict;
}

function resultOf(verdict: PasskeyVerdict): CheckResult {
  if ('accepted' in verdict) return 'accepted';
  return verdict.refused === 'expired' ? 'used' : 'wrong';
}

async function judge(
  tx: Tx,
  { userId, email }: { userId: string; email: string },
  { prepared: { found }, mustVerifyUser = false }: Asked,
): Promise<PasskeyVerdict> {
  if ('refused' in found) return refuse(found.refused);
  const { credential, assertion, challenge } = found;
  if (mustVerifyUser && !assertion.userVerified) return refuse('passkey_refused');
  // Before the counter, so that an answer that comes twice is no sign of a copy.
  if (!(await useChallenge(tx, challenge))) return refuse('expired');
  const before = await readPasskeyUse(tx, userId, credential.id);
  if (!before) return refuse('passkey_unknown');
  const eventOf = (action: AuditEvent['action'], details: Record<string, unknown>): AuditEvent => ({
    action,
    actorId: userId,
    resourceId: userId,
    details: { email, passkey_id: credential.id, name: before.name, ...details },
  });
  const hasRegressed = isRegression(before, assertion);
  const accepted = !hasRegressed || before.backup_eligible;
  const regressions = hasRegressed ? [eventOf('passkey_counter_regressed', { accepted })] : [];
  if (!accepted) return refuse('passkey_refused', regressions);
  await savePasskeyUse(tx, credential.id, assertion);
  await clearCodeFailures(tx, userId);
  const { backupEligible: backup_eligible, backedUp: backed_up } = assertion;
  const changes =
    backup_eligible === before.backup_eligible
      ? []
      : [eventOf('passkey_backup_changed', { backup_eligible, backed_up })];
  return { accepted: 'passkey', notes: [...regressions, ...changes] };
}

/** Whether there may be a copy (Web Authentication Level 3, section 6.1.1). Synced passkeys count on each device, or not at all. */
const isRegression = ({ sign_count }: PasskeyUse, { signCount }: VerifiedAssertion): boolean =>
  Number(sign_count) > 0 && signCount <= Number(sign_count);
