// Checks an authorization request against its application (RFC 6749, 4.1.1; RFC 7636; RFC 8707; OpenID Connect Core, 3.1.2).
// It has no side effects, and knows nobody's session. Until the redirect address is known to be registered, nothing may be sent there.

import type { ClaimMapping } from '@castellan/contract/application-claims';
import { type Acr, acrValues } from '@castellan/contract/authentication';
import { isObject } from '../../../platform/unknown-values.ts';
import { askedOf, scopesOfRequested, valuesIn } from '../claims/service.ts';
import type { Hint } from '../id-token-hint.ts';
import type { Parameters } from './parameters.ts';
import { isRegistered } from './redirect-address.ts';

/** What a statement reads of an application for its requests. */
export type RequestedApplication = {
  id: string;
  client_id: string;
  name: string;
  home_url: string | null;
  policy_url: string | null;
  terms_url: string | null;
  type: string;
  is_active: boolean;
  /** Grants of earlier epochs have ended. */
  access_epoch: number;
  grant_types: string[];
  redirect_uris: string[];
  first_party: boolean;
  required_permission_id: string | null;
  scopes: string[];
  claim_mappings: ClaimMapping[];
  subject_type: 'public' | 'pairwise';
  sector: string | null;
  require_pkce: boolean;
  require_par: boolean;
  grant_days: number;
  default_max_age: number | null;
  /** The salt of pairwise subjects in hexadecimal; null for an application with public ones. */
  salt: string | null;
  /** The API resources that it may have tokens for, with the permissions that those may carry. */
  resources: {
    id: string;
    identifier: string;
    permissions: { id: string; name: string; description: string }[];
  }[];
};

/** What is wrong with a request, before it is known who answers it. */
type RequestError =
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unauthorized_client'
  | 'unsupported_response_type'
  | 'request_not_supported'
  | 'request_uri_not_supported';

/** What an application is told (RFC 6749, 4.1.2.1; RFC 8707, 2; OpenID Connect Core, 3.1.2.6; Unmet Authentication Requirements). */
export type RedirectError =
  | RequestError
  | 'access_denied'
  | 'login_required'
  | 'account_selection_required'
  | 'interaction_required'
  | 'consent_required'
  | 'unmet_authentication_requirements';

/** Why a request has no answer at the application: the person sees a page. */
export type PageReason =
  | 'malformed'
  | 'repeated'
  | 'unknown_application'
  | 'request_uri'
  | 'redirect_uri_missing'
  | 'redirect_uri'
  | 'finished';

export type Target = { resource_id: string; permission_ids: string[] };

/** How the answer is sent. */
export type Answering = { redirectUri: string; mode: 'query' | 'form_post'; state: string | undefined };

type Prompt = 'none' | 'login' | 'consent' | 'select_account' | 'create';

export type CheckedRequest = Answering & {
  /** Of OpenID Connect. */
  scopes: string[];
  /** What a person is asked to agree to: `scopes`, and those that `claims` asks for single claims of. */
  consentScopes: string[];
  /** What tokens for API resources are asked to carry. */
  targets: Target[];
  challenge: string | null;
  prompts: ReadonlySet<Prompt>;
  maxAgeSeconds: number | null;
  nonce: string | null;
  claims: Record<string, unknown> | null;
  /** Whom `id_token_hint` names. */
  hintSub: string | null;
  /** By whom it must be answered; undefined for anyone. */
  subjects: string[] | undefined;
  acr: { wanted: Acr[]; isEssential: boolean };
  loginHint: string | null;
  uiLocales: string | null;
  dpopJkt: string | null;
};

type RequestRefusal = { answering: Answering; error: RequestError; description: string };
export type RequestOutcome = { page: PageReason } | { refused: RequestRefusal } | { checked: CheckedRequest };

/** Texts of `state` and `nonce`. */
const MAX_ECHO = 2_000;
const MAX_CLAIMS_BYTES = 4_096;
const MAX_AGE_SECONDS = 1_000_000_000;
const MAX_RESOURCES = 5;
/** Permissions that one token carries. */
const MAX_PERMISSIONS = 100;
const HASH = /^[\w-]{43}$/;

const prompts: ReadonlySet<string> = new Set(['none', 'login', 'consent', 'select_account', 'create']);
const isPrompt = (text: string): text is Prompt => prompts.has(text);
const isAcr = (text: unknown): text is Acr => acrValues.some((acr) => acr === text);
const wordsOf = (text = ''): string[] => text.split(' ').filter((word) => word !== '');

class Refusal extends Error {
  readonly code: RequestError;
  constructor(code: RequestError, description: string) {
    super(description);
    this.code = code;
  }
}
const refuse = (code: RequestError, description: string): never => {
  throw new Refusal(code, description);
};

/** `readHint`: returns undefined for a text that is no ID token of this service. */
type Checking = { isPushed: boolean; readHint: (text: string) => Hint | undefined };

/** Returns the request if it can be answered. */
export function checkRequest(
  application: RequestedApplication | null,
  parameters: Parameters,
  checking: Checking,
): RequestOutcome {
  if (!application?.is_active) return { page: 'unknown_application' };
  const { redirect_uri: redirectUri, response_mode: mode, state } = parameters;
  if (redirectUri === undefined) return { page: 'redirect_uri_missing' };
  if (!isRegistered(redirectUri, application.redirect_uris, application.type))
    return { page: 'redirect_uri' };
  const answering: Answering = {
    redirectUri,
    mode: mode === 'form_post' ? 'form_post' : 'query',
    state: state !== undefined && state.length <= MAX_ECHO ? state : undefined,
  };
  try {
    return { checked: { ...answering, ...checkedParts(application, parameters, checking) } };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { refused: { answering, error: error.code, description: error.message } };
  }
}

function checkedParts(
  application: RequestedApplication,
  parameters: Parameters,
  { isPushed, readHint }: Checking,
): Omit<CheckedRequest, keyof Answering> {
  if (parameters.request !== undefined)
    refuse('request_not_supported', 'Request objects are not supported. Send the parameters themselves.');
  if (parameters.request_uri !== undefined)
    refuse('request_uri_not_supported', 'Only request_uri of pushed requests are supported.');
  if (parameters.response_type === undefined) refuse('invalid_request', 'Send response_type=code.');
  if (parameters.response_type !== 'code')
    refuse('unsupported_response_type', 'Only response_type=code is supported.');
  const { response_mode: mode } = parameters;
  if (mode !== undefined && mode !== 'query' && mode !== 'form_post')
    refuse('invalid_request', 'response_mode must be query or form_post.');
  if (application.require_par && !isPushed)
    refuse('invalid_request', 'Push the request first: the application has require_par.');
  const challenge = challengeOf(application, parameters);
  const { scopes, targets } = scopesOf(application, parameters);
  const asked = promptsOf(parameters.prompt);
  const maxAgeSeconds = maxAgeOf(parameters.max_age) ?? application.default_max_age;
  const claims = claimsOf(parameters.claims);
  if (parameters.dpop_jkt !== undefined && !HASH.test(parameters.dpop_jkt))
    refuse('invalid_request', 'dpop_jkt must be a thumbprint of 43 characters of base64url.');
  for (const name of ['state', 'nonce'] as const)
    if ((parameters[name]?.length ?? 0) > MAX_ECHO)
      refuse('invalid_request', `${name} must have at most ${MAX_ECHO} characters.`);
  const { id_token_hint: text } = parameters;
  const hint = text === undefined ? undefined : readHint(text);
  if (text !== undefined && hint?.clientId !== application.client_id)
    refuse('invalid_request', 'id_token_hint is not an ID token of this service for this application.');
  if (!application.grant_types.includes('authorization_code'))
    refuse('unauthorized_client', 'The application does not have the grant type authorization_code.');
  const askedAcr = askedOf(claims, 'acr');
  const values = valuesIn(askedAcr);
  const named = values ?? wordsOf(parameters.acr_values);
  const hintSub = hint?.sub ?? parameters.hint_sub ?? null;
  const subjects = [
    valuesIn(askedOf(claims, 'sub')),
    valuesIn(askedOf(claims, 'sub', 'userinfo')),
    hintSub === null ? undefined : [hintSub],
  ].filter((one) => one !== undefined);
  const claimed = scopesOfRequested(claims, application.claim_mappings);
  return {
    challenge,
    scopes,
    consentScopes: application.scopes.filter((one) => scopes.includes(one) || claimed.has(one)),
    targets,
    prompts: asked,
    maxAgeSeconds,
    nonce: parameters.nonce ?? null,
    claims,
    hintSub,
    subjects: subjects.length === 0 ? undefined : commonTexts(subjects),
    // Without values, every level is the one that is asked for.
    acr: {
      wanted: named.filter(isAcr),
      isEssential: askedAcr?.essential === true && (values?.length ?? 0) > 0,
    },
    loginHint: parameters.login_hint ?? null,
    uiLocales: parameters.ui_locales ?? null,
    dpopJkt: parameters.dpop_jkt ?? null,
  };
}

const commonTexts = ([first = [], ...others]: unknown[][]): string[] =>
  first.filter((one): one is string => typeof one === 'string' && others.every((list) => list.includes(one)));

function challengeOf(application: RequestedApplication, parameters: Parameters): string | null {
  const { code_challenge: challenge, code_challenge_method: method } = parameters;
  if (challenge === undefined && method === undefined) {
    if (application.require_pkce)
      refuse('invalid_request', 'Turn on PKCE in the application, or set require_pkce to false.');
    return null;
  }
  if (challenge === undefined || !HASH.test(challenge) || method !== 'S256')
    return refuse('invalid_request', 'Send code_challenge of 43 characters with code_challenge_method=S256.');
  return challenge;
}

type Asked = Pick<CheckedRequest, 'scopes' | 'targets'>;

/** Returns what is asked for in a request without redirect address (RFC 8628, 3.1), or why the application may not have it. */
export function askedScopes(
  application: RequestedApplication,
  parameters: Pick<Parameters, 'scope' | 'resource'>,
): Asked | { error: 'invalid_scope' | 'invalid_target'; description: string } {
  try {
    return scopesOf(application, parameters);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const code = error.code === 'invalid_target' ? error.code : 'invalid_scope';
    return { error: code, description: error.message };
  }
}

function scopesOf(
  application: RequestedApplication,
  { scope, resource }: Pick<Parameters, 'scope' | 'resource'>,
): Asked {
  const asked = new Set(wordsOf(scope));
  const isRefreshed = application.grant_types.includes('refresh_token');
  const scopes = application.scopes.filter(
    (one) => asked.has(one) && (one !== 'offline_access' || isRefreshed),
  );
  const wanted = application.resources.filter(({ identifier }) => resource.includes(identifier));
  const targets = wanted.map(({ id, permissions }) => ({
    resource_id: id,
    permission_ids: permissions.filter(({ name }) => asked.has(name)).map((one) => one.id),
  }));
  if (scopes.length === 0 && targets.every(({ permission_ids: ids }) => ids.length === 0))
    refuse('invalid_scope', 'Send scope with at least one that the application may ask for.');
  if (targets.some(({ permission_ids: ids }) => ids.length > MAX_PERMISSIONS))
    refuse('invalid_scope', `A token carries at most ${MAX_PERMISSIONS} permissions. Ask for less.`);
  if (resource.length > MAX_RESOURCES)
    refuse('invalid_target', `Send at most ${MAX_RESOURCES} resource parameters.`);
  if (wanted.length < resource.length)
    refuse('invalid_target', 'The application may not have tokens for this resource.');
  return { scopes, targets };
}

function promptsOf(text: string | undefined): Set<Prompt> {
  const words = wordsOf(text);
  const found = words.filter(isPrompt);
  if (found.length < words.length) refuse('invalid_request', 'prompt has an unknown value.');
  if (found.includes('none') && new Set(found).size > 1)
    refuse('invalid_request', 'prompt=none cannot be combined with other values.');
  return new Set(found);
}

function maxAgeOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const seconds = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  if (!(seconds <= MAX_AGE_SECONDS))
    refuse('invalid_request', 'max_age must be a number of seconds, at most 1000000000.');
  return seconds;
}

function claimsOf(text: string | undefined): Record<string, unknown> | null {
  if (text === undefined) return null;
  const wrong = () => refuse('invalid_request', 'claims must be a JSON object of at most 4 KiB.');
  if (Buffer.byteLength(text) > MAX_CLAIMS_BYTES) return wrong();
  try {
    const value: unknown = JSON.parse(text);
    // PostgreSQL stores neither NUL nor half a character.
    const isStorable = !/\\u(?:0000|d[89a-f])/.test(JSON.stringify(value));
    if (isObject(value) && !Array.isArray(value) && isStorable) return value;
  } catch {
    // Not JSON.
  }
  return wrong();
}
