// Answers authorization requests: with a code, with an error, or with a page on which the person has to do something.
// It must not send anybody to an address before the address is known to be registered.
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import { newId } from '../../../platform/ids.ts';
import { createSecretText, secretTextHash } from '../../../platform/security/secret-text.ts';
import { recordBounded, recordEvent } from '../../audit/service.ts';
import { userPrincipal } from '../../authz/caller.ts';
import { policyOf } from '../../authz/requirements/account.ts';
import type { BrowserSession, PresentedBrowser } from '../../sessions/browser/presentation.ts';
import { keepRequest, noteInRequest } from '../interactions/service.ts';
import { askedLanguage, consolePage } from '../plain-page.ts';
import { sidOf } from '../session-sid.ts';
import { askedHash, type Verdict } from './decision.ts';
import type { AuthorizeDeps } from './deps.ts';
import { type Loaded, loadRequest, verdictOf } from './loading.ts';
import { keptParameters, type Parameters } from './parameters.ts';
import { nearestOf } from './redirect-address.ts';
import type {
  Answering,
  CheckedRequest,
  PageReason,
  RedirectError,
  RequestedApplication,
} from './request.ts';
import { insertGrant, useRequests } from './store.ts';
import { mayReadApplications } from './visitor.ts';

const CODE_MARK = 'cas_ac_';

/** What a person is told of a request that nobody can be sent back for. `registered`: the nearest first, to administrators only. */
export type ErrorPage = {
  reason: PageReason;
  applicationName: string | null;
  received: string | null;
  difference: string | null;
  registered: readonly string[] | null;
};

export type Answer =
  | { location: string }
  | { form: { action: string; fields: Record<string, string> } }
  | { page: ErrorPage };

/** Answers the request of a browser. Throws `rate_limited` (429). */
export async function authorize(
  deps: AuthorizeDeps,
  client: Client,
  given: Parameters,
  isRepeated = false,
): Promise<Answer> {
  const loaded = await loadRequest(deps, client, given);
  const { outcome, found } = loaded;
  if ('page' in outcome || !found.application) {
    deps.authorizations.count('error_page');
    return { page: errorPage(deps, loaded, 'page' in outcome ? outcome.page : 'unknown_application') };
  }
  const { application } = found;
  await noteOtherNetwork(deps, client, loaded, application);
  if ('refused' in outcome) {
    const { answering, error, description } = outcome.refused;
    return refuse(deps, client, { loaded, application, answering }, { error, description });
  }
  const request = outcome.checked;
  const verdict = await verdictOf(deps, loaded, { application, request });
  if ('told' in verdict)
    return refuse(
      deps,
      client,
      { loaded, application, answering: request },
      { error: verdict.told, description: verdict.description },
    );
  if ('step' in verdict) {
    if (request.prompts.has('none'))
      return refuse(
        deps,
        client,
        { loaded, application, answering: request },
        { error: verdict.error, description: 'The person would have to do something first.' },
      );
    return lead(deps, client, { loaded, application, request }, verdict);
  }
  const { session, browser } = loaded;
  if (!session || !browser) throw new Error('a request without a browser session was granted');
  const code = await deps.turns.reads.run(session.user_id, client, () =>
    grant(deps, { loaded, application, request, session, browser }, verdict.granted),
  );
  if (code === undefined) {
    if (loaded.answered.length > 0) return { page: errorPage(deps, loaded, 'finished') };
    // The session has ended since: the person signs in.
    if (!isRepeated) return authorize(deps, client, given, true);
    throw new AppError('temporarily_unavailable');
  }
  deps.authorizations.count('code');
  await recordEvent(deps, client, {
    action: 'application_sign_in',
    actorId: session.user_id,
    resourceType: 'application',
    resourceId: application.id,
    resourceName: application.name,
    details: {
      application_id: application.id,
      scopes: verdict.granted.scopes,
      session_id: session.session_id,
      consent: loaded.state.agreed !== undefined,
    },
  });
  return answerOf(deps, request, { code });
}

async function grant(
  deps: AuthorizeDeps,
  about: {
    loaded: Loaded;
    application: RequestedApplication;
    request: CheckedRequest;
    session: BrowserSession;
    browser: PresentedBrowser;
  },
  { scopes, targets, claims, reliesOnConsent }: Extract<Verdict, { granted: unknown }>['granted'],
): Promise<string | undefined> {
  const { loaded, application, request, session, browser } = about;
  const code = createSecretText(CODE_MARK);
  const codeHash = secretTextHash(CODE_MARK, code);
  if (!codeHash) throw new Error('a new code has the wrong form');
  const { context } = userPrincipal(session).session;
  const row = {
    id: newId(),
    application_id: application.id,
    application_epoch: application.access_epoch,
    offline: scopes.includes('offline_access'),
    scopes,
    resources: targets,
    claims,
    nonce: request.nonce,
    redirect_uri: request.redirectUri,
    code_hash: codeHash,
    code_expires_at: null,
    code_challenge: request.challenge,
    dpop_jkt: request.dpopJkt,
    auth_time: context.authTime,
    acr: context.acr,
    amr: context.amr,
    sid: sidOf(deps.applicationTokens.sidKey, session.session_id, application.id),
    relies_on_consent: reliesOnConsent,
  };
  return (await insertGrant(deps.db, row, { browser, answered: loaded.answered })) ? code : undefined;
}

/** Leads the person to the page of the step. A request that does not wait yet is kept for it. */
async function lead(
  deps: AuthorizeDeps,
  client: Client,
  about: { loaded: Loaded; application: RequestedApplication; request: CheckedRequest },
  { step, error }: Extract<Verdict, { step: unknown }>,
): Promise<Answer> {
  const { loaded, application, request } = about;
  if (step === 'refused') await recordRefusal(deps, client, about, 'not_permitted', error);
  const asked =
    step === 'consent' && loaded.session ? { asked: askedHash(request, loaded.session.user_id) } : {};
  const id =
    loaded.interactionId ??
    (
      await keepRequest(deps.db, {
        kind: 'interaction',
        applicationId: application.id,
        parameters: keptParameters(loaded.parameters, request),
        state: { ...(loaded.pushed === undefined ? {} : { pushed: loaded.pushed }), ...asked },
      })
    ).id;
  if (step === 'consent') await noteAsked(deps, loaded, request);
  deps.authorizations.count('page');
  const isNew = step === 'sign_in' && request.prompts.has('create');
  const page = step === 'consent' || step === 'refused' ? 'consent' : isNew ? 'register' : 'login';
  const shown = { interaction: id, language: askedLanguage(request.uiLocales) };
  return { location: consolePage(`${deps.settings.publicUrl}/${page}`, shown) };
}

/** Notes what the page asks the person to agree to, if it is something else than before. */
export async function noteAsked(
  { db }: AuthorizeDeps,
  { interactionId, session, state }: Loaded,
  request: CheckedRequest,
): Promise<void> {
  if (interactionId === undefined || !session) return;
  const asked = askedHash(request, session.user_id);
  if (state.asked !== asked) await noteInRequest(db, 'interaction', interactionId, { asked });
}

/** Answers as a browser that is not signed in would be, and grants, keeps and records nothing. */
export async function answerHead(deps: AuthorizeDeps, client: Client, given: Parameters): Promise<Answer> {
  const loaded = await loadRequest(deps, { ...client, cookie: null }, given);
  const { outcome } = loaded;
  if ('page' in outcome) return { page: errorPage(deps, loaded, outcome.page) };
  if ('refused' in outcome) {
    const { answering, error, description } = outcome.refused;
    return answerOf(deps, answering, { error, error_description: description });
  }
  return { location: `${deps.settings.publicUrl}/login` };
}

/** Keeps a request that a form brought, and leads the browser on to it with its cookie. */
export async function keepForm(deps: AuthorizeDeps, client: Client, given: Parameters): Promise<Answer> {
  // Another site may have sent the form, so that the cookie does not count, even where the browser sent it.
  const loaded = await loadRequest(deps, { ...client, cookie: null }, given);
  const { outcome, found } = loaded;
  if ('page' in outcome || !found.application) {
    deps.authorizations.count('error_page');
    return { page: errorPage(deps, loaded, 'page' in outcome ? outcome.page : 'unknown_application') };
  }
  if ('refused' in outcome) {
    const { answering, error, description } = outcome.refused;
    return refuse(
      deps,
      client,
      { loaded, application: found.application, answering },
      { error, description },
    );
  }
  const id =
    loaded.interactionId ??
    (
      await keepRequest(deps.db, {
        kind: 'interaction',
        applicationId: found.application.id,
        parameters: keptParameters(loaded.parameters, outcome.checked),
        state: loaded.pushed === undefined ? {} : { pushed: loaded.pushed },
      })
    ).id;
  return { location: interactionAddress(deps, id) };
}

/** Where a request that waits goes on. */
export const interactionAddress = ({ settings }: Pick<AuthorizeDeps, 'settings'>, id: string): string =>
  `${settings.publicUrl}/api/v1/oauth/authorize?interaction=${id}`;

/** Tells the application. */
async function refuse(
  deps: AuthorizeDeps,
  client: Client,
  about: { loaded: Loaded; application: RequestedApplication; answering: Answering },
  { error, description }: { error: RedirectError; description: string },
): Promise<Answer> {
  const { loaded, answering } = about;
  if (loaded.answered.length > 0 && !(await useRequests(deps.db, loaded.answered)))
    return { page: errorPage(deps, loaded, 'finished') };
  deps.authorizations.count('refused');
  await recordRefusal(deps, client, about, error === 'access_denied' ? 'denied' : error, error);
  return answerOf(deps, answering, { error, error_description: description });
}

const recordRefusal = (
  deps: AuthorizeDeps,
  client: Client,
  { loaded, application }: { loaded: Loaded; application: RequestedApplication },
  reason: string,
  code: RedirectError,
): Promise<void> =>
  recordBounded(deps, client, {
    action: 'application_sign_in_refused',
    actorId: loaded.session?.user_id ?? null,
    resourceType: 'application',
    resourceId: application.id,
    resourceName: application.name,
    details: { application_id: application.id, reason, code },
  });

async function noteOtherNetwork(
  deps: AuthorizeDeps,
  client: Client,
  { strayed }: Loaded,
  application: RequestedApplication,
): Promise<void> {
  if (!strayed) return;
  await recordBounded(deps, client, {
    action: 'application_sign_in_refused',
    actorId: strayed.userId,
    resourceType: 'application',
    resourceId: application.id,
    resourceName: application.name,
    details: { application_id: application.id, reason: 'other_network', session_id: strayed.sessionId },
  });
}

/** Returns the answer with `state` and `iss` (RFC 9207). */
function answerOf(
  { settings }: AuthorizeDeps,
  { redirectUri, mode, state }: Answering,
  answer: Record<string, string>,
): Answer {
  const fields = { ...answer, ...(state === undefined ? {} : { state }), iss: settings.publicUrl };
  if (mode === 'form_post') return { form: { action: redirectUri, fields } };
  const separator = redirectUri.includes('?') ? '&' : '?';
  return { location: `${redirectUri}${separator}${new URLSearchParams(fields)}` };
}

function errorPage({ settings }: AuthorizeDeps, loaded: Loaded, reason: PageReason): ErrorPage {
  const { found, parameters } = loaded;
  const application = found.application?.is_active ? found.application : null;
  const received = reason === 'redirect_uri' ? (parameters.redirect_uri ?? null) : null;
  const registered = application?.redirect_uris ?? [];
  const nearest = received === null ? undefined : nearestOf(received, registered);
  return {
    reason,
    applicationName: application?.name ?? null,
    received,
    difference: nearest?.difference ?? null,
    registered:
      nearest && mayReadApplications({ ...loaded, policy: policyOf(settings), now: found.now })
        ? [nearest.address, ...registered.filter((one) => one !== nearest.address)]
        : null,
  };
}
