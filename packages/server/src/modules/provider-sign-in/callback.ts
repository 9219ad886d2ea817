// Ends a sign-in at a provider when its browser comes back: uses the state up, asks the provider who it was, and decides.
// No connection to the database is held while the provider is asked, and nothing of its answer is shown.
import type { Client } from '../../platform/http/client.ts';
import { type AuditEvent, recordBounded } from '../audit/service.ts';
import type { IssuedTokens } from '../auth/devices/begin-session.ts';
import { findActiveProvider, findProviderById, type ProviderRow } from '../identity-providers/store.ts';
import { type Assertion, UpstreamError } from '../identity-providers/upstream/assertion.ts';
import { finishUpstream } from '../identity-providers/upstream/exchange.ts';
import {
  accountPath,
  connectedPage,
  type FailureKind,
  failedPage,
  type Onward,
  pendingPage,
  signedInPage,
} from './addresses.ts';
import { decideArrival, type Outcome, type Refusal } from './decision.ts';
import type { ProviderSignInDeps, SignInResult } from './deps.ts';
import { provenBy } from './reading.ts';
import { type Begun, openBegun, redirectUriOf } from './start.ts';
import { type Consumed, consumeState, hashOf, keepPosted, PENDING_SECONDS } from './store.ts';

/** Where the browser goes on to. `keepSeconds`: how long it keeps its cookie; null clears it, undefined leaves it as it is. */
export type Ended = { location: string; tokens?: IssuedTokens; keepSeconds?: number | null };

/** A browser that comes back. `parameters`: those of the query, or of the form. */
export type Callback = {
  client: Client;
  slug: string;
  cookie: string | undefined;
  deviceTokens: readonly string[];
  parameters: URLSearchParams;
};

/** 256 bits in base64url. */
const STATE = /^[\w-]{43}$/;
const nowhere: Onward = { next: null, interaction: null };

/** Returns the state; undefined for none, one of another form, or several. */
function stateIn(parameters: URLSearchParams): string | undefined {
  const [state, ...others] = parameters.getAll('state');
  return state !== undefined && others.length === 0 && STATE.test(state) ? state : undefined;
}

/** Keeps what a provider posted. Returns the address of the GET, to which the browser brings its cookie. */
export async function keepAnswer(
  deps: ProviderSignInDeps,
  { client, slug, parameters }: Omit<Callback, 'cookie' | 'deviceTokens'>,
): Promise<Ended> {
  const state = stateIn(parameters);
  if (state === undefined) return fail(deps, { client, slug }, { kind: 'expired', reason: 'no_state' });
  const stateHash = hashOf(state);
  const posted = deps.providerSignIns.sealState(stateHash, parameters.toString());
  await keepPosted(deps.db, { stateHash, slug }, posted);
  return { location: `${redirectUriOf(deps, slug)}?${new URLSearchParams({ state })}` };
}

/** What failed: for the page, and for operators. */
type Failure = {
  kind: FailureKind;
  reason: string;
  code?: string;
  onward?: Onward;
  userId?: string | undefined;
};

const counted: Readonly<Record<FailureKind, SignInResult>> = {
  denied: 'denied',
  expired: 'expired',
  unavailable: 'unavailable',
  unacceptable: 'unacceptable',
  not_allowed: 'refused',
  invitation: 'refused',
  limited: 'limited',
  taken: 'refused',
  session: 'refused',
};

async function fail(
  deps: ProviderSignInDeps,
  { client, slug }: { client: Client; slug: string },
  { kind, reason, code, onward = nowhere, userId }: Failure,
): Promise<Ended> {
  deps.providerSignIns.count(counted[kind]);
  const event: AuditEvent = {
    action: 'provider_sign_in_failed',
    actorId: null,
    resourceId: userId ?? '',
    details: {
      provider: slug,
      reason,
      ...(code === undefined ? {} : { code }),
      user_agent: client.userAgent,
    },
  };
  await recordBounded(deps, client, event);
  const failure = { kind, request: client.requestId, provider: slug };
  return { location: failedPage(deps.settings, failure, onward) };
}

/** Returns the page of a browser that comes back too often. The event is that of every limit. */
export async function refuseOften(
  deps: ProviderSignInDeps,
  { client, slug }: { client: Client; slug: string },
): Promise<Ended> {
  deps.providerSignIns.count('limited');
  await recordBounded(deps, client, {
    action: 'rate_limited',
    actorId: null,
    details: { limit: 'provider-start' },
  });
  const failure = { kind: 'limited', request: client.requestId, provider: slug } as const;
  return { location: failedPage(deps.settings, failure, nowhere) };
}

export async function finishSignIn(deps: ProviderSignInDeps, callback: Callback): Promise<Ended> {
  const { slug, cookie } = callback;
  const state = stateIn(callback.parameters);
  const provider = await findActiveProvider(deps.db, slug);
  if (!provider) return fail(deps, callback, { kind: 'unavailable', reason: 'provider_inactive' });
  if (state === undefined || cookie === undefined)
    return fail(deps, callback, { kind: 'expired', reason: state === undefined ? 'no_state' : 'no_cookie' });
  const consumed = await consumeState(deps.db, {
    stateHash: hashOf(state),
    cookieHash: hashOf(cookie),
    providerId: provider.id,
  });
  const begun = consumed && openBegun(deps, consumed);
  if (!consumed || !begun) return fail(deps, callback, { kind: 'expired', reason: 'state' });
  const ended = await conclude(deps, provider, callback, { state, consumed, begun });
  return { keepSeconds: null, ...ended };
}

/** Ends what a browser began. Its cookie is of no more use, unless the person has to do something. */
async function conclude(
  deps: ProviderSignInDeps,
  provider: ProviderRow,
  callback: Callback,
  { state, consumed, begun }: Open,
): Promise<Ended> {
  const { client, slug } = callback;
  const onward = consumed.purpose === 'connect' ? { ...nowhere, next: accountPath(deps.settings) } : begun;
  const read = await askProvider(deps, provider, callback, { state, consumed, begun });
  if (read instanceof UpstreamError)
    return fail(deps, callback, { kind: read.kind, reason: read.kind, code: read.code, onward });
  // While the provider was asked, the record may have come to judge its answer otherwise.
  const current = await findProviderById(deps.db, provider.id);
  if (!current?.is_active || current.version !== provider.version)
    return fail(deps, callback, { kind: 'unavailable', reason: 'provider_inactive', onward });
  const proven = provenBy(current, read, deps.clock.now());
  if (!proven) return fail(deps, callback, { kind: 'unacceptable', reason: 'identity', onward });
  const outcome = await decideArrival(
    deps,
    {
      client,
      browserId: begun.browserId,
      deviceTokens: callback.deviceTokens,
      provider: current,
      proven,
      stateHash: consumed.state_hash,
    },
    consumed,
  );
  return endedBy(deps, { client, slug, onward }, outcome);
}

const refusedAs: Readonly<Record<Refusal, FailureKind>> = {
  inactive: 'not_allowed',
  unverified: 'not_allowed',
  invitation_ended: 'invitation',
  superuser: 'not_allowed',
  provider_inactive: 'unavailable',
  registration_limit: 'limited',
  identity_taken: 'taken',
  session_ended: 'session',
  code_used: 'expired',
};

/**
 * Returns where the browser goes by a decision. One text stands for every reason of an account, except that an invitation has ended:
 * only the person who has proved its address gets so far.
 */
export async function endedBy(
  deps: ProviderSignInDeps,
  { client, slug, onward }: { client: Client; slug: string; onward: Onward },
  outcome: Outcome,
): Promise<Ended> {
  const { providerSignIns, settings, accountMail } = deps;
  if ('refused' in outcome) {
    const { refused: reason, userId } = outcome;
    return fail(deps, { client, slug }, { kind: refusedAs[reason], reason, onward, userId });
  }
  if ('connected' in outcome) {
    providerSignIns.count('connected');
    return { location: connectedPage(settings), keepSeconds: null };
  }
  if ('pending' in outcome) {
    providerSignIns.count(outcome.pending === 'second_factor' ? 'second_factor' : 'pending');
    return { location: pendingPage(settings, onward), keepSeconds: PENDING_SECONDS };
  }
  providerSignIns.count('signed_in');
  accountMail.wake();
  return { location: signedInPage(settings, onward), tokens: outcome.started.tokens, keepSeconds: null };
}

type Open = { state: string; consumed: Consumed; begun: Begun };

async function askProvider(
  deps: ProviderSignInDeps,
  provider: ProviderRow,
  { parameters }: Callback,
  { state, consumed, begun }: Open,
): Promise<Assertion | UpstreamError> {
  const answer = answerIn(deps, consumed) ?? parameters;
  const names = [...answer.keys()];
  // No two programs may read different values from one answer.
  if (new Set(names).size !== names.length) return new UpstreamError('unacceptable', 'repeated_parameter');
  try {
    return await finishUpstream(deps, provider, {
      verifier: begun.verifier,
      nonce: begun.nonce,
      state,
      redirectUri: redirectUriOf(deps, provider.slug),
      parameters: answer,
      ...(begun.maxAge === null ? {} : { maxAge: begun.maxAge }),
    });
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
}

/** Returns what the provider posted; undefined if it answered by the query. */
function answerIn(
  { providerSignIns }: ProviderSignInDeps,
  { state_hash: stateHash, posted_sealed: sealed }: Consumed,
): URLSearchParams | undefined {
  const posted = sealed && providerSignIns.openState<string>(stateHash, sealed);
  return posted ? new URLSearchParams(posted) : undefined;
}
