// What the page of a device shows a person, and what they answer. It must not let one person answer what another one looked up.
// Each operation returns undefined for an id of no device.
import type { StepUpBody } from '@castellan/contract/factors';
import type { AccountBody, ConsentBody, Interaction, Redirect } from '@castellan/contract/interactions';
import { inTransaction } from '../../../platform/db/transaction.ts';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { newId } from '../../../platform/ids.ts';
import { networkOf } from '../../../platform/security/client-address.ts';
import { recordEvent } from '../../audit/service.ts';
import { userPrincipal } from '../../authz/caller.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { policyOf } from '../../authz/requirements/account.ts';
import { readBrowserCookie } from '../../sessions/browser/cookie.ts';
import type { BrowserSession, PresentedBrowser } from '../../sessions/browser/presentation.ts';
import { judgeBrowser } from '../../sessions/browser/session.ts';
import { logout } from '../../sessions/service.ts';
import { judge, type Verdict } from '../authorize/decision.ts';
import { type AuthorizeDeps, countAuthorization, refuseCounted } from '../authorize/deps.ts';
import {
  accountOf,
  consentOf,
  type OtherPages,
  type ProveAgain,
  providersAt,
} from '../authorize/interactions.ts';
import type { CheckedRequest, RequestedApplication } from '../authorize/request.ts';
import { type FoundRequest, findRequested, insertGrant, writeConsent } from '../authorize/store.ts';
import { requestIdHash } from '../interactions/service.ts';
import { pageLanguage } from '../plain-page.ts';
import { sidOf } from '../session-sid.ts';
import {
  allowDeviceRequest,
  type DevicePage,
  denyDeviceRequest,
  findDeviceRequest,
  type WaitingDevice,
} from './store.ts';
import { shownUserCode } from './user-codes.ts';

export type DevicePageDeps = AuthorizeDeps & { proveAgain: ProveAgain };

type Open = {
  interactionHash: Buffer;
  device: WaitingDevice;
  found: FoundRequest;
  application: RequestedApplication;
  asked: Pick<CheckedRequest, 'scopes' | 'targets'>;
  verdict: Verdict;
  session: BrowserSession | null;
  browser: PresentedBrowser | null;
  graph: Graph | null;
};
type Signed = Open & { session: BrowserSession; browser: PresentedBrowser; graph: Graph };

/** How old the proof of the person may be when they allow a device (RFC 8628, 5.4). */
const MAX_AGE_SECONDS = 600;

/**
 * Returns the request of a device that a page is about. Throws `interaction_not_found` (404) if somebody else looked it up, or if its
 * application may no longer have what it asks for.
 */
async function open(deps: DevicePageDeps, client: Client, id: string): Promise<Open | undefined> {
  const interactionHash = requestIdHash(id);
  const device = interactionHash && (await findDeviceRequest(deps.db, interactionHash));
  if (!device) return undefined;
  const browser = readBrowserCookie(client, deps.settings);
  if (!browser) refuseCounted(deps, client);
  const found = await findRequested(deps.db, { clientId: device.client_id, stored: null, browser });
  const { session } = judgeBrowser(deps.settings, client, found.browser);
  await countAuthorization(deps, client, session);
  const { application } = found;
  const asked = application && stillAllowed(application, device);
  if (!asked || (session && session.user_id !== device.user_id)) throw new AppError('interaction_not_found');
  const graph = session && (await deps.graphSource.at(session.authz_stamp));
  const request = requestOf(application, asked);
  const verdict = await judge(
    { application, request, session, consent: found.consent, began: device.created_at, state: {} },
    {
      graph,
      policy: policyOf(deps.settings),
      consentDays: deps.settings.consentDays,
      now: found.now,
      // No level is asked for.
      reachable: async () => null,
    },
  );
  return { interactionHash, device, found, application, asked, verdict, session, browser, graph };
}

async function openSigned(deps: DevicePageDeps, client: Client, id: string): Promise<Signed | undefined> {
  const opened = await open(deps, client, id);
  if (!opened) return undefined;
  const { session, browser, graph } = opened;
  if (!session || !browser || !graph) throw new AppError('browser_session_required');
  return { ...opened, session, browser, graph };
}

/** Returns what the application may still have of what it asked for; undefined for nothing. */
function stillAllowed(
  { is_active, grant_types, scopes, resources }: RequestedApplication,
  device: WaitingDevice,
): Open['asked'] | undefined {
  if (!is_active || !grant_types.includes('device_code')) return undefined;
  const targets = device.resources.flatMap(({ resource_id, permission_ids }) => {
    const allowed = resources.find(({ id }) => id === resource_id)?.permissions.map(({ id }) => id);
    return allowed
      ? [{ resource_id, permission_ids: permission_ids.filter((id) => allowed.includes(id)) }]
      : [];
  });
  const asked = { scopes: device.scopes.filter((one) => scopes.includes(one)), targets };
  return asked.scopes.length > 0 || targets.some(({ permission_ids: ids }) => ids.length > 0)
    ? asked
    : undefined;
}

/** The request of a device, as authorization requests are judged: with consent at every time, and a fresh proof. */
const requestOf = (
  { default_max_age }: RequestedApplication,
  { scopes, targets }: Open['asked'],
): CheckedRequest => ({
  redirectUri: '',
  mode: 'query',
  state: undefined,
  scopes,
  consentScopes: scopes,
  targets,
  challenge: null,
  prompts: new Set(['consent']),
  maxAgeSeconds: Math.min(MAX_AGE_SECONDS, default_max_age ?? MAX_AGE_SECONDS),
  nonce: null,
  claims: null,
  hintSub: null,
  subjects: undefined,
  acr: { wanted: [], isEssential: false },
  loginHint: null,
  uiLocales: null,
  dpopJkt: null,
});

const addressOf = ({ settings }: DevicePageDeps, query: string): Redirect => ({
  redirect_to: `${settings.publicUrl}/device?${query}`,
});

export const createDevicePages = (deps: DevicePageDeps): OtherPages => ({
  read: (client, id) => read(deps, client, id),
  consent: (client, id, body) => decide(deps, client, id, body),
  account: (client, id, body) => chooseAccount(deps, client, id, body),
  reauthenticate: (client, id, body) => reauthenticate(deps, client, id, body),
  cancel: (client, id) => decide(deps, client, id, { decision: 'deny' }),
});

async function read(deps: DevicePageDeps, client: Client, id: string): Promise<Interaction | undefined> {
  const opened = await open(deps, client, id);
  if (!opened) return undefined;
  const { device, found, application, asked, verdict, session, graph } = opened;
  const isAsking = 'step' in verdict && verdict.step === 'consent';
  const isRefused = 'step' in verdict && verdict.step === 'refused';
  const required = isRefused && application.required_permission_id;
  const { name, home_url, policy_url, terms_url, first_party } = application;
  const step = 'step' in verdict && !isAsking ? verdict.step : 'device';
  return {
    step,
    application: { name, home_url, policy_url, terms_url, first_party, host: null },
    account: session && accountOf(session),
    login_hint: null,
    providers: await providersAt(deps, step),
    required_acr: 'step' in verdict ? (verdict.acr ?? null) : null,
    required_permission: (required && graph?.permissions.namesOf(new Set([required]))[0]) || null,
    consent: isAsking ? consentOf(found, application, asked, pageLanguage(null, client)) : null,
    // Only to the person who has the code of the device.
    device: session && {
      address: networkOf(device.address),
      user_agent: device.user_agent ?? '',
      asked_at: device.created_at.toISOString(),
    },
    expires_at: device.expires_at.toISOString(),
  };
}

async function decide(
  deps: DevicePageDeps,
  client: Client,
  id: string,
  { decision, scopes: chosen }: ConsentBody,
): Promise<Redirect | undefined> {
  const signed = await openSigned(deps, client, id);
  if (!signed) return undefined;
  const { interactionHash, session, verdict } = signed;
  const page: DevicePage = { interactionHash, userId: session.user_id };
  if (decision === 'deny') {
    if (!(await denyDeviceRequest(deps.db, page))) throw new AppError('interaction_not_found');
    await record(deps, client, signed, 'device_sign_in_denied', {});
    return addressOf(deps, 'result=denied');
  }
  // Something else has to be done first, such as a fresh proof: the page asks anew.
  if (!('step' in verdict && verdict.step === 'consent')) return addressOf(deps, `interaction=${id}`);
  await deps.turns.reads.run(session.user_id, client, () => allow(deps, client, signed, { page, chosen }));
  return addressOf(deps, 'result=allowed');
}

async function allow(
  deps: DevicePageDeps,
  client: Client,
  signed: Signed,
  { page, chosen }: { page: DevicePage; chosen: readonly string[] | undefined },
): Promise<void> {
  const { application, asked, browser, device, session } = signed;
  const scopes = asked.scopes.filter((one) => one === 'openid' || !chosen || chosen.includes(one));
  const permissionIds = [...new Set(asked.targets.flatMap((one) => one.permission_ids))];
  const { context } = userPrincipal(session).session;
  const grant = {
    id: newId(),
    application_id: application.id,
    application_epoch: application.access_epoch,
    offline: scopes.includes('offline_access'),
    scopes,
    resources: asked.targets,
    claims: null,
    nonce: null,
    redirect_uri: null,
    code_hash: null,
    code_expires_at: device.expires_at,
    code_challenge: null,
    dpop_jkt: null,
    auth_time: context.authTime,
    acr: context.acr,
    amr: context.amr,
    sid: sidOf(deps.applicationTokens.sidKey, session.session_id, application.id),
    relies_on_consent: true,
  };
  await inTransaction(deps.db, async (tx) => {
    if (!(await allowDeviceRequest(tx, page, grant.id))) throw new AppError('interaction_not_found');
    await writeConsent(
      tx,
      { userId: session.user_id, applicationId: application.id },
      { scopes: asked.scopes, permissionIds },
      { scopes, permissionIds },
    );
    // The session or the application has ended since: the page asks anew.
    if (!(await insertGrant(tx, grant, { browser, answered: [] })))
      throw new AppError('browser_session_required');
  });
  const details = { scopes, permissions: permissionIds };
  await record(deps, client, signed, 'consent_given', details);
  await record(deps, client, signed, 'device_sign_in_allowed', {
    ...details,
    session_id: session.session_id,
  });
}

const record = (
  deps: DevicePageDeps,
  client: Client,
  { application, device, session }: Signed,
  action: 'consent_given' | 'device_sign_in_allowed' | 'device_sign_in_denied',
  details: Record<string, unknown>,
): Promise<void> =>
  recordEvent(deps, client, {
    action,
    actorId: session.user_id,
    resourceType: 'application',
    resourceId: application.id,
    resourceName: application.name,
    details: {
      application_id: application.id,
      ...details,
      ...(action === 'consent_given'
        ? {}
        : { device_address: device.address, device_user_agent: device.user_agent }),
    },
  });

/** Goes on with the account of this browser, or ends its session: then the next person sends the code of the device again. */
async function chooseAccount(
  deps: DevicePageDeps,
  client: Client,
  id: string,
  { decision }: AccountBody,
): Promise<{ redirect: Redirect; hasEnded: boolean } | undefined> {
  const signed = await openSigned(deps, client, id);
  if (!signed) return undefined;
  if (decision === 'continue') return { redirect: addressOf(deps, `interaction=${id}`), hasEnded: false };
  await logout(deps, { client, principal: userPrincipal(signed.session) }, undefined);
  const userCode = shownUserCode(signed.device.user_code);
  return { redirect: addressOf(deps, `user_code=${userCode}`), hasEnded: true };
}

async function reauthenticate(
  deps: DevicePageDeps,
  client: Client,
  id: string,
  body: StepUpBody,
): Promise<{ redirect: Redirect; browserToken: string } | undefined> {
  const signed = await openSigned(deps, client, id);
  if (!signed) return undefined;
  const { session, graph } = signed;
  const browserToken = await deps.proveAgain(client, { principal: userPrincipal(session), graph }, body);
  return { redirect: addressOf(deps, `interaction=${id}`), browserToken };
}
