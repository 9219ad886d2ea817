// Ends the session of a browser at the request of an application, or asks the person first.
// A hint speaks only for the session that it names, so that no application signs a person out of another one's session.

import type { Interaction } from '@castellan/contract/interactions';
import { AppError } from '../../../platform/errors.ts';
import type { Client } from '../../../platform/http/client.ts';
import type { CookieSettings } from '../../../platform/http/plugins/cookies.ts';
import { shownEmail } from '../../../platform/security/email.ts';
import type { OriginSettings } from '../../../platform/security/session-origin.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import type { BrowserSession } from '../../sessions/browser/presentation.ts';
import { findBrowserSession } from '../../sessions/browser/session.ts';
import {
  type SessionDeps,
  type SessionOrigin,
  type SignOutUpstream,
  signOut,
} from '../../sessions/service.ts';
import { findRequest, keepRequest, useRequest } from '../interactions/service.ts';
import { askedLanguage, consolePage } from '../plain-page.ts';
import { sidOf } from '../session-sid.ts';
import { isRegistered, judgeSignOut, type SignOutRefusal, type SignOutRequest } from './request.ts';
import { type AskingApplication, findById } from './store.ts';

export type SignOutDeps = SessionDeps & {
  /** `sidKey`: the purpose key of `sidOf`. */
  applicationTokens: { sidKey: Buffer };
  signOutUpstream: SignOutUpstream;
  settings: OriginSettings & CookieSettings;
};

type ReadDeps = Omit<SignOutDeps, 'signOutUpstream'>;

/** `location`: where the browser goes next. `ended`: its session has ended, so its cookies go. */
export type SignOutAnswer = { location: string; ended: boolean };

type Refused = { refused: SignOutRefusal | 'finished' };

/** The page that says that the person is signed out, or asks. */
const page = (
  { basePath }: CookieSettings,
  { language }: Pick<SignOutRequest, 'language'>,
  interaction: string | null = null,
): string => consolePage(`${basePath}/sign-out`, { interaction, language });

/**
 * Answers a browser that an application sent. Ends the session at once if the hint names it; otherwise the page asks. `given`: the
 * query, of an application or with the `interaction` that `keepSignOut` returned.
 */
export async function beginSignOut(
  deps: SignOutDeps,
  client: Client,
  given: Readonly<Record<string, unknown>>,
): Promise<SignOutAnswer | Refused> {
  const { interaction: id } = given;
  const isKept = typeof id === 'string';
  const request = isKept ? await findKept(deps, id) : await judgeSignOut(deps, given);
  if ('refused' in request) return request;
  const { session } = await findBrowserSession(deps, client);
  const isNamed = session !== null && isSessionOf(deps, session, request);
  if (session && !isNamed)
    return {
      location: page(deps.settings, request, isKept ? id : await keep(deps, request)),
      ended: false,
    };
  if (isKept && !(await useRequest(deps.db, 'sign_out', id))) return { refused: 'finished' };
  const origin = session ? await endSession(deps, client, session, request) : undefined;
  return { location: await onwardOf(deps, request, origin), ended: session !== null };
}

/** Answers as if nobody were signed in, and ends, keeps and uses up nothing. `given`: as of `beginSignOut`. */
export async function answerHead(
  deps: SignOutDeps,
  given: Readonly<Record<string, unknown>>,
): Promise<SignOutAnswer | Refused> {
  const { interaction: id } = given;
  const request = typeof id === 'string' ? await findKept(deps, id) : await judgeSignOut(deps, given);
  return 'refused' in request ? request : { location: nextOf(deps, request), ended: false };
}

/** Keeps a request that came as a form: a browser sends no cookie with it. Returns where the browser goes for the rest. */
export async function keepSignOut(
  deps: SignOutDeps,
  given: Readonly<Record<string, unknown>>,
): Promise<{ location: string } | Refused> {
  const request = await judgeSignOut(deps, given);
  if ('refused' in request) return request;
  return {
    location: `${deps.settings.basePath}/api/v1/oauth/logout?interaction=${await keep(deps, request)}`,
  };
}

/** Returns what the page asks; undefined for an id of no sign-out that waits. */
export async function readSignOut(
  deps: ReadDeps,
  client: Client,
  id: string,
): Promise<Interaction | undefined> {
  const kept = await findRequest(deps.db, 'sign_out', id);
  if (!kept) return undefined;
  const application = kept.application_id === null ? undefined : await findById(deps.db, kept.application_id);
  const { address } = validFor(application, kept.parameters);
  const { session } = await findBrowserSession(deps, client);
  const { name, home_url, policy_url, terms_url, first_party } = application ?? {};
  return {
    step: 'sign_out',
    application:
      name === undefined
        ? null
        : {
            name,
            home_url: home_url ?? null,
            policy_url: policy_url ?? null,
            terms_url: terms_url ?? null,
            first_party: first_party ?? false,
            host: (address !== null && new URL(address).host) || null,
          },
    account: session && {
      name: [session.first_name, session.last_name].filter((part) => part !== '').join(' '),
      email: shownEmail(session.email),
    },
    login_hint: null,
    providers: [],
    required_acr: null,
    required_permission: null,
    consent: null,
    device: null,
    expires_at: kept.expires_at.toISOString(),
  };
}

/** Does what the person chose. Throws `interaction_not_found` (404), also for the second of two answers. */
export async function decideSignOut(
  deps: SignOutDeps,
  client: Client,
  id: string,
  decision: 'sign_out' | 'stay',
): Promise<SignOutAnswer> {
  const used = await useRequest(deps.db, 'sign_out', id);
  if (!used) throw new AppError('interaction_not_found');
  const request = await stillValid(deps, used);
  if (decision === 'stay')
    return {
      location: request.address === null ? `${deps.settings.basePath}/` : nextOf(deps, request),
      ended: false,
    };
  const { session } = await findBrowserSession(deps, client);
  const origin = session ? await endSession(deps, client, session, request) : undefined;
  return { location: await onwardOf(deps, request, origin), ended: true };
}

const isSessionOf = (
  { applicationTokens }: SignOutDeps,
  { session_id }: BrowserSession,
  { sid, applicationId }: SignOutRequest,
): boolean => applicationId !== null && sidOf(applicationTokens.sidKey, session_id, applicationId) === sid;

const endSession = (
  deps: SignOutDeps,
  client: Client,
  { user_id, session_id }: BrowserSession,
  { applicationId }: SignOutRequest,
): Promise<SessionOrigin | undefined> =>
  signOut(deps, client, { userId: user_id, sessionId: session_id }, { application_id: applicationId });

/** Returns where the browser goes: first to the provider of the session that ended, if it is to be signed out there. */
async function onwardOf(
  deps: SignOutDeps,
  request: SignOutRequest,
  origin: SessionOrigin | undefined,
): Promise<string> {
  const keepNext = request.address === null ? undefined : () => keep(deps, request);
  return (origin && (await deps.signOutUpstream(origin, keepNext))) ?? nextOf(deps, request);
}

function nextOf({ settings }: SignOutDeps, { address, state, language }: SignOutRequest): string {
  if (address === null) return page(settings, { language });
  return state === null
    ? address
    : `${address}${address.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}`;
}

async function keep(deps: SignOutDeps, { applicationId, ...parameters }: SignOutRequest): Promise<string> {
  const { id } = await keepRequest(deps.db, { kind: 'sign_out', applicationId, parameters });
  return id;
}

async function findKept(deps: SignOutDeps, id: string): Promise<SignOutRequest | Refused> {
  const kept = await findRequest(deps.db, 'sign_out', id);
  return kept ? stillValid(deps, kept) : { refused: 'finished' };
}

type Kept = { application_id: string | null; parameters: unknown };

/** Returns a kept request as the application now allows it: without an address that it no longer has. */
async function stillValid(deps: SignOutDeps, { application_id, parameters }: Kept): Promise<SignOutRequest> {
  return validFor(application_id === null ? undefined : await findById(deps.db, application_id), parameters);
}

function validFor(application: AskingApplication | undefined, parameters: unknown): SignOutRequest {
  const text = (name: string): string | null => {
    const value = isObject(parameters) ? parameters[name] : null;
    return typeof value === 'string' ? value : null;
  };
  const address = text('address');
  return {
    applicationId: application?.id ?? null,
    sid: text('sid'),
    address: address !== null && isRegistered(application, address) ? address : null,
    state: text('state'),
    language: askedLanguage(text('language')),
  };
}
