// Sets and clears the cookie that sends the refresh token to the operations under /auth only.
import type { FastifyReply } from 'fastify';

export const REFRESH_COOKIE = 'refresh_token';

const attributes = (secure: boolean) =>
  ({ path: '/api/v1/auth', httpOnly: true, sameSite: 'lax', secure }) as const;

export function setRefreshCookie(
  reply: FastifyReply,
  token: string,
  options: { secure: boolean; maxAgeSeconds: number },
): void {
  reply.setCookie(REFRESH_COOKIE, token, { ...attributes(options.secure), maxAge: options.maxAgeSeconds });
}

export function clearRefreshCookie(reply: FastifyReply, options: { secure: boolean }): void {
  reply.clearCookie(REFRESH_COOKIE, attributes(options.secure));
}
