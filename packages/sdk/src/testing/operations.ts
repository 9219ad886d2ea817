// The operations that the stand-in answers by itself, with the codes and texts of the service.
import type { Register } from '../api.ts';
import { isPersonalToken } from '../guard/api-key.ts';
import { isRecord } from '../guard/json.ts';
import { type Account, type Accounts, shownName, type Token, userOf } from './accounts.ts';
import {
  type Answering,
  done,
  failure,
  guarded,
  ok,
  REFRESH,
  type StandInAnswer,
  type StandInRequest,
  signedIn,
  textIn,
  unauthenticated,
  userRequired,
} from './answers.ts';
import { contextIn, isMet, stepUpOf } from './contexts.ts';
import { secondStep, stepUp, stepUpWays } from './second-step.ts';

const CSRF_TOKEN = 'GET /api/v1/auth/csrf-token';

const signOut =
  (end: (accounts: Accounts, account: Account, session: string) => void): Answering =>
  ({ bearer, cookies }, accounts) => {
    const found = accounts.inspect(bearer ?? '');
    if (!found) return unauthenticated(bearer);
    if (found.claims.sid === undefined) return userRequired;
    end(accounts, found.account, found.claims.sid);
    cookies.delete(REFRESH);
    return ok({ message: 'You are signed out.' });
  };

/** Returns what the token may do now, and what only after a step-up. Requirements bind people. */
function permissionsOf({ account, claims, only }: Token, { requirements }: Accounts): object {
  const carried = claims.scope?.toLowerCase().split(' ');
  const all = [...account.permissions]
    .filter((name) => carried?.includes(name) ?? only?.has(name) ?? true)
    .sort();
  if (carried) return { roles: [], permissions: [], scope: all.join(' ') };
  const isOpen = (name: string): boolean => {
    const requirement = account.type === 'user' ? requirements.get(name) : undefined;
    return !requirement || isMet(claims, requirement);
  };
  const step_up = all
    .filter((name) => !isOpen(name))
    .map((name) => stepUpOf(name, requirements.get(name) ?? {}));
  return { roles: [], permissions: all.filter(isOpen), ...(step_up.length > 0 && { step_up }) };
}

function introspection({ body }: StandInRequest, accounts: Accounts): StandInAnswer {
  const found = accounts.inspectAny(textIn(body, 'token'));
  if (!found) return ok({ active: false });
  const { account, claims } = found;
  const included = textIn(body, 'include').split(' ');
  return ok({
    active: true,
    ...claims,
    username: shownName(account),
    token_type: 'Bearer',
    ...(included.includes('permissions') ? permissionsOf(found, accounts) : {}),
    ...(included.includes('live') && isKept(claims) ? keepingOf(found, accounts) : {}),
  });
}

/** The feed does not tell all that ends a token of an application, or of somebody who acts as the user. */
const isKept = ({ scope, act }: Token['claims']): boolean => scope === undefined && act === undefined;

const DAY_SECONDS = 86_400;

/** Returns for how long nothing changes by time alone: until the token ends, or a proof becomes too old. */
function keepingOf({ account, claims }: Token, { requirements }: Accounts): object {
  const now = Date.now() / 1_000;
  const ends = [...account.permissions].map((name) => {
    const requirement = account.type === 'user' ? requirements.get(name) : undefined;
    const { maxAgeSeconds = Number.POSITIVE_INFINITY } = requirement ?? {};
    return requirement && isMet(claims, requirement)
      ? (claims.auth_time ?? 0) + maxAgeSeconds
      : Number.POSITIVE_INFINITY;
  });
  const end = Math.min(claims.exp ?? Number.POSITIVE_INFINITY, now + DAY_SECONDS, ...ends);
  return { fresh_for: Math.max(0, Math.floor(end - now)), role_ids: [] };
}

function decision(item: unknown, accounts: Accounts, prefer: string | null): object {
  const { subject, action, resource } = isRecord(item) ? item : {};
  const permission = `${textIn(resource, 'type')}.${textIn(action, 'name')}`;
  const account = accounts.find(textIn(subject, 'type'), textIn(subject, 'id'));
  const reason = account ? reasonFor(account, permission.toLowerCase(), accounts) : 'unknown_subject';
  const isKept = prefer === 'live' && account?.id === textIn(subject, 'id');
  return {
    decision: reason === 'granted',
    context: { reason, permission, ...(isKept ? { fresh_for: DAY_SECONDS } : {}) },
  };
}

/** A decision about an account knows of no proof. */
function reasonFor(account: Account, permission: string, { requirements }: Accounts): string {
  if (!account.isActive) return 'inactive';
  if (!account.permissions.has(permission)) return 'not_granted';
  const requirement = account.type === 'user' ? requirements.get(permission) : undefined;
  return requirement && !isMet({}, requirement) ? 'step_up_required' : 'granted';
}

/** Returns the refusal of a personal access token, and of somebody who acts as the user, where it concerns the account itself. */
export function ownAccountRefusal(
  operation: string,
  { bearer = '' }: StandInRequest,
  accounts: Accounts,
): StandInAnswer | undefined {
  const isOwn = /^(?:\w+ \/api\/v1\/auth\/|(?!GET )\w+ \/api\/v1\/users\/me\b)/.test(operation);
  const found = isOwn ? accounts.inspect(bearer) : undefined;
  if (found && isPersonalToken(bearer))
    return failure(
      403,
      'user_session_required',
      'A personal access token cannot do this. Sign in, and use the access token of the session.',
    );
  if (found?.claims.act && operation !== 'POST /api/v1/auth/logout' && operation !== CSRF_TOKEN)
    return failure(
      403,
      'acting_as',
      'You act as somebody else, and this concerns their own account. End acting as them first.',
    );
  return undefined;
}

/** Asking about others, and following changes, requires these permissions, which the role Service has. */
const asking =
  (permission: 'token.introspect' | 'access.check' | 'access.watch', answer: Answering): Answering =>
  (request, accounts) => {
    const found = accounts.inspect(request.bearer ?? '');
    if (!found) return unauthenticated(request.bearer);
    if (found.account.permissions.has(permission)) return answer(request, accounts);
    return failure(403, 'permission_denied', 'You do not have the permission that this operation requires.');
  };

/** Returns the refusal of a request for the feed; undefined for a service account that may follow it. */
export async function feedRefusal(
  request: StandInRequest,
  accounts: Accounts,
  accept: string,
): Promise<StandInAnswer | undefined> {
  const caller = accounts.inspect(request.bearer ?? '')?.account;
  if (caller?.type === 'user')
    return failure(403, 'service_account_required', 'Only a service account can do this.');
  const { status, body } = await asking('access.watch', () => ok(undefined))(request, accounts);
  if (status !== 200) return { status, body };
  return accept.includes('text/event-stream')
    ? undefined
    : failure(406, 'not_acceptable', 'The stand-in has the feed as text/event-stream only.');
}

export const operations: Readonly<Record<string, Answering>> = {
  'GET /.well-known/jwks.json': async (_, accounts) => ok(await accounts.keySet()),

  [CSRF_TOKEN]: ({ cookies }) => {
    const token = crypto.randomUUID();
    cookies.set('csrf', token);
    return done({ csrf_token: token }, 'Send this token as X-CSRF-Token.');
  },

  'POST /api/v1/auth/register': guarded(({ body }, accounts) => {
    const { email, password, first_name, last_name } = {
      email: textIn(body, 'email'),
      password: textIn(body, 'password'),
      first_name: textIn(body, 'first_name'),
      last_name: textIn(body, 'last_name'),
    } satisfies Record<keyof Register, string>;
    if (accounts.find('user', email))
      return failure(409, 'email_taken', 'An account with this email address already exists.');
    const account = accounts.add({
      type: 'user',
      name: email,
      password,
      firstName: first_name,
      lastName: last_name,
      isVerified: false,
      permissions: new Set(),
    });
    return done(userOf(account), 'You are registered. Open the link in the mail.', 201);
  }),

  'POST /api/v1/auth/login': guarded(async (request, accounts) => {
    const account = accounts.find('user', textIn(request.body, 'email'));
    if (!account?.isActive || account.password !== textIn(request.body, 'password'))
      return failure(422, 'invalid_credentials', 'The email or password is wrong.');
    if (!account.isVerified)
      return failure(
        422,
        'email_not_verified',
        'Verify your email address first, with the link in the mail.',
      );
    if (account.factors)
      return failure(
        422,
        'second_factor_required',
        'The password is right. Confirm with your second factor.',
        {
          second_factor: accounts.secondSteps.begin(account, request.cookies),
        },
      );
    return done(await signedIn(account, request, accounts), 'You are signed in.');
  }),

  'POST /api/v1/auth/login/second-factor': guarded(secondStep),
  'POST /api/v1/auth/step-up/options': guarded(stepUpWays),
  'POST /api/v1/auth/step-up': guarded(stepUp),

  'POST /api/v1/auth/new_access_token': guarded(async ({ cookies }, accounts) => {
    const token = await accounts.renew(cookies.get(REFRESH) ?? '');
    return token
      ? done({ access_token: token, token_type: 'bearer' }, 'This is a new access token.')
      : failure(401, 'refresh_token_invalid', 'The refresh token is invalid or has expired. Sign in again.');
  }),

  'POST /api/v1/auth/change_password': guarded(async (request, accounts) => {
    const found = accounts.inspect(request.bearer ?? '');
    if (!found) return unauthenticated(request.bearer);
    const { account } = found;
    if (account.type !== 'user') return userRequired;
    if (account.password !== textIn(request.body, 'current_password'))
      return failure(400, 'wrong_current_password', 'The current password is wrong.');
    account.password = textIn(request.body, 'new_password');
    accounts.endSessions(account);
    accounts.endPersonalTokens(account);
    const context = contextIn(found.claims);
    return done(await signedIn(account, request, accounts, context), 'Your password is changed.');
  }),

  'POST /api/v1/auth/logout': guarded(signOut((accounts, _, session) => accounts.endSession(session))),
  'POST /api/v1/auth/logout/all': guarded(signOut((accounts, account) => accounts.endSessions(account))),

  'GET /api/v1/users/me': ({ bearer }, accounts) => {
    const found = accounts.inspect(bearer ?? '');
    if (!found) return unauthenticated(bearer);
    return found.account.type === 'user' ? done(userOf(found.account), 'This is you.') : userRequired;
  },

  'POST /api/v1/oauth/introspect': asking('token.introspect', introspection),
  'POST /api/v1/oauth/revoke': ({ body }, accounts) => {
    accounts.revokeToken(textIn(body, 'token'));
    return ok(undefined);
  },
  'POST /api/v1/access/v1/evaluation': asking('access.check', ({ body, prefer }, accounts) =>
    ok(decision(body, accounts, prefer)),
  ),
  'POST /api/v1/access/v1/evaluations': asking('access.check', ({ body, prefer }, accounts) => {
    const { evaluations, ...common } = isRecord(body) ? body : {};
    const items: unknown[] = Array.isArray(evaluations) ? evaluations : [];
    return ok({
      evaluations: items.map((item) =>
        decision({ ...common, ...(isRecord(item) ? item : {}) }, accounts, prefer),
      ),
    });
  }),
};
