// Refuses every state-changing request whose CSRF token was not made for the browser that sends it.
// On by default for every route; only a route that accepts no cookie may switch it off.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { Csrf } from '../security/csrf.ts';
import { cookieValues } from './cookies.ts';
import type { App } from './server.ts';

export const CSRF_COOKIE = 'csrf_token';
export const CSRF_HEADER = 'x-csrf-token';
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** `onRefused` runs before the answer. */
export function addCsrfProtection(
  app: App,
  csrf: Csrf,
  onRefused: (request: FastifyRequest) => Promise<void>,
): void {
  app.addHook('onRequest', async (request) => {
    if (SAFE_METHODS.has(request.method) || request.is404 || request.routeOptions.config.csrf === false)
      return;
    const header = request.headers[CSRF_HEADER];
    const token = typeof header === 'string' ? header : undefined;
    if (signedCookies(csrf, request).some(({ browserId }) => csrf.verifyToken(browserId, token))) return;
    await onRefused(request);
    throw new AppError('csrf_invalid');
  });
}

/** Answers a token for the browser that asks. A valid cookie is kept, so that the tokens of its other tabs stay good. */
export function issueCsrfToken(
  csrf: Csrf,
  request: FastifyRequest,
  reply: FastifyReply,
  secure: boolean,
): string {
  // Browsers send cookies of longer paths first (RFC 6265, 5.4), and ours has the shortest.
  const known = signedCookies(csrf, request).at(-1);
  const cookie = known?.cookie ?? csrf.issueBrowserId();
  reply.setCookie(CSRF_COOKIE, cookie, { path: '/', httpOnly: true, sameSite: 'lax', secure });
  return csrf.issueToken(known?.browserId ?? (csrf.readBrowserId(cookie) as string));
}

/**
 * Usually one; a neighbouring site may have set more of the name, which must not shut the browser out. Those that we did
 * not sign count as none; one that we signed for somebody else is good with his token only, as it is when it comes alone.
 */
function signedCookies(csrf: Csrf, request: FastifyRequest): { cookie: string; browserId: string }[] {
  return cookieValues(request, CSRF_COOKIE).flatMap((cookie) => {
    const browserId = csrf.readBrowserId(cookie);
    return browserId === null ? [] : [{ cookie, browserId }];
  });
}
