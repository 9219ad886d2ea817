// Decides what follows when a provider has said who somebody is: a session, a second step, something that the person has to do, or
// a refusal. Every decision is made under the lock of the user's row, and races are decided by unique keys.
import type { SecondFactorRequest } from '@castellan/contract/authentication';
import { brokenConstraint } from '../../platform/db/failures.ts';
import type { Client } from '../../platform/http/client.ts';
import type { Tx } from '../../schema/database.ts';
import { type AuditEvent, inRecordedTransaction } from '../audit/service.ts';
import { mayCreateAccount, mayRegisterFrom } from '../auth/abuse.ts';
import { beginSession, type Started } from '../auth/devices/begin-session.ts';
import { proofOf } from '../auth/login.ts';
import { openSecondStep } from '../auth/second-factors/pending.ts';
import { findDeviceId } from '../devices/service.ts';
import { keepActiveProvider, type ProviderRow } from '../identity-providers/store.ts';
import { type LockedHolder, lockEpoch } from '../passwords/service.ts';
import { lockLiveSession, type SessionOrigin } from '../sessions/service.ts';
import { acceptInvitation, connectAndTell, makeAccount, takeOver } from './accounts.ts';
import type { ProviderSignInDeps } from './deps.ts';
import {
  findIdentity,
  findUserIdByEmail,
  isAdministrative,
  noteUse,
  readAccount,
} from './identities-store.ts';
import { mayAddAccount, type Proven } from './reading.ts';
import { follow, missingIn } from './roles.ts';
import { consumeCode, finishPending, keepResult, PENDING_SECONDS } from './store.ts';

/** Why an account, or an identity, does not get in. */
export type Refusal =
  | 'inactive'
  | 'unverified'
  | 'invitation_ended'
  | 'superuser'
  | 'provider_inactive'
  | 'registration_limit'
  | 'identity_taken'
  | 'session_ended'
  | 'code_used';

/** What a person has to do before there is a session. */
type PendingStep = 'connect' | 'email' | 'sign_up';

export type Outcome =
  | { started: Started }
  | { connected: string }
  | { pending: PendingStep | 'second_factor' }
  | { refused: Refusal; userId?: string };

/** What waits in the browser, sealed in the row of the sign-in. */
export type Kept =
  | { step: PendingStep; proven: Proven }
  | { step: 'second_factor'; email: string | null; request: SecondFactorRequest };

export type Arrival = {
  client: Client;
  /** The id in the CSRF cookie of the browser that began. */
  browserId: string;
  deviceTokens: readonly string[];
  provider: ProviderRow;
  proven: Proven;
  stateHash: Buffer;
};

/** How the person proved the address. `code`: what they typed is right for this hash. */
export type ByAddress = { email: string; code: Buffer | null };

type Purpose = { purpose: string; user_id: string | null; session_id: string | null };
type Decided = { result: Outcome; events: AuditEvent[] };

/** Rolls back, so that an account which is about to be made is counted first. */
class CreationError extends Error {
  readonly email: string;
  constructor(email: string) {
    super('an account is about to be made');
    this.email = email;
  }
}
/** Rolls back, because what was read before a lock has changed under it. */
class ChangedError extends Error {}

type Decide = (tx: Tx, isCounted: boolean) => Promise<Decided>;

const races: readonly (string | undefined)[] = [
  'users_email_key',
  'identities_provider_id_issuer_subject_key',
];
const MAX_ATTEMPTS = 5;

/** Decides in one transaction. A decision that lost a race is made anew: of two callbacks of one new person, one makes the account. */
async function deciding(deps: ProviderSignInDeps, client: Client, decide: Decide): Promise<Outcome> {
  let isCounted = false;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await inRecordedTransaction(deps, client, (tx) => decide(tx, isCounted));
    } catch (error) {
      if (error instanceof CreationError) {
        if (!(await mayRegisterFrom(deps, client)) || !(await mayCreateAccount(deps, error.email)))
          return { refused: 'registration_limit' };
        isCounted = true;
        continue;
      }
      const isLost = error instanceof ChangedError || races.includes(brokenConstraint(error));
      if (!isLost || attempt >= MAX_ATTEMPTS) throw error;
    }
  }
}

/** Decides what follows when a browser comes back from a provider. */
export const decideArrival = (
  deps: ProviderSignInDeps,
  arrival: Arrival,
  purpose: Purpose,
): Promise<Outcome> =>
  deciding(deps, arrival.client, async (tx, isCounted) => {
    const { user_id: userId, session_id: sessionId } = purpose;
    if (purpose.purpose === 'connect')
      return userId === null || sessionId === null
        ? refuse('session_ended')
        : connectToOwn(tx, deps, arrival, { userId, sessionId });
    const known = await findIdentity(tx, keyOf(arrival));
    if (known) return enter(tx, deps, arrival, known);
    const { email, isTrusted } = arrival.proven;
    if (email === null || !isTrusted) return keep(tx, deps, arrival, 'email');
    return decideByAddress(tx, deps, arrival, { by: { email, code: null }, isCounted });
  });

/** Decides what follows when a person has typed the code that was mailed to them. */
export const decideByCode = (
  deps: ProviderSignInDeps,
  arrival: Arrival,
  by: ByAddress & { code: Buffer },
): Promise<Outcome> =>
  deciding(deps, arrival.client, async (tx, isCounted) => {
    if (!(await consumeCode(tx, arrival.stateHash, by.code))) return refuse('code_used');
    const known = await findIdentity(tx, keyOf(arrival));
    const decided = known
      ? await enter(tx, deps, arrival, known)
      : await decideByAddress(tx, deps, arrival, { by, isCounted });
    if ('started' in decided.result) await finishPending(tx, arrival.stateHash);
    return decided;
  });

const keyOf = ({ provider, proven: { issuer, subject } }: Arrival) => ({
  provider_id: provider.id,
  issuer,
  subject,
});

/** The record may be changed while the transaction waits for the user's lock: nothing is decided by what it no longer says. */
const keepsProvider = (tx: Tx, { provider: { id, version } }: Arrival): Promise<boolean> =>
  keepActiveProvider(tx, id, version);

const refuse = (refused: Refusal, userId?: string): Decided => ({
  result: { refused, ...(userId === undefined ? {} : { userId }) },
  events: [],
});

/** Keeps what the provider said until the person has done what is to do. */
async function keep(
  tx: Tx,
  { providerSignIns }: ProviderSignInDeps,
  { stateHash, proven }: Arrival,
  step: PendingStep,
): Promise<Decided> {
  const kept: Kept = { step, proven };
  await keepResult(tx, stateHash, providerSignIns.sealState(stateHash, kept), PENDING_SECONDS);
  return { result: { pending: step }, events: [] };
}

/** Connects the identity to exactly the account of the session, whatever address the provider tells. */
async function connectToOwn(
  tx: Tx,
  deps: ProviderSignInDeps,
  arrival: Arrival,
  { userId, sessionId }: { userId: string; sessionId: string },
): Promise<Decided> {
  const locked = await lockEpoch(tx, userId);
  // Before the session, which what ends at a provider locks after it.
  const isKept = await keepsProvider(tx, arrival);
  if (!locked?.is_active || !(await lockLiveSession(tx, userId, sessionId))) return refuse('session_ended');
  if (!isKept) return refuse('provider_inactive');
  const known = await findIdentity(tx, keyOf(arrival));
  if (known) return known.user_id === userId ? done(known.id) : refuse('identity_taken', userId);
  const { identityId, events } = await connectAndTell(tx, deps, arrival, { ...locked, userId });
  return { ...done(identityId), events };
}

const done = (identityId: string): Decided => ({ result: { connected: identityId }, events: [] });

/** Signs the owner of an identity in. */
async function enter(
  tx: Tx,
  deps: ProviderSignInDeps,
  arrival: Arrival,
  { id, user_id: userId }: { id: string; user_id: string },
): Promise<Decided> {
  const { provider, proven } = arrival;
  const locked = await lockEpoch(tx, userId);
  if (!(await keepsProvider(tx, arrival))) return refuse('provider_inactive');
  if (!locked || (await findIdentity(tx, keyOf(arrival)))?.id !== id) throw new ChangedError();
  if (!locked.is_active) return refuse('inactive', userId);
  if (!locked.verified) return refuse('unverified', userId);
  const account = await readAccount(tx, userId);
  if (!account || (account.is_superuser && !provider.allow_superusers)) return refuse('superuser', userId);
  await noteUse(tx, { id, email: proven.email, display_name: proven.displayName });
  const followed = await follow(tx, account, { provider, userId, proven });
  const began = await begin(tx, deps, arrival, { identityId: id, userId, locked });
  return { ...began, events: [...followed, ...began.events] };
}

type Proved = { by: ByAddress; isCounted: boolean };

/** Decides by an address that the person has proved, for an identity that is not known. */
async function decideByAddress(
  tx: Tx,
  deps: ProviderSignInDeps,
  arrival: Arrival,
  { by: { email, code }, isCounted }: Proved,
): Promise<Decided> {
  const { provider, proven } = arrival;
  // People of this domain come from another provider, as at a registration.
  const isElsewhere = (deps.requiredProviders.find(email)?.slug ?? provider.slug) !== provider.slug;
  const userId = await findUserIdByEmail(tx, email);
  if (userId === undefined) {
    // A code proves an address that the provider did not tell.
    const address = { email, isRelay: code === null && proven.isRelay };
    if (isElsewhere || !mayAddAccount(provider, address)) return keep(tx, deps, arrival, 'sign_up');
    if (!isCounted) throw new CreationError(email);
    if (!(await keepsProvider(tx, arrival))) return refuse('provider_inactive');
    const made = await makeAccount(tx, deps, arrival, email);
    return beginAs(tx, deps, arrival, made);
  }
  const locked = await lockEpoch(tx, userId);
  // Another callback may have connected the identity since it was looked for.
  if (locked?.email !== email || (await findIdentity(tx, keyOf(arrival)))) throw new ChangedError();
  if (!(await keepsProvider(tx, arrival))) return refuse('provider_inactive');
  if (!locked.is_active) return refuse('inactive', userId);
  const account = await readAccount(tx, userId);
  if (!account || (account.is_superuser && !provider.allow_superusers)) return refuse('superuser', userId);
  const owner = { userId, email, now: locked.now };
  if (!locked.verified && isElsewhere) return keep(tx, deps, arrival, 'sign_up');
  // Factors are set up after a sign-in: somebody has proved this account before, and does not lose it with a mailbox.
  if (!locked.verified && (locked.has_factor || locked.recovery_pending)) return refuse('unverified', userId);
  if (!locked.verified) {
    const isInvited = account.invited_at !== null;
    // As its mailed link would be. An administrator decides whether they may still come.
    if (isInvited && !account.is_invitation_open) return refuse('invitation_ended', userId);
    const taken = isInvited
      ? await acceptInvitation(tx, deps, arrival, { ...owner, ...account })
      : await takeOver(tx, deps, arrival, owner);
    const followed = await follow(tx, account, { provider, userId, proven });
    return beginAs(tx, deps, arrival, { ...taken, userId, events: [...taken.events, ...followed] });
  }
  const isTrusted = code === null && provider.connect === 'trusted';
  if (!isTrusted || (await isAdministrative(tx, userId))) return keep(tx, deps, arrival, 'connect');
  const connected = await connectAndTell(tx, deps, arrival, owner, { automatic: true });
  const followed = await follow(tx, account, { provider, userId, proven });
  return beginAs(tx, deps, arrival, { ...connected, userId, events: [...connected.events, ...followed] });
}

/** Begins the session of an account as the transaction has left it. */
async function beginAs(
  tx: Tx,
  deps: ProviderSignInDeps,
  arrival: Arrival,
  { userId, identityId, events }: { userId: string; identityId: string; events: AuditEvent[] },
): Promise<Decided> {
  const locked = await lockEpoch(tx, userId);
  if (!locked) throw new ChangedError();
  const began = await begin(tx, deps, arrival, { identityId, userId, locked });
  return { ...began, events: [...events, ...began.events] };
}

/** Returns when the person signed in at the provider, by the clock of the database, which judges how fresh a proof is. */
const provedAt = (
  { clock }: Pick<ProviderSignInDeps, 'clock'>,
  { signedInAt }: Proven,
  { now }: Pick<LockedHolder, 'now'>,
): Date => new Date(now.getTime() - (clock.now() - signedInAt));

type Entering = { identityId: string; userId: string; locked: LockedHolder };

/** Starts the session, or the second step of an account that must prove more. */
async function begin(
  tx: Tx,
  deps: ProviderSignInDeps,
  { client, browserId, deviceTokens, provider, proven, stateHash }: Arrival,
  { identityId, userId, locked }: Entering,
): Promise<Decided> {
  const { providerSignIns, settings } = deps;
  const visitor = { client, browserId, deviceTokens };
  const idToken = proven.idToken;
  const origin: SessionOrigin = {
    identity_id: identityId,
    provider_sid: proven.sid,
    provider_id_token_sealed: idToken === null ? null : providerSignIns.sealIdToken(identityId, idToken),
  };
  const details = {
    ...(proven.email !== null && proven.email !== locked.email ? { email_differs: true } : {}),
    ...missingIn(proven.roles),
  };
  const deviceId = await findDeviceId(tx, settings, userId, deviceTokens);
  const proof =
    proven.hasMfa && !locked.recovery_pending
      ? 'provider+mfa'
      : await proofOf(tx, deps, 'provider', { userId, locked, deviceId });
  if (proof !== null) {
    const by = { provider: provider.slug, origin, details };
    const { started, events } = await beginSession(tx, deps, visitor, {
      userId,
      locked,
      proof,
      provedAt: provedAt(deps, proven, locked),
      by,
    });
    return { result: { started }, events };
  }
  const request = await openSecondStep(tx, deps, { userId, client, browserId, deviceId, origin, ...locked });
  const kept: Kept = { step: 'second_factor', email: proven.email, request };
  const seconds = Math.ceil((Date.parse(request.expires_at) - locked.now.getTime()) / 1_000);
  await keepResult(tx, stateHash, providerSignIns.sealState(stateHash, kept), seconds);
  const event = {
    action: 'second_factor_requested',
    actorId: userId,
    resourceId: userId,
    details: {
      email: locked.email,
      methods: request.methods,
      user_agent: client.userAgent,
      method: 'provider',
      provider: provider.slug,
      ...details,
    },
  } as const;
  return { result: { pending: 'second_factor' }, events: [event] };
}
