// Accepts an invitation with a passkey, in the place of a password: only where passkeys sign in alone.
// A passkey is a factor, so that recovery codes come with it.
import type { InvitationPasskeyBody } from '@castellan/contract/invitations';
import { AppError } from '../../../platform/errors.ts';
import { allHandled } from '../../../platform/fields.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { RegistrationJSON } from '../../../platform/security/factors/passkeys.ts';
import type { Tx } from '../../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction } from '../../audit/service.ts';
import { replaceRecoveryCodes } from '../../factors/service.ts';
import { lockEpoch, type PasswordHolder } from '../../passwords/service.ts';
import { readRecord, type VersionedUser } from '../../users/service.ts';
import { turnKeyOf } from '../one-time-tokens.ts';
import { makeRecoveryCodes } from '../second-factors/changes.ts';
import {
  type CreationRequest,
  canRegister,
  creationRequest,
  nameOfPasskey,
  savePasskey,
  verifyNewPasskey,
} from '../second-factors/passkeys/registration.ts';
import { signInMethods } from '../second-factors/passkeys/sign-in.ts';
import { seenFrom, warn } from '../warn.ts';
import { type InvitationDeps, invitedBy } from './invited.ts';

const kind = 'passkey';

/** Whether somebody can set up a passkey here, and sign in with it alone. */
export const canAcceptByPasskey = (deps: InvitationDeps): boolean =>
  canRegister(deps) && signInMethods(deps).passkey.available;

/** Throws `passkeys_unavailable` (409). */
export function requirePasskeys(deps: InvitationDeps): void {
  if (!canAcceptByPasskey(deps)) throw new AppError('passkeys_unavailable');
}

/** A challenge counts for one link, so that a new link ends it. */
const ceremonyOf = (token: string) => ({ purpose: 'invitation', binding: turnKeyOf(token) }) as const;

/**
 * Returns what the browser gets to make the passkey. Throws what `invitedBy` throws, so that no passkey is made in vain, and
 * `passkeys_unavailable` (409).
 */
export async function beginAcceptance(
  deps: InvitationDeps,
  client: Client,
  { token, first_name, last_name, ...rest }: InvitationPasskeyBody,
): Promise<CreationRequest> {
  allHandled(rest);
  requirePasskeys(deps);
  const holder = await invitedBy(deps, client, token, { first_name, last_name });
  return creationRequest(deps, ceremonyOf(token), { kind, account: { ...holder, id: holder.user_id } });
}

type Acceptance = {
  holder: PasswordHolder;
  token: string;
  response: RegistrationJSON;
  /** Uses the link up, under the lock of the user's row. */
  consume: (tx: Tx) => Promise<void>;
};

/** Throws `passkey_refused` (422), `passkey_taken` (409), `invitation_token_invalid`, and the errors of `consume`. */
export async function acceptByPasskey(
  deps: InvitationDeps,
  client: Client,
  { holder: { user_id: id, email }, token, response, consume }: Acceptance,
): Promise<{ record: VersionedUser; recoveryCodes: string[] }> {
  const made = await verifyNewPasskey(deps, ceremonyOf(token), { kind, response });
  const codes = await makeRecoveryCodes(deps, client, id);
  const name = nameOfPasskey(client, { kind });
  const eventOf = (action: AuditEvent['action'], details: Record<string, unknown>): AuditEvent => ({
    action,
    actorId: id,
    resourceId: id,
    details: { email, ...details },
  });
  const record = await inRecordedTransaction(deps, client, async (tx) => {
    const locked = await lockEpoch(tx, id);
    if (!locked) throw new AppError('invitation_token_invalid');
    await consume(tx);
    const row = await savePasskey(tx, deps, made, { userId: id, kind, name });
    await replaceRecoveryCodes(tx, id, codes.rows);
    await warn(tx, deps, 'second_factor_added', { ...seenFrom(client, email, locked.now), factor: name });
    return {
      result: await readRecord(tx, id),
      events: [
        eventOf('invitation_accepted', { method: kind }),
        eventOf('passkey_added', { passkey_id: row.id, name, kind }),
        eventOf('recovery_codes_created', { count: codes.texts.length }),
      ],
    };
  });
  return { record, recoveryCodes: codes.texts };
}
