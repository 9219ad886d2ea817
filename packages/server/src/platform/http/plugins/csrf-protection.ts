// Refuses state-changing requests whose CSRF token was not issued to the browser that sends them.
// It applies to every route by default; only a route that accepts no cookie may disable it.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../../errors.ts';
import type { Csrf } from '../../security/csrf.ts';
import { hook } from '../hooks.ts';
import type { App } from '../server/server.ts';
import { type CookieSettings, cookieValues, setOwnCookie } from './cookies.ts';

/** Without COOKIE_PREFIX. */
export const CSRF_COOKIE = 'csrf_token';
const CSRF_HEADER = 'x-csrf-token';
const safeMethods = new Set(['GET', 'HEAD', 'OPTIONS']);

type CsrfOptions = {
  settings: CookieSettings;
  /** Returns whether the request presents a credential that no browser sends by itself. */
  isExempt: (request: FastifyRequest) => boolean;
  /** Runs before the refusal is sent. */
  onRefused: (request: FastifyRequest) => Promise<void>;
};

/** Adds the check to every route. On a public route no credential exempts from it. */
export function addCsrfProtection(
  app: App,
  csrf: Csrf,
  { settings, isExempt, onRefused }: CsrfOptions,
): void {
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
      const known = ownCookie(csrf, request, settings);
      return known && csrf.verifyToken(known.browserId, token) ? undefined : refuse(request);
    }),
  );
}

/**
 * Returns a token for the calling browser and sets its cookie. Keeps a valid cookie, so that tokens of other tabs stay
 * valid. `secure`: whether the request came over https.
 */
export function issueCsrfToken(
  csrf: Csrf,
  request: FastifyRequest,
  reply: FastifyReply,
  { settings, secure }: { settings: CookieSettings; secure: boolean },
): string {
  const known = ownCookie(csrf, request, settings);
  const cookie = known?.cookie ?? csrf.issueBrowserId();
  const browserId = known?.browserId ?? csrf.readBrowserId(cookie);
  if (browserId === null) throw new Error('the CSRF cookie just issued does not verify');
  setOwnCookie(reply, settings, { name: CSRF_COOKIE, value: cookie }, { path: '/', secure });
  return csrf.issueToken(browserId);
}

/** Returns the id of the browser that the CSRF token of a state-changing request belongs to. Throws without one. */
export function browserIdOf(csrf: Csrf, request: FastifyRequest, settings: CookieSettings): string {
  const known = ownCookie(csrf, request, settings);
  if (!known) throw new AppError('csrf_invalid');
  return known.browserId;
}

/**
 * Returns the cookie that we signed. Another site of the domain may have set more with the same name: values that we did
 * not sign do not count. Of two that we signed none counts, because either may be another browser's.
 */
function ownCookie(
  csrf: Csrf,
  request: FastifyRequest,
  settings: CookieSettings,
): { cookie: string; browserId: string } | undefined {
  const signed = cookieValues(request, settings, CSRF_COOKIE).flatMap((cookie) => {
    const browserId = csrf.readBrowserId(cookie);
    return browserId === null ? [] : [{ cookie, browserId }];
  });
  return signed.length === 1 ? signed[0] : undefined;
}
