// Changes of a person's own passkeys and security keys: add, rename and remove them.
// A registration needs a fresh proof twice: before the browser is asked, and in the transaction that stores it.
import type { NewPasskeyBody, Passkey } from '@castellan/contract/passkeys';
import { AppError } from '../../../../platform/errors.ts';
import type { PasskeyKind } from '../../../../platform/security/factors/passkeys.ts';
import { cleanName } from '../../../../platform/security/record-text.ts';
import type { Db } from '../../../../schema/database.ts';
import { inRecordedTransaction } from '../../../audit/service.ts';
import type { UserCaller } from '../../../authz/caller.ts';
import {
  countPasskeys,
  deletePasskey,
  hasFactor,
  listPasskeys,
  type PasskeyRow,
  passkeyOf,
  renamePasskey,
  requireFresh,
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
import { holdCaller } from '../tokens.ts';
import {
  type CreationRequest,
  creationRequest,
  MAX_PASSKEY_NAME_LENGTH,
  nameOfPasskey,
  readRegistration,
  requireRegistration,
  savePasskey,
  verifyNewPasskey,
} from './registration.ts';

const MAX_PASSKEYS = 20;

const ceremonyOf = ({ principal }: UserCaller) =>
  ({ purpose: 'registration', binding: principal.session.id }) as const;

async function requireRoom(db: Db, userId: string): Promise<void> {
  if ((await countPasskeys(db, userId)) >= MAX_PASSKEYS) throw new AppError('too_many_factors');
}

/** Returns what the browser gets to make a credential. Throws `passkeys_unavailable` and `too_many_factors` (409). */
export async function beginPasskey(
  deps: SecondFactorDeps,
  caller: UserCaller,
  kind: PasskeyKind,
): Promise<CreationRequest> {
  const { principal } = caller;
  requireRegistration(deps);
  await requireRoom(deps.db, principal.id);
  const account = { ...principal.record, id: principal.id, email: principal.email };
  return creationRequest(deps, ceremonyOf(caller), {
    kind,
    account,
    exclude: await listPasskeys(deps.db, principal.id),
  });
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
  const name = nameOfPasskey(client, body);
  const { kind } = body;
  const response = readRegistration(body.passkey);
  requireRegistration(deps);
  const made = await verifyNewPasskey(deps, ceremonyOf(caller), { kind, response });
  const codes = (await hasFactor(deps.db, principal.id))
    ? null
    : await makeRecoveryCodes(deps, client, principal.id);
  const outcome = await inRecordedTransaction<Ended & { row: PasskeyRow }>(deps, client, async (tx) => {
    const held = await holdCaller(tx, caller);
    await requireFresh(tx, deps, principal);
    await requireRoom(tx, principal.id);
    const row = await savePasskey(tx, deps, made, { userId: principal.id, kind, name });
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

/** Throws `factor_not_found` (404) and `validation_failed` (422). */
export async function changePasskeyName(
  deps: SecondFactorDeps,
  caller: UserCaller,
  id: string,
  input: string,
): Promise<Passkey> {
  const { client, principal } = caller;
  const name = cleanName(input, MAX_PASSKEY_NAME_LENGTH);
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
