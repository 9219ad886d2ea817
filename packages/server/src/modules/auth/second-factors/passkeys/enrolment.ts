// Changes of a person's own passkeys and security keys: add, rename and remove them.
// A registration needs a fresh proof twice: before the browser is asked, and in the transaction that stores it.
import type { NewPasskeyBody, Passkey } from '@castellan/contract/passkeys';
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
import type { Db } from '../../../../schema/database.ts';
import { inRecordedTransaction } from '../../../audit/service.ts';
import type { UserCaller } from '../../../authz/caller.ts';
import {
  countPasskeys,
  deletePasskey,
  hasFactor,
  insertPasskey,
  listPasskeys,
  type PasskeyRow,
  passkeyOf,
  renamePasskey,
  requireFresh,
  useChallenge,
} from '../../../factors/service.ts';
import { requireWayToSignIn, signsInAlone } from '../../../sign-in-ways/service.ts';
import {
  type Changed,
  type Ended,
  factorAdded,
  factorRemoved,
  makeRecoveryCodes,
  ownEvent,
  presentChange,
} from '../changes.ts';
import type { SecondFactorDeps } from '../deps.ts';
import { malformedPasskey } from '../proofs.ts';
import { holdCaller } from '../tokens.ts';

const MAX_PASSKEYS = 20;
const MAX_NAME_LENGTH = 100;

/** Throws `passkeys_unavailable` (409). */
function requireRegistration({ settings, passkeySite }: SecondFactorDeps): void {
  if (!settings.secondFactors.includes('passkey') || !passkeySite.isFit)
    throw new AppError('passkeys_unavailable');
}

async function requireRoom(db: Db, userId: string): Promise<void> {
  if ((await countPasskeys(db, userId)) >= MAX_PASSKEYS) throw new AppError('too_many_factors');
}

/** Returns what the browser gets to make a credential. Throws `passkeys_unavailable` and `too_many_factors` (409). */
export async function beginPasskey(
  deps: SecondFactorDeps,
  { principal }: UserCaller,
  kind: PasskeyKind,
): Promise<{ options: PublicKeyCredentialCreationOptionsJSON; expiresAt: Date }> {
  requireRegistration(deps);
  await requireRoom(deps.db, principal.id);
  const passkeys = await listPasskeys(deps.db, principal.id);
  const { challenge, expiresAt } = deps.passkeyChallenges.issue('registration', principal.session.id);
  const { first_name, last_name } = principal.record;
  const options = creationOptions({
    rpId: deps.passkeySite.rpId,
    rpName: deps.settings.serviceName,
    challenge,
    kind,
    user: {
      id: principal.id,
      email: shownEmail(principal.email),
      displayName: `${first_name} ${last_name}`.trim(),
    },
    exclude: passkeys.map(({ credential_id, transports }) => ({ credentialId: credential_id, transports })),
  });
  return { options, expiresAt };
}

/**
 * Adds the credential that the browser made. Throws `passkey_refused` (422), `passkeys_unavailable`, `passkey_taken` and
 * `too_many_factors` (409).
 */
export async function addPasskey(
  deps: SecondFactorDeps,
  caller: UserCaller,
  body: NewPasskeyBody,
): Promise<Changed & { passkey: Passkey }> {
  const { client, principal } = caller;
  const name = nameOf(client, body);
  const { kind, passkey: response } = body;
  if (!isRegistrationShape(response)) throw malformedPasskey();
  requireRegistration(deps);
  const { credential, challenge } = await verified(deps, caller, { kind, response });
  const codes = (await hasFactor(deps.db, principal.id)) ? null : await makeRecoveryCodes(deps, caller);
  const outcome = await inRecordedTransaction<Ended & { row: PasskeyRow }>(deps, client, async (tx) => {
    const held = await holdCaller(tx, caller);
    await requireFresh(tx, deps, principal);
    if (!(await useChallenge(tx, challenge))) throw new AppError('passkey_refused');
    await requireRoom(tx, principal.id);
    const row = await insertPasskey(tx, {
      id: newId(),
      user_id: principal.id,
      kind,
      name,
      rp_id: deps.passkeySite.rpId,
      ...columnsOf(credential),
    });
    if (!row) throw new AppError('passkey_taken');
    const event = ownEvent(caller, 'passkey_added', { passkey_id: row.id, name, kind: row.kind });
    const { result, events } = await factorAdded(tx, deps, caller, {
      held,
      codes,
      proved: 'passkey',
      event,
      factor: name,
    });
    return { result: { ...result, row }, events };
  });
  const { row, ...ended } = outcome;
  return { ...(await presentChange(deps, caller, ended)), passkey: passkeyOf(deps.passkeySite, row) };
}

const columnsOf = (credential: RegisteredCredential) => ({
  credential_id: credential.credentialId,
  public_key: credential.publicKey,
  sign_count: credential.signCount,
  transports: credential.transports,
  aaguid: credential.aaguid,
  backup_eligible: credential.backupEligible,
  backed_up: credential.backedUp,
});

/** Returns the given name, or the browser and the system. Throws `validation_failed` (422). */
function nameOf({ userAgent }: Client, { name, kind }: NewPasskeyBody): string {
  if (name !== undefined) return cleanName(name, MAX_NAME_LENGTH);
  const { browser, system } = describeUserAgent(userAgent);
  if (browser !== null && system !== null) return `${browser} on ${system}`;
  return browser ?? system ?? (kind === 'passkey' ? 'Passkey' : 'Security key');
}

async function verified(
  deps: SecondFactorDeps,
  { principal }: UserCaller,
  { kind, response }: { kind: PasskeyKind; response: RegistrationJSON },
) {
  const text = challengeIn(response);
  const challenge = text && deps.passkeyChallenges.read(text, 'registration', principal.session.id);
  const credential =
    text &&
    challenge &&
    (await verifyRegistration(response, {
      challenge: text,
      origins: deps.passkeySite.origins,
      rpId: deps.passkeySite.rpId,
      kind,
      debug: (reason) => deps.log.debug({ reason }, 'a new passkey was refused'),
    }));
  if (!challenge || !credential) throw new AppError('passkey_refused');
  return { credential, challenge };
}

/** Throws `factor_not_found` (404) and `validation_failed` (422). */
export async function changePasskeyName(
  deps: SecondFactorDeps,
  caller: UserCaller,
  id: string,
  input: string,
): Promise<Passkey> {
  const { client, principal } = caller;
  const name = cleanName(input, MAX_NAME_LENGTH);
  const row = await inRecordedTransaction(deps, client, async (tx) => {
    await holdCaller(tx, caller);
    const renamed = await renamePasskey(tx, { user_id: principal.id, id, name });
    if (!renamed) throw new AppError('factor_not_found');
    const { passkey, before } = renamed;
    const event = ownEvent(caller, 'passkey_renamed', { passkey_id: id, before, after: name });
    return { result: passkey, events: before === name ? [] : [event] };
  });
  return passkeyOf(deps.passkeySite, row);
}

/** Throws `factor_not_found` (404), and `last_sign_in_method` (409) for the last way to sign in. */
export async function removePasskey(
  deps: SecondFactorDeps,
  caller: UserCaller,
  id: string,
): Promise<Changed> {
  const { client, principal } = caller;
  const outcome = await inRecordedTransaction(deps, client, async (tx) => {
    const held = await holdCaller(tx, caller);
    await requireFresh(tx, deps, principal);
    const removed = await deletePasskey(tx, principal.id, id);
    if (!removed) throw new AppError('factor_not_found');
    const { name, kind } = removed;
    // A key that only follows a password is no way to sign in.
    if (signsInAlone(deps, removed))
      await requireWayToSignIn(tx, deps, { id: principal.id, email: held.locked.email });
    const eventOf = (ended: number) =>
      ownEvent(caller, 'passkey_removed', { passkey_id: id, name, kind, sessions_ended: ended });
    return factorRemoved(tx, deps, caller, { held, eventOf, factor: name });
  });
  return presentChange(deps, caller, outcome);
}
