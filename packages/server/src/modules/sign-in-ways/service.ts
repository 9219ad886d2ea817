// Keeps people from taking away their last way to sign in: a password, a passkey that signs in alone, or an identity.
// It must not count the mail of a password reset as one: the mailbox may be gone.
import { AppError } from '../../platform/errors.ts';
import { type PasskeySite, usableRpIds } from '../../platform/security/factors/passkey-site.ts';
import type { Tx } from '../../schema/database.ts';
import type { RequiredProviders } from '../required-providers/service.ts';
import { readWays } from './store.ts';

export type SignInWaysDeps = {
  passkeySite: PasskeySite;
  requiredProviders: RequiredProviders;
  settings: { passkeySignIn: boolean };
};

/** Whether a passkey or security key signs in without a password here. */
export const signsInAlone = (
  { passkeySite, settings }: Pick<SignInWaysDeps, 'passkeySite' | 'settings'>,
  { kind, rp_id }: { kind: string; rp_id: string },
): boolean => settings.passkeySignIn && kind === 'passkey' && usableRpIds(passkeySite).includes(rp_id);

/**
 * Throws `last_sign_in_method` (409) if the account has no way to sign in. Call it with the lock of the user's row, after the way is
 * removed: of two removals at once, the second sees the first.
 */
export async function requireWayToSignIn(
  tx: Tx,
  { passkeySite, requiredProviders, settings }: SignInWaysDeps,
  { id, email }: { id: string; email: string },
): Promise<void> {
  const rpIds = settings.passkeySignIn ? usableRpIds(passkeySite) : [];
  const ways = await readWays(tx, { userId: id, rpIds });
  // A password is none where the domain of the address requires a provider.
  const isPasswordOpen = requiredProviders.find(email) === undefined;
  if (!((ways.has_password && isPasswordOpen) || ways.has_passkey || ways.has_identity))
    throw new AppError('last_sign_in_method');
}
