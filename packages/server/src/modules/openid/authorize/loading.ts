// Reads an authorization request with all that it is judged by: a new one, a pushed one, or one that waits for a person.
// It must not answer it.
import type { Client } from '../../../platform/http/client.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { policyOf } from '../../authz/requirements/account.ts';
import { strongestFactor } from '../../factors/service.ts';
import { readBrowserCookie } from '../../sessions/browser/cookie.ts';
import type { BrowserSession, PresentedBrowser } from '../../sessions/browser/presentation.ts';
import { judgeBrowser } from '../../sessions/browser/session.ts';
import { readHint } from '../id-token-hint.ts';
import { requestIdHash } from '../interactions/service.ts';
import { type By, type InteractionState, type Judged, judge, type Verdict } from './decision.ts';
import { type AuthorizeDeps, countAuthorization, refuseCounted } from './deps.ts';
import { type Parameters, storedParameters } from './parameters.ts';
import {
  type CheckedRequest,
  checkRequest,
  type RequestedApplication,
  type RequestOutcome,
} from './request.ts';
import { type FoundRequest, findRequested, type Wanted } from './store.ts';

/** What a `request_uri` of a pushed request begins with (RFC 9126, 2.2). The id follows. */
export const PUSHED = 'urn:ietf:params:oauth:request_uri:';

export type Loaded = {
  found: FoundRequest;
  parameters: Parameters;
  outcome: RequestOutcome;
  browser: PresentedBrowser | null;
  session: BrowserSession | null;
  /** There is a session, but it counts in its own network only. */
  strayed: { userId: string; sessionId: string } | null;
  graph: Graph | null;
  /** The hashes of the stored requests that an answer uses up. */
  answered: Buffer[];
  /** Of the pushed request that this one began with, in hexadecimal. */
  pushed: string | undefined;
  interactionId: string | undefined;
  began: Date;
  expiresAt: Date | null;
  state: InteractionState;
};

/** Reads a request by one statement. Throws `rate_limited` (429). */
export async function loadRequest(deps: AuthorizeDeps, client: Client, given: Parameters): Promise<Loaded> {
  const browser = readBrowserCookie(client, deps.settings);
  if (!browser) refuseCounted(deps, client);
  const { interaction, request_uri: uri } = given;
  const pushedId =
    interaction === undefined && uri?.startsWith(PUSHED) ? uri.slice(PUSHED.length) : undefined;
  const idHash = requestIdHash(interaction ?? pushedId ?? '');
  const stored: Wanted['stored'] = idHash
    ? { kind: interaction === undefined ? 'pushed' : 'interaction', idHash }
    : null;
  const clientId = interaction === undefined ? (given.client_id ?? null) : null;
  const found = await findRequested(deps.db, { clientId, stored, browser });
  const judged = judgeBrowser(deps.settings, client, found.browser);
  const { session } = judged;
  await countAuthorization(deps, client, session, given);
  const state = (found.stored?.state ?? {}) as InteractionState & { pushed?: string; dpop_jkt?: string };
  const isStored = interaction !== undefined || pushedId !== undefined;
  const parameters = found.stored
    ? withKey(storedParameters(found.stored.parameters), state.dpop_jkt)
    : given;
  const pushed = pushedId === undefined ? state.pushed : idHash?.toString('hex');
  return {
    found,
    parameters,
    outcome: outcomeOf(deps, found, { given, parameters, isStored, isPushed: pushed !== undefined }),
    browser,
    session,
    strayed: !session && judged.reason === 'other_network' ? judged : null,
    graph: session && (await deps.graphSource.at(session.authz_stamp)),
    answered: found.stored
      ? [
          ...(interaction !== undefined && idHash ? [idHash] : []),
          ...(pushed === undefined ? [] : [Buffer.from(pushed, 'hex')]),
        ]
      : [],
    pushed,
    interactionId: found.stored ? interaction : undefined,
    began: interaction !== undefined && found.stored ? found.stored.created_at : found.now,
    expiresAt: found.stored?.expires_at ?? null,
    state: interaction === undefined ? {} : state,
  };
}

const withKey = (parameters: Parameters, dpopJkt: string | undefined): Parameters =>
  dpopJkt === undefined ? parameters : { ...parameters, dpop_jkt: dpopJkt };

function outcomeOf(
  { keyRing, settings }: AuthorizeDeps,
  { application, stored }: FoundRequest,
  request: { given: Parameters; parameters: Parameters; isStored: boolean; isPushed: boolean },
): RequestOutcome {
  const { given, parameters, isStored, isPushed } = request;
  if (isStored && !stored) return { page: given.interaction === undefined ? 'request_uri' : 'finished' };
  if (given.interaction === undefined && isStored && application?.client_id !== given.client_id)
    return { page: 'request_uri' };
  return checkRequest(application, parameters, {
    isPushed,
    readHint: (hint) => readHint(keyRing, settings.publicUrl, hint),
  });
}

/** Returns what the request leads to. */
export function verdictOf(
  deps: AuthorizeDeps,
  loaded: Loaded,
  { application, request }: { application: RequestedApplication; request: CheckedRequest },
): Promise<Verdict> {
  const { found, session, state, began } = loaded;
  const policy = policyOf(deps.settings);
  const judged: Judged = { application, request, session, consent: found.consent, began, state };
  const by: By = {
    graph: loaded.graph,
    policy,
    consentDays: deps.settings.consentDays,
    now: found.now,
    reachable: async () =>
      session?.has_factor ? strongestFactor(deps.db, session.user_id, policy.rpIds) : 'aal1',
  };
  return judge(judged, by);
}
