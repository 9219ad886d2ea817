// What a browser is asked for to prove a passkey: which of an account's passkeys, and with which challenge.
// It must not verify anything.
import { isUsableRpId, type PasskeySite } from '../../../platform/security/factors/passkey-site.ts';
import {
  type PublicKeyCredentialRequestOptionsJSON,
  requestOptions,
} from '../../../platform/security/factors/passkeys.ts';
import type { Ceremony, PasskeyDeps } from './proofs.ts';
import type { PasskeyRow } from './store.ts';

/** Passkeys of one RP ID: a browser asks for no others at the same time. */
export type AskablePasskeys = { rpId: string; passkeys: readonly PasskeyRow[] };

/**
 * Returns the passkeys of the present RP ID; if the account has none, those of the former one that was used last. Null if
 * no passkey of the account works here.
 */
export function askablePasskeys(site: PasskeySite, passkeys: readonly PasskeyRow[]): AskablePasskeys | null {
  const usable = passkeys.filter(({ rp_id }) => isUsableRpId(site, rp_id));
  const rpId = usable.some(({ rp_id }) => rp_id === site.rpId) ? site.rpId : lastUsed(usable)?.rp_id;
  return rpId === undefined ? null : { rpId, passkeys: usable.filter(({ rp_id }) => rp_id === rpId) };
}

const timeOf = (at: Date | null): number => at?.getTime() ?? 0;

/** Returns the one that was used last; of those that were never used, the newest. */
const lastUsed = (passkeys: readonly PasskeyRow[]): PasskeyRow | undefined =>
  [...passkeys].sort(
    (one, other) =>
      timeOf(other.last_used_at) - timeOf(one.last_used_at) ||
      timeOf(other.created_at) - timeOf(one.created_at),
  )[0];

/** Returns when a passkey of these was last used; null for never. */
export const lastUseOf = ({ passkeys }: AskablePasskeys): Date | null =>
  lastUsed(passkeys)?.last_used_at ?? null;

export type PasskeyRequest = { options: PublicKeyCredentialRequestOptionsJSON; expiresAt: Date };

/** Returns the options of one ceremony. `asked`: null for a sign-in by whichever passkey its owner chooses. */
export function passkeyRequest(
  { passkeySite, passkeyChallenges }: Pick<PasskeyDeps, 'passkeySite' | 'passkeyChallenges'>,
  { purpose, binding }: Ceremony,
  asked: AskablePasskeys | null,
  userVerification: 'required' | 'preferred',
): PasskeyRequest {
  const { challenge, expiresAt } = passkeyChallenges.issue(purpose, binding);
  const allow = asked?.passkeys.map(({ credential_id, transports }) => ({
    credentialId: credential_id,
    transports,
  }));
  const options = requestOptions({
    rpId: asked?.rpId ?? passkeySite.rpId,
    challenge,
    userVerification,
    ...(allow ? { allow } : {}),
  });
  return { options, expiresAt };
}
