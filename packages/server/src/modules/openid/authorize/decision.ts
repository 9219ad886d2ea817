// Decides what an authorization request leads to: a code, a page on which the person has to do something, or an error.
// It reads nothing: what it judges by was read in one statement.
import { hash } from 'node:crypto';
import { type Acr, reaches } from '@castellan/contract/authentication';
import type { InteractionStep } from '@castellan/contract/interactions';
import { userPrincipal } from '../../authz/caller.ts';
import type { Graph } from '../../authz/graph/graph.ts';
import { requirementOf } from '../../authz/requirement.ts';
import { accountLevel, type Policy } from '../../authz/requirements/account.ts';
import type { BrowserSession } from '../../sessions/browser/presentation.ts';
import { meetsRule, requestedWithin } from '../claims/service.ts';
import { subjectOf } from '../subjects.ts';
import { isOfAnyProgram } from './redirect-address.ts';
import type { CheckedRequest, RedirectError, RequestedApplication, Target } from './request.ts';
import type { Consent } from './store.ts';

/** What the person did with an interaction, as its state has it. What names another person or session counts for nothing. */
export type InteractionState = {
  /** They go back without an answer. */
  cancelled?: true;
  /** The session that they chose to go on with. */
  account?: string;
  /** What the page of consent showed last, and to whom: `askedHash`. */
  asked?: string;
  agreed?:
    | { user_id: string; scopes: string[]; permission_ids: string[] }
    | { user_id: string; denied: true };
};

/** What the application is told with `prompt=none`, and otherwise the step that the person is led to. */
type Needed = { step: InteractionStep; error: RedirectError; acr?: Acr };
export type Verdict =
  | Needed
  /** The application is told, whatever the prompt. */
  | { told: RedirectError; description: string }
  | {
      /** `reliesOnConsent`: granted only while what the person agreed to still holds. */
      granted: {
        scopes: string[];
        targets: Target[];
        claims: Record<string, unknown> | null;
        reliesOnConsent: boolean;
      };
    };

export type Judged = {
  application: RequestedApplication;
  request: CheckedRequest;
  session: BrowserSession | null;
  consent: Consent | undefined;
  /** When the request began, and what was done with it since. */
  began: Date;
  state: InteractionState;
};

export type By = {
  graph: Graph | null;
  policy: Policy;
  consentDays: number;
  /** By the clock of the database. */
  now: Date;
  /** The strongest level that the factors of the account reach; asked for only if a level is wanted. */
  reachable(): Promise<Acr | null>;
};

/** Names what a person is asked to agree to. */
export const askedHash = (
  { consentScopes, targets }: Pick<CheckedRequest, 'consentScopes' | 'targets'>,
  userId: string,
): string => {
  const permissionIds = targets.flatMap((one) => one.permission_ids);
  return hash('sha256', JSON.stringify([userId, consentScopes, permissionIds.toSorted()]), 'base64url');
};

const DAY_MS = 86_400_000;
const denied = { told: 'access_denied', description: 'The person did not agree.' } as const;

export async function judge(judged: Judged, by: By): Promise<Verdict> {
  const { request, session, state } = judged;
  if (state.cancelled) return denied;
  if (!session || !by.graph) return { step: 'sign_in', error: 'login_required' };
  return (
    signInNeeded(judged, session, by) ??
    accountNeeded(request, session, judged) ??
    requirementNeeded(judged, session, by, by.graph) ??
    (await levelNeeded(request, session, by)) ??
    consentNeeded(judged, session, by)
  );
}

/** Whether the person proved who they are since the request began. */
const isProvedSince = ({ began }: Judged, { auth_time }: BrowserSession): boolean =>
  auth_time.getTime() > began.getTime();

function signInNeeded(judged: Judged, session: BrowserSession, { now }: By): Verdict | undefined {
  const { application, request } = judged;
  const isProved = isProvedSince(judged, session);
  const ageMs = now.getTime() - session.auth_time.getTime();
  const isOld = request.maxAgeSeconds !== null && ageMs > request.maxAgeSeconds * 1_000;
  const isAsked = request.prompts.has('login');
  if (!isProved && (isAsked || isOld)) return { step: 'reauthenticate', error: 'login_required' };
  const { subjects } = request;
  if (subjects === undefined || subjects.includes(subjectFor(application, session.user_id))) return undefined;
  // Somebody else signed in, or chose to go on: the application expects another person.
  const isChosen = isProved || judged.state.account === session.session_id;
  return isChosen
    ? { told: 'login_required', description: 'Another person is signed in than the application expects.' }
    : { step: 'select_account', error: 'login_required' };
}

const subjectFor = (application: RequestedApplication, userId: string): string =>
  subjectOf(application, userId, Buffer.from(application.salt ?? '', 'hex'));

function accountNeeded(
  { prompts }: CheckedRequest,
  session: BrowserSession,
  judged: Judged,
): Verdict | undefined {
  if (isProvedSince(judged, session)) return undefined;
  if (prompts.has('select_account') && judged.state.account !== session.session_id)
    return { step: 'select_account', error: 'account_selection_required' };
  return prompts.has('create') ? { step: 'sign_in', error: 'account_selection_required' } : undefined;
}

function requirementNeeded(
  { application }: Judged,
  session: BrowserSession,
  { policy, now }: By,
  graph: Graph,
): Verdict | undefined {
  const required = accountLevel({ graph, policy, now: now.getTime() }, session);
  const pending = requirementOf(userPrincipal(session), {
    must_change_password: session.must_change_password,
    has_password: session.has_password,
    required,
  });
  if (pending?.first === 'password_change') return { step: 'change_password', error: 'interaction_required' };
  if (pending) return { step: 'step_up', error: 'interaction_required', acr: pending.required };
  return meetsRule(graph, { ...session, required_permission_id: application.required_permission_id })
    ? undefined
    : { step: 'refused', error: 'access_denied' };
}

async function levelNeeded(
  { acr: { wanted, isEssential }, prompts }: CheckedRequest,
  session: BrowserSession,
  { reachable }: By,
): Promise<Verdict | undefined> {
  const { acr } = userPrincipal(session).session.context;
  const unmet = {
    told: 'unmet_authentication_requirements',
    description: 'The account cannot reach the acr that is asked for.',
  } as const;
  if (wanted.some((one) => reaches(acr, one))) return undefined;
  if (wanted.length === 0) return isEssential ? unmet : undefined;
  // What is only wished for is not worth a refusal.
  if (!isEssential && prompts.has('none')) return undefined;
  const strongest = await reachable();
  const possible = wanted.find((one) => strongest !== null && reaches(strongest, one));
  if (possible !== undefined)
    return {
      step: 'step_up',
      error: isEssential ? 'unmet_authentication_requirements' : 'interaction_required',
      acr: possible,
    };
  return isEssential ? unmet : undefined;
}

function consentNeeded(judged: Judged, { user_id: userId }: BrowserSession, by: By): Verdict {
  const { application, request, state } = judged;
  const own = state.agreed?.user_id === userId ? state.agreed : undefined;
  if (own && 'denied' in own) return denied;
  if (own) return { granted: { ...agreedPart(judged, own), reliesOnConsent: true } };
  if (isConsentDue(judged, by)) return { step: 'consent', error: 'consent_required' };
  const { scopes, targets, claims, consentScopes } = request;
  if (application.first_party) return { granted: { scopes, targets, claims, reliesOnConsent: false } };
  // Without the claims that the application may not ask for yet: nobody agreed to them.
  const agreedClaims = claims && requestedWithin(claims, consentScopes, application.claim_mappings);
  return { granted: { scopes, targets, claims: agreedClaims, reliesOnConsent: true } };
}

function isConsentDue({ application, request, consent }: Judged, { consentDays, now }: By): boolean {
  if (request.prompts.has('consent')) return true;
  if (application.type === 'native' && isOfAnyProgram(request.redirectUri)) return true;
  if (application.first_party) return false;
  if (!consent) return true;
  if (consentDays > 0 && now.getTime() - consent.agreed_at.getTime() > consentDays * DAY_MS) return true;
  return (
    request.consentScopes.some((one) => !consent.scopes.includes(one)) ||
    request.targets.some((one) => one.permission_ids.some((id) => !consent.permission_ids.includes(id)))
  );
}

/** Returns what is asked and agreed to. */
const agreedPart = (
  { application, request: { scopes, targets, claims } }: Pick<Judged, 'application' | 'request'>,
  agreed: { scopes: readonly string[]; permission_ids: readonly string[] },
): Pick<CheckedRequest, 'scopes' | 'targets' | 'claims'> => ({
  scopes: scopes.filter((one) => agreed.scopes.includes(one)),
  targets: targets.map(({ resource_id, permission_ids }) => ({
    resource_id,
    permission_ids: permission_ids.filter((id) => agreed.permission_ids.includes(id)),
  })),
  claims: claims && requestedWithin(claims, agreed.scopes, application.claim_mappings),
});
