// The operations that the stand-in answers by itself, with the codes and texts of the service.
import type { Register } from '../api.ts';
import { isRecord, isText } from '../guard/json.ts';
import { type Account, type Accounts, shownName, userOf } from './accounts.ts';

/** A request as an operation sees it. `cookies` are those of one browser; operations may change them. */
export type StandInRequest = {
  bearer: string | undefined;
  body: unknown;
  cookies: Map<string, string>;
  csrfToken: string | null;
};
export type StandInAnswer = { status: number; body: unknown };
type Answering = (request: StandInRequest, accounts: Accounts) => StandInAnswer | Promise<StandInAnswer>;

const ok = (body: unknown, status = 200): StandInAnswer => ({ status, body });
const done = (data: unknown, message: string, status = 200): StandInAnswer => ok({ data, message }, status);

export const failure = (status: number, code: string, detail: string): StandInAnswer => ({
  status,
  body: { detail, code, request_id: crypto.randomUUID() },
});

export const unauthenticated = (bearer: string | undefined): StandInAnswer =>
  bearer === undefined
    ? failure(401, 'token_missing', 'Sign in: send Authorization: Bearer <access token>.')
    : failure(401, 'token_revoked', 'The access token has been revoked. Sign in again.');

const userRequired = failure(
  403,
  'user_required',
  'Only a signed-in user can do this: it concerns the account of a person.',
);

const REFRESH = 'refresh_token';
const textIn = (body: unknown, name: string): string =>
  isRecord(body) && isText(body[name]) ? String(body[name]) : '';

/** Wraps an operation that changes something: it needs the CSRF token of this browser. */
const guarded =
  (answer: Answering): Answering =>
  (request, accounts) =>
    request.csrfToken !== null && request.csrfToken === request.cookies.get('csrf')
      ? answer(request, accounts)
      : failure(403, 'csrf_invalid', 'The CSRF token is missing or invalid.');

async function signedIn(account: Account, { cookies }: StandInRequest, accounts: Accounts) {
  const { access, refresh } = await accounts.signIn(account);
  cookies.set(REFRESH, refresh);
  return { access_token: access, token_type: 'bearer', refresh_token: refresh, user: userOf(account) };
}

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

function introspection({ body }: StandInRequest, accounts: Accounts): StandInAnswer {
  const found = accounts.inspect(textIn(body, 'token'));
  if (!found) return ok({ active: false });
  const { account, claims } = found;
  const included = textIn(body, 'include') === 'permissions';
  return ok({
    active: true,
    ...claims,
    username: shownName(account),
    token_type: 'Bearer',
    ...(included ? { roles: [], permissions: [...account.permissions].sort() } : {}),
  });
}

function decision(item: unknown, accounts: Accounts): object {
  const { subject, action, resource } = isRecord(item) ? item : {};
  const permission = `${textIn(resource, 'type')}.${textIn(action, 'name')}`;
  const account = accounts.find(textIn(subject, 'type'), textIn(subject, 'id'));
  const isGranted = account?.permissions.has(permission.toLowerCase()) === true;
  const reason = !account
    ? 'unknown_subject'
    : !account.isActive
      ? 'inactive'
      : isGranted
        ? 'granted'
        : 'not_granted';
  return { decision: reason === 'granted', context: { reason, permission } };
}

/** Asking about others requires these permissions, which the role Service has. */
const asking =
  (permission: 'token.introspect' | 'access.check', answer: Answering): Answering =>
  (request, accounts) => {
    const found = accounts.inspect(request.bearer ?? '');
    if (!found) return unauthenticated(request.bearer);
    if (found.account.permissions.has(permission)) return answer(request, accounts);
    return failure(403, 'permission_denied', 'You do not have the permission that this operation requires.');
  };

export const operations: Readonly<Record<string, Answering>> = {
  'GET /.well-known/jwks.json': async (_, accounts) => ok(await accounts.keySet()),

  'GET /api/v1/auth/csrf-token': ({ cookies }) => {
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
    return done(await signedIn(account, request, accounts), 'You are signed in.');
  }),

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
    return done(await signedIn(account, request, accounts), 'Your password is changed.');
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
  'POST /api/v1/access/v1/evaluation': asking('access.check', ({ body }, accounts) =>
    ok(decision(body, accounts)),
  ),
  'POST /api/v1/access/v1/evaluations': asking('access.check', ({ body }, accounts) => {
    const { evaluations, ...common } = isRecord(body) ? body : {};
    const items: unknown[] = Array.isArray(evaluations) ? evaluations : [];
    return ok({
      evaluations: items.map((item) => decision({ ...common, ...(isRecord(item) ? item : {}) }, accounts)),
    });
  }),
};
