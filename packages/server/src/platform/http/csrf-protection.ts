// Refuses state-changing requests whose CSRF token was not issued to the browser that sends them.
// It applies to every route by default; only a route that accepts no cookie may disable it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { Csrf } from '../security/csrf.ts';
import { cookieValues } from './cookies.ts';
import { hook } from './hooks.ts';
import type { App } from './server.ts';

export const CSRF_COOKIE = 'csrf_token';
export const CSRF_HEADER = 'x-csrf-token';
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

type CsrfOptions = {
  /** Returns whether the request presents a credential that no browser sends by itself. */
  isExempt: (request: FastifyRequest) => boolean;
  /** Runs before the refusal is sent. */
  onRefused: (request: FastifyRequest) => Promise<void>;
};

/** Adds the check to every route. On a public route no credential exempts from it. */
export function addCsrfProtection(app: App, csrf: Csrf, { isExempt, onRefused }: CsrfOptions): void {
  const refuse = async (request: FastifyRequest): Promise<never> => {
    await onRefused(request);
    throw new AppError('csrf_invalid');
  };
  app.addHook(
    'onRequest',
    hook((request) => {
      if (safeMethods.has(request.method) || request.is404 || request.routeOptions.config.csrf === false)
        return undefined;
      if (request.routeOptions.config.access !== 'public' && isExempt(request)) return undefined;
      const header = request.headers[CSRF_HEADER];
      const token = typeof header === 'string' ? header : undefined;
      const isValid = signedCookies(csrf, request).some(({ browserId }) =>
        csrf.verifyToken(browserId, token),
      );
      return isValid ? undefined : refuse(request);
    }),
  );
}

/**
 * Returns a token for the calling browser and sets its cookie. Keeps a valid cookie, so that tokens of other tabs stay
 * valid.
 */
export function issueCsrfToken(
  csrf: Csrf,
  request: FastifyRequest,
  reply: FastifyReply,
  secure: boolean,
): string {
  // Browsers send cookies of longer paths first (RFC 6265, 5.4), and ours has the shortest.
  const known = signedCookies(csrf, request).at(-1);
  const cookie = known?.cookie ?? csrf.issueBrowserId();
  const browserId = known?.browserId ?? csrf.readBrowserId(cookie);
  if (browserId === null) throw new Error('the CSRF cookie just issued does not verify');
  reply.setCookie(CSRF_COOKIE, cookie, { path: '/', httpOnly: true, sameSite: 'lax', secure });
  return csrf.issueToken(browserId);
}

/**
 * Returns the cookies that we signed, usually one. Another site of the domain may have set more with the same name,
 * which must not block the browser. A cookie that we signed for another browser is valid only with that browser's
 * token.
 */
function signedCookies(csrf: Csrf, request: FastifyRequest): { cookie: string; browserId: string }[] {
  return cookieValues(request, CSRF_COOKIE).flatMap((cookie) => {
    const browserId = csrf.readBrowserId(cookie);
    return browserId === null ? [] : [{ cookie, browserId }];
  });
}
