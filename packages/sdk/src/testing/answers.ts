// What the operations of the stand-in share: their requests, their answers, and the start of a session.
import { isRecord, isText } from '../guard/json.ts';
import { type Account, type Accounts, userOf } from './accounts.ts';
import type { Context } from './contexts.ts';

/** A request as an operation sees it. `cookies` are those of one browser; operations may change them. */
export type StandInRequest = {
  bearer: string | undefined;
  body: unknown;
  cookies: Map<string, string>;
  csrfToken: string | null;
  /** The header Prefer. */
  prefer: string | null;
};
export type StandInAnswer = { status: number; body: unknown };
export type Answering = (
  request: StandInRequest,
  accounts: Accounts,
) => StandInAnswer | Promise<StandInAnswer>;

export const ok = (body: unknown, status = 200): StandInAnswer => ({ status, body });
export const done = (data: unknown, message: string, status = 200): StandInAnswer =>
  ok({ data, message }, status);

export const failure = (status: number, code: string, detail: string, more: object = {}): StandInAnswer => ({
  status,
  body: { detail, code, request_id: crypto.randomUUID(), ...more },
});

export const unauthenticated = (bearer: string | undefined): StandInAnswer =>
  bearer === undefined
    ? failure(401, 'token_missing', 'Sign in: send Authorization: Bearer <access token>.')
    : failure(401, 'token_revoked', 'The access token has been revoked. Sign in again.');

export const userRequired = failure(
  403,
  'user_required',
  'Only a signed-in user can do this: it concerns the account of a person.',
);

export const REFRESH = 'refresh_token';
export const textIn = (body: unknown, name: string): string =>
  isRecord(body) && isText(body[name]) ? String(body[name]) : '';

/** Wraps an operation that changes something: it needs the CSRF token of this browser. */
export const guarded =
  (answer: Answering): Answering =>
  (request, accounts) =>
    request.csrfToken !== null && request.csrfToken === request.cookies.get('csrf')
      ? answer(request, accounts)
      : failure(403, 'csrf_invalid', 'The CSRF token is missing or invalid.');

export async function signedIn(
  account: Account,
  { cookies }: StandInRequest,
  accounts: Accounts,
  context?: Context,
) {
  const { access, refresh } = await accounts.signIn(account, context);
  cookies.set(REFRESH, refresh);
  return { access_token: access, token_type: 'bearer', refresh_token: refresh, user: userOf(account) };
}
