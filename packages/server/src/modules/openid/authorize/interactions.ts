// The operations of the pages between an authorization request and its answer. Each leads on to the request, which judges anew.
// What a person did counts for them alone: anyone may open a request that somebody else began.

import type { StepUpBody } from '@castellan/contract/factors';
import type { AccountBody, ConsentBody, Interaction, Redirect } from '@castellan/contract/interactions';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { Language } from '../../../platform/languages.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import { recordEvent } from '../../audit/service.ts';
import { type UserPrincipal, userPrincipal } from '../../authz/caller.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { listShownProviders } from '../../identity-providers/store.ts';
import type { BrowserSession, PresentedBrowser } from '../../sessions/browser/presentation.ts';
import { logout } from '../../sessions/service.ts';
import { noteInRequest } from '../interactions/service.ts';
import { pageLanguage } from '../plain-page.ts';
import { askedHash } from './decision.ts';
import type { AuthorizeDeps } from './deps.ts';
import { type Loaded, loadRequest, verdictOf } from './loading.ts';
import { hostOf } from './redirect-address.ts';
import type { CheckedRequest, RequestedApplication } from './request.ts';
import { textOf } from './scope-texts.ts';
import { interactionAddress, noteAsked } from './service.ts';
import { type FoundRequest, writeConsent } from './store.ts';

type Open = { loaded: Loaded; application: RequestedApplication; request: CheckedRequest };

/** Returns a request that waits. Throws `interaction_not_found` (404) for every other, and if it can no longer be answered. */
const openInteraction = async (deps: AuthorizeDeps, client: Client, id: string): Promise<Open> =>
  openedBy(await load(deps, client, id));

const load = (deps: AuthorizeDeps, client: Client, id: string): Promise<Loaded> =>
  loadRequest(deps, client, { interaction: id, resource: [] });

function openedBy(loaded: Loaded): Open {
  const { outcome, found } = loaded;
  if (loaded.interactionId === undefined || !found.application || !('checked' in outcome))
    throw new AppError('interaction_not_found');
  return { loaded, application: found.application, request: outcome.checked };
}

type Signed = Open & { session: BrowserSession; browser: PresentedBrowser; graph: Graph };

/** As `openInteraction`. Throws `browser_session_required` (401) if nobody is signed in, before anything is said of the request. */
async function openSignedIn(deps: AuthorizeDeps, client: Client, id: string): Promise<Signed> {
  const loaded = await load(deps, client, id);
  const { session, browser, graph } = loaded;
  if (!session || !browser || !graph) throw new AppError('browser_session_required');
  return { ...openedBy(loaded), session, browser, graph };
}

const DAY_MS = 86_400_000;

/** Returns what the page shows. */
export async function readInteraction(deps: AuthorizeDeps, client: Client, id: string): Promise<Interaction> {
  const { loaded, application, request } = await openInteraction(deps, client, id);
  const { session, found, graph } = loaded;
  const verdict = await verdictOf(deps, loaded, { application, request });
  if ('step' in verdict && verdict.step === 'consent') await noteAsked(deps, loaded, request);
  // Nothing is left to do: the person goes on.
  const step = 'step' in verdict ? verdict.step : 'select_account';
  const required =
    step === 'refused' && application.required_permission_id !== null
      ? graph?.permissions.namesOf(new Set([application.required_permission_id]))[0]
      : undefined;
  return {
    step,
    application: {
      name: application.name,
      home_url: application.home_url,
      policy_url: application.policy_url,
      terms_url: application.terms_url,
      first_party: application.first_party,
      host: hostOf(request.redirectUri),
    },
    account: session && accountOf(session),
    login_hint: request.loginHint,
    providers: await providersAt(deps, step),
    required_acr: 'step' in verdict ? (verdict.acr ?? null) : null,
    required_permission: required ?? null,
    consent:
      step === 'consent'
        ? consentOf(found, application, request, pageLanguage(request.uiLocales, client))
        : null,
    device: null,
    expires_at: (loaded.expiresAt ?? found.now).toISOString(),
  };
}

/** Returns what the page shows beside the password. Other pages are for people who are signed in. */
export const providersAt = async (
  { db }: Pick<AuthorizeDeps, 'db'>,
  step: Interaction['step'],
): Promise<Interaction['providers']> =>
  step === 'sign_in' || step === 'reauthenticate' ? listShownProviders(db) : [];

/** Who is signed in, as pages show them. */
export const accountOf = ({ first_name, last_name, email }: BrowserSession) => ({
  name: [first_name, last_name].filter((part) => part !== '').join(' '),
  email: shownEmail(email),
});

/** Returns what the page asks the person to agree to. */
export function consentOf(
  found: FoundRequest,
  application: RequestedApplication,
  {
    scopes,
    consentScopes = scopes,
    targets,
  }: Pick<CheckedRequest, 'scopes' | 'targets'> & Partial<Pick<CheckedRequest, 'consentScopes'>>,
  language: Language,
): Interaction['consent'] {
  const asked = new Set(targets.flatMap((one) => one.permission_ids));
  const permissions = application.resources
    .flatMap((one) => one.permissions)
    .filter(({ id }) => asked.has(id));
  const unique = new Map(permissions.map(({ id, name, description }) => [id, { name, description }]));
  return {
    scopes: consentScopes.map((name) => ({
      name,
      text: textOf(name, language),
      is_new: !(found.consent?.scopes.includes(name) ?? false),
    })),
    permissions: [...unique.values()],
    offline: scopes.includes('offline_access'),
    until: new Date(found.now.getTime() + application.grant_days * DAY_MS).toISOString(),
  };
}

const onward = (deps: AuthorizeDeps, id: string): Redirect => ({ redirect_to: interactionAddress(deps, id) });

async function note(deps: AuthorizeDeps, id: string, state: Record<string, unknown>): Promise<Redirect> {
  if (!(await noteInRequest(deps.db, 'interaction', id, state))) throw new AppError('interaction_not_found');
  return onward(deps, id);
}

/** Notes whether the person agrees, and to what. */
export async function decideConsent(
  deps: AuthorizeDeps,
  client: Client,
  id: string,
  { decision, scopes: chosen }: ConsentBody,
): Promise<Redirect> {
  const { loaded, application, request, session } = await openSignedIn(deps, client, id);
  const { user_id: userId } = session;
  if (decision === 'deny') return note(deps, id, { agreed: { user_id: userId, denied: true } });
  // The application may have come to ask for something else since the page was shown: it is shown again.
  if (loaded.state.asked !== askedHash(request, userId)) return onward(deps, id);
  const { consentScopes } = request;
  const scopes = consentScopes.filter((one) => one === 'openid' || !chosen || chosen.includes(one));
  const permissionIds = [...new Set(request.targets.flatMap((one) => one.permission_ids))];
  const agreed = { user_id: userId, scopes, permission_ids: permissionIds };
  await inTransaction(deps.db, async (tx) => {
    if (!(await noteInRequest(tx, 'interaction', id, { agreed })))
      throw new AppError('interaction_not_found');
    await writeConsent(
      tx,
      { userId, applicationId: application.id },
      { scopes: consentScopes, permissionIds },
      { scopes, permissionIds },
    );
  });
  await recordEvent(deps, client, {
    action: 'consent_given',
    actorId: userId,
    resourceType: 'application',
    resourceId: application.id,
    resourceName: application.name,
    details: { application_id: application.id, scopes, permissions: permissionIds },
  });
  return onward(deps, id);
}

/** Goes on with the account of this browser, or ends its session. `hasEnded`: its cookies are to be cleared. */
export async function chooseAccount(
  deps: AuthorizeDeps,
  client: Client,
  id: string,
  { decision }: AccountBody,
): Promise<{ redirect: Redirect; hasEnded: boolean }> {
  const { session } = await openSignedIn(deps, client, id);
  if (decision === 'continue')
    return { redirect: await note(deps, id, { account: session.session_id }), hasEnded: false };
  await logout(deps, { client, principal: userPrincipal(session) }, undefined);
  return { redirect: onward(deps, id), hasEnded: true };
}

/** Proves who a browser session is of, and returns the value of its new cookie. */
export type ProveAgain = (
  client: Client,
  about: { principal: UserPrincipal; graph: Graph },
  body: StepUpBody,
) => Promise<string>;

/** Pages of interactions that no authorization request began. Each operation returns undefined for an id of none. */
export type OtherPages = {
  read(client: Client, id: string): Promise<Interaction | undefined>;
  consent(client: Client, id: string, body: ConsentBody): Promise<Redirect | undefined>;
  account(
    client: Client,
    id: string,
    body: AccountBody,
  ): Promise<{ redirect: Redirect; hasEnded: boolean } | undefined>;
  reauthenticate(
    client: Client,
    id: string,
    body: StepUpBody,
  ): Promise<{ redirect: Redirect; browserToken: string } | undefined>;
  cancel(client: Client, id: string): Promise<Redirect | undefined>;
};

export async function reauthenticate(
  deps: AuthorizeDeps & { proveAgain: ProveAgain },
  client: Client,
  id: string,
  body: StepUpBody,
): Promise<{ redirect: Redirect; browserToken: string }> {
  const { session, graph } = await openSignedIn(deps, client, id);
  const browserToken = await deps.proveAgain(client, { principal: userPrincipal(session), graph }, body);
  return { redirect: onward(deps, id), browserToken };
}

/** Gives the request up: the application is told that the person did not agree. */
export async function cancelInteraction(deps: AuthorizeDeps, client: Client, id: string): Promise<Redirect> {
  await openInteraction(deps, client, id);
  return note(deps, id, { cancelled: true });
}
