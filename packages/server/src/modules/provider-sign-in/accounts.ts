// Makes accounts for people whom a provider vouches for, connects identities to accounts, and takes over accounts that nobody
// has proved to own. Each function runs in the transaction of the sign-in.
import type { Client } from '../../platform/http/client.ts';
import { newId } from '../../platform/ids.ts';
import type { Tx } from '../../schema/database.ts';
import { assignByName } from '../assignments/unattended.ts';
import type { AuditEvent } from '../audit/service.ts';
import { languageOf } from '../auth/mail-language.ts';
import { seenFrom, warn } from '../auth/warn.ts';
import { deleteDevices } from '../devices/service.ts';
import { deleteAllFactors, endRecovery } from '../factors/service.ts';
import type { ProviderRow } from '../identity-providers/store.ts';
import { clearAttempts } from '../lockout/service.ts';
import { removePassword } from '../passwords/service.ts';
import { endAllSessions } from '../sessions/service.ts';
import {
  cleanNames,
  endLinksOf,
  insertVouched,
  markAccepted,
  markVerified,
  useInvitationsUp,
} from '../users/service.ts';
import type { ProviderSignInDeps } from './deps.ts';
import { deleteIdentitiesOf, insertIdentity } from './identities-store.ts';
import type { Proven } from './reading.ts';
import { giveFirstRoles } from './roles.ts';

export type Arriving = { client: Client; provider: ProviderRow; proven: Proven };

type Owner = { userId: string; email: string; now: Date };
type Connected = { identityId: string; events: AuditEvent[] };
type How = { automatic?: true; taken_over?: true; sessions_ended?: number };

/**
 * Connects the identity to an account whose row is locked. Throws `identities_provider_id_issuer_subject_key` if it is connected
 * to any account.
 */
async function connect(tx: Tx, { provider, proven }: Arriving, userId: string, how: How): Promise<Connected> {
  const { issuer, subject, email, displayName } = proven;
  const identityId = newId();
  await insertIdentity(
    tx,
    {
      id: identityId,
      user_id: userId,
      provider_id: provider.id,
      issuer,
      subject,
      email,
      display_name: displayName,
    },
    { isUsed: how.automatic === true },
  );
  return {
    identityId,
    events: [
      {
        action: 'identity_connected',
        actorId: userId,
        resourceId: userId,
        details: { provider: provider.slug, subject, email, ...how },
      },
    ],
  };
}

/** Connects the identity as `connect` does, and tells the owner of the account. `automatic`: nobody asked for it. */
export async function connectAndTell(
  tx: Tx,
  deps: ProviderSignInDeps,
  arriving: Arriving,
  owner: Owner,
  how: { automatic?: true } = {},
): Promise<Connected> {
  const connected = await connect(tx, arriving, owner.userId, how);
  await tell(tx, deps, 'identity_connected', arriving, owner);
  return connected;
}

const tell = (
  tx: Tx,
  deps: ProviderSignInDeps,
  kind: 'account_made' | 'account_taken_over' | 'identity_connected',
  { client, provider: { name } }: Arriving,
  { email, now }: Pick<Owner, 'email' | 'now'>,
): Promise<void> => warn(tx, deps, kind, { ...seenFrom(client, email, now), provider: name });

/** Of a local part, what the rules for names take; it is ASCII, and never empty. */
const namesFor = ({ names }: Proven, email: string) =>
  cleanNames({ first_name: email.slice(0, email.lastIndexOf('@')), last_name: '', ...names });

/**
 * Makes an account with the address, which is proved. Throws `users_email_key` if another transaction has made one, and as `connect`.
 */
export async function makeAccount(
  tx: Tx,
  deps: ProviderSignInDeps,
  arriving: Arriving,
  email: string,
): Promise<Connected & { userId: string }> {
  const { client, provider, proven } = arriving;
  const userId = newId();
  const now = await insertVouched(tx, {
    id: userId,
    email,
    ...namesFor(proven, email),
    language: languageOf(client),
  });
  const role = deps.settings.defaultRole;
  if (role !== '' && (await assignByName(tx, 'user', [{ id: userId, role }])) === 0)
    deps.log.warn(
      { role },
      'DEFAULT_ROLE names a missing role or a system role: an identity provider made an account without it',
    );
  const roles = await giveFirstRoles(tx, { provider, userId, proven });
  const { identityId, events } = await connect(tx, arriving, userId, { automatic: true });
  await tell(tx, deps, 'account_made', arriving, { email, now });
  const registered = {
    action: 'user_registered',
    actorId: userId,
    resourceId: userId,
    details: { email, method: 'provider', provider: provider.slug },
  } as const;
  return { userId, identityId, events: [registered, ...roles, ...events] };
}

/**
 * Gives an invited account, whose row is locked, to the person who has proved its address: as the mailed link would. Nothing lets
 * anybody else in.
 */
export async function acceptInvitation(
  tx: Tx,
  deps: ProviderSignInDeps,
  arriving: Arriving,
  owner: Owner & { first_name: string; last_name: string },
): Promise<Connected> {
  const { userId, email, first_name, last_name } = owner;
  const { provider, proven } = arriving;
  await useInvitationsUp(tx, userId);
  await clearAttempts(tx, email);
  const names = first_name === '' ? namesFor(proven, email) : { first_name, last_name };
  await markAccepted(tx, userId, { email, ...names });
  const { identityId, events } = await connect(tx, arriving, userId, { automatic: true });
  await tell(tx, deps, 'account_made', arriving, owner);
  const accepted = {
    action: 'invitation_accepted',
    actorId: userId,
    resourceId: userId,
    details: { email, method: 'provider', provider: provider.slug },
  } as const;
  return { identityId, events: [accepted, ...events] };
}

/**
 * Gives an account, whose row is locked, to the person who has proved its address. The person who registered it, or
 * was given it, has proved nothing: everything that lets them in ends. Its roles stay.
 */
export async function takeOver(
  tx: Tx,
  deps: ProviderSignInDeps,
  arriving: Arriving,
  owner: Owner,
): Promise<Connected> {
  const { userId, email } = owner;
  await removePassword(tx, userId);
  const { count } = await endAllSessions(tx, userId, 'taken_over');
  await deleteAllFactors(tx, userId);
  await endRecovery(tx, userId);
  await endLinksOf(tx, userId);
  await deleteDevices(tx, userId, null);
  await deleteIdentitiesOf(tx, userId);
  await clearAttempts(tx, email);
  await markVerified(tx, userId, email);
  const { identityId, events } = await connect(tx, arriving, userId, {
    automatic: true,
    taken_over: true,
    sessions_ended: count,
  });
  await tell(tx, deps, 'account_taken_over', arriving, owner);
  const verified = {
    action: 'email_verified',
    actorId: userId,
    resourceId: userId,
    details: { email },
  } as const;
  return { identityId, events: [verified, ...events] };
}
