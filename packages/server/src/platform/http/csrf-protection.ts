// Refuses every state-changing request whose CSRF token was not made for the browser that sends it.
// On by default for every route; only a route that accepts no cookie may switch it off.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';
import type { Csrf } from '../security/csrf.ts';
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
    const browserId = csrf.readBrowserId(request.cookies[CSRF_COOKIE]);
    const header = request.headers[CSRF_HEADER];
    if (browserId !== null && csrf.verifyToken(browserId, typeof header === 'string' ? header : undefined))
      return;
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
  const known = csrf.readBrowserId(request.cookies[CSRF_COOKIE]);
  const cookie = known === null ? csrf.issueBrowserId() : (request.cookies[CSRF_COOKIE] as string);
  reply.setCookie(CSRF_COOKIE, cookie, { path: '/', httpOnly: true, sameSite: 'lax', secure });
  return csrf.issueToken(known ?? (csrf.readBrowserId(cookie) as string));
}
