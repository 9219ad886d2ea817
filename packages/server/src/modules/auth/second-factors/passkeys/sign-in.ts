// Signs in with a passkey alone, without a password and without naming an account: the passkey names its owner.
// Nothing is stored before the session starts: the challenge is signed, not kept.
import { proofs } from '@castellan/contract/authentication';
import type { SignInMethods } from '@castellan/contract/passkeys';
import { AppError } from '../../../../platform/errors.ts';
import type { AssertionJSON } from '../../../../platform/security/factors/passkeys.ts';
import type { Tx } from '../../../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction, recordBounded } from '../../../audit/service.ts';
import {
  judgePasskey,
  type PasskeyRequest,
  type PreparedPasskey,
  passkeyRequest,
  preparePasskey,
} from '../../../factors/service.ts';
import { lockEpoch } from '../../../passwords/service.ts';
import { beginSession, type Started } from '../../devices/begin-session.ts';
import type { Visitor } from '../../devices/cookie.ts';
import { failureEvent, type SignIn, signedIn } from '../../login.ts';
import type { SecondFactorDeps } from '../deps.ts';

type Site = Pick<SecondFactorDeps, 'settings' | 'passkeySite'>;

/** Why no passkey signs in alone here; null if one does. */
const obstacleOf = ({ settings, passkeySite }: Site): SignInMethods['passkey']['reason'] => {
  if (!passkeySite.isFit) return 'address';
  return settings.passkeySignIn ? null : 'off';
};

/** Throws `passkeys_unavailable` (409) unless passkeys sign in alone. */
export function requirePasskeySignIn(site: Site): void {
  if (obstacleOf(site) !== null) throw new AppError('passkeys_unavailable');
}

export function signInMethods(deps: Site & { settings: { trustedDeviceDays: number } }): SignInMethods {
  const reason = obstacleOf(deps);
  const { rpId, isFit } = deps.passkeySite;
  return {
    password: true,
    passkey: { available: reason === null, rp_id: isFit ? rpId : null, reason },
    trusted_device_days: deps.settings.trustedDeviceDays,
  };
}

const ceremonyOf = (browserId: string) => ({ purpose: 'sign_in', binding: browserId }) as const;

export const signInRequest = (deps: SecondFactorDeps, browserId: string): PasskeyRequest =>
  passkeyRequest(deps, ceremonyOf(browserId), null, 'required');

type Outcome =
  | { started: Started }
  | { needs: 'verified_email' }
  | { refused: 'passkey_unknown' | 'passkey_refused' | 'expired' };

/** Throws `sign_in_expired`, `passkey_unknown` and `passkey_refused` (422). */
export async function signInWithPasskey(
  deps: SecondFactorDeps,
  visitor: Visitor,
  response: AssertionJSON,
): Promise<SignIn> {
  const { client, browserId } = visitor;
  const prepared = await preparePasskey(deps, response, { userId: null, ...ceremonyOf(browserId) });
  const { found } = prepared;
  if ('refused' in found) {
    await recordBounded(deps, client, refusedEvent(found.ownerId, found.refused));
    throw refusalOf(found.refused);
  }
  const userId = found.credential.user_id;
  // Parallel tries wait here, not on a connection.
  return deps.attemptGate.run(`factor ${userId}`, client, async () => {
    const outcome = await inRecordedTransaction(deps, client, (tx) =>
      settle(tx, deps, visitor, { userId, prepared }),
    );
    if ('refused' in outcome) throw refusalOf(outcome.refused);
    if ('needs' in outcome) return outcome;
    return { done: await signedIn(deps, outcome.started, proofs.passkey.acr) };
  });
}

const refusalOf = (refused: 'passkey_unknown' | 'passkey_refused' | 'expired'): AppError =>
  new AppError(refused === 'expired' ? 'sign_in_expired' : refused);

/** Nobody has proved to be the account, so it is not the actor. */
const refusedEvent = (userId: string | null, reason: string, email?: string): AuditEvent => ({
  action: 'second_factor_failed',
  actorId: null,
  resourceId: userId ?? '',
  details: { ...(email === undefined ? {} : { email }), method: 'passkey', reason },
});

async function settle(
  tx: Tx,
  deps: SecondFactorDeps,
  visitor: Visitor,
  { userId, prepared }: { userId: string; prepared: PreparedPasskey },
): Promise<{ result: Outcome; events: AuditEvent[] }> {
  const locked = await lockEpoch(tx, userId);
  if (!locked)
    return {
      result: { refused: 'passkey_unknown' },
      events: [refusedEvent(null, 'passkey_unknown')],
    };
  const { client } = visitor;
  const { email } = locked;
  const verdict = await judgePasskey(tx, deps, { userId, email }, { prepared });
  if ('refused' in verdict) {
    const { refused, consequences } = verdict;
    return { result: { refused }, events: [...consequences, refusedEvent(userId, refused, email)] };
  }
  const failed = (reason: 'inactive' | 'unverified') => [
    ...verdict.notes,
    failureEvent(client, { reason, email, userId }),
  ];
  if (!locked.is_active) return { result: { refused: 'passkey_refused' }, events: failed('inactive') };
  if (!locked.verified) return { result: { needs: 'verified_email' }, events: failed('unverified') };
  const { started, events } = await beginSession(tx, deps, visitor, { userId, locked, proof: 'passkey' });
  return {
    result: { started },
    events: [...verdict.notes, ...events],
  };
}
