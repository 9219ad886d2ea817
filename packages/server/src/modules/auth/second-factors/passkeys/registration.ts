// Registers passkeys and security keys: what a browser is asked to make, and what it answers.
// It must not decide who may register one: a session with a fresh proof does, or the link of an invitation.
import type { NewPasskeyBody } from '@castellan/contract/passkeys';
import { AppError } from '../../../../platform/errors.ts';
import type { Client } from '../../../../platform/http/client.ts';
import { describeUserAgent } from '../../../../platform/http/user-agent.ts';
import { newId } from '../../../../platform/ids.ts';
import { shownEmail } from '../../../../platform/security/email.ts';
import {
  challengeIn,
  creationOptions,
  isRegistrationShape,
  type PasskeyKind,
  type PublicKeyCredentialCreationOptionsJSON,
  type RegisteredCredential,
  type RegistrationJSON,
  verifyRegistration,
} from '../../../../platform/security/factors/passkeys.ts';
import { cleanName } from '../../../../platform/security/record-text.ts';
import type { Tx } from '../../../../schema/database.ts';
import { insertPasskey, type PasskeyDeps, type PasskeyRow, useChallenge } from '../../../factors/service.ts';
import type { SecondFactorDeps } from '../deps.ts';
import { malformedPasskey } from '../proofs.ts';

export const MAX_PASSKEY_NAME_LENGTH = 100;

type Site = Pick<SecondFactorDeps, 'settings' | 'passkeySite'>;

export const canRegister = ({ settings, passkeySite }: Site): boolean =>
  settings.secondFactors.includes('passkey') && passkeySite.isFit;

/** Throws `passkeys_unavailable` (409). */
export function requireRegistration(site: Site): void {
  if (!canRegister(site)) throw new AppError('passkeys_unavailable');
}

/** `binding`: the session, or the link of the invitation. */
type Ceremony = { purpose: 'registration' | 'invitation'; binding: string };

export type CreationRequest = { options: PublicKeyCredentialCreationOptionsJSON; expiresAt: Date };

export function creationRequest(
  { passkeySite, passkeyChallenges, settings }: Site & Pick<PasskeyDeps, 'passkeyChallenges'>,
  { purpose, binding }: Ceremony,
  {
    kind,
    account: { id, email, first_name, last_name },
    exclude = [],
  }: {
    kind: PasskeyKind;
    account: { id: string; email: string; first_name: string; last_name: string };
    /** Those that the account has already. */
    exclude?: readonly PasskeyRow[];
  },
): CreationRequest {
  const { challenge, expiresAt } = passkeyChallenges.issue(purpose, binding);
  const options = creationOptions({
    rpId: passkeySite.rpId,
    rpName: settings.serviceName,
    challenge,
    kind,
    user: { id, email: shownEmail(email), displayName: `${first_name} ${last_name}`.trim() },
    exclude: exclude.map(({ credential_id, transports }) => ({ credentialId: credential_id, transports })),
  });
  return { options, expiresAt };
}

/** Throws `validation_failed` (422) unless each member is canonical base64url and the ids are equal. */
export function readRegistration(input: unknown): RegistrationJSON {
  if (isRegistrationShape(input)) return input;
  throw malformedPasskey();
}

/** Returns the given name, or the browser and the system. Throws `validation_failed` (422). */
export function nameOfPasskey(
  { userAgent }: Client,
  { name, kind }: Pick<NewPasskeyBody, 'name' | 'kind'>,
): string {
  if (name !== undefined) return cleanName(name, MAX_PASSKEY_NAME_LENGTH);
  const { browser, system } = describeUserAgent(userAgent);
  if (browser !== null && system !== null) return `${browser} on ${system}`;
  return browser ?? system ?? (kind === 'passkey' ? 'Passkey' : 'Security key');
}

/** A credential whose registration is right. Its challenge waits to be used up. */
export type MadePasskey = { credential: RegisteredCredential; challenge: { hash: Buffer; expiresAt: Date } };

/** Throws `passkey_refused` (422). */
export async function verifyNewPasskey(
  { passkeyChallenges, passkeySite, log }: PasskeyDeps,
  { purpose, binding }: Ceremony,
  { kind, response }: { kind: PasskeyKind; response: RegistrationJSON },
): Promise<MadePasskey> {
  const text = challengeIn(response);
  const challenge = text && passkeyChallenges.read(text, purpose, binding);
  const credential =
    text &&
    challenge &&
    (await verifyRegistration(response, {
      challenge: text,
      origins: passkeySite.origins,
      rpId: passkeySite.rpId,
      kind,
      debug: (reason) => log.debug({ reason }, 'a new passkey was refused'),
    }));
  if (!challenge || !credential) throw new AppError('passkey_refused');
  return { credential, challenge };
}

/**
 * Uses the challenge up and stores the credential. Throws `passkey_refused` (422) and `passkey_taken` (409). Call it under the lock of
 * the user's row.
 */
export async function savePasskey(
  tx: Tx,
  { passkeySite }: Pick<PasskeyDeps, 'passkeySite'>,
  { credential, challenge }: MadePasskey,
  { userId, kind, name }: { userId: string; kind: PasskeyKind; name: string },
): Promise<PasskeyRow> {
  if (!(await useChallenge(tx, challenge))) throw new AppError('passkey_refused');
  const row = await insertPasskey(tx, {
    id: newId(),
    user_id: userId,
    kind,
    name,
    rp_id: passkeySite.rpId,
    credential_id: credential.credentialId,
    public_key: credential.publicKey,
    sign_count: credential.signCount,
    transports: credential.transports,
    aaguid: credential.aaguid,
    backup_eligible: credential.backupEligible,
    backed_up: credential.backedUp,
  });
  if (!row) throw new AppError('passkey_taken');
  return row;
}
