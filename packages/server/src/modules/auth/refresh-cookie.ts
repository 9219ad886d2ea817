// Reads, sets and clears the cookie that sends the refresh token to the operations under /auth only.
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type CookieSettings,
  clearOwnCookie,
  cookieValues,
  setOwnCookie,
} from '../../platform/http/plugins/cookies.ts';
import { readSigned } from '../../platform/security/jwt.ts';
import type { SessionDeps } from '../sessions/service.ts';

/** Without COOKIE_PREFIX. */
export const REFRESH_COOKIE = 'refresh_token';

type Settings = CookieSettings & { cookieSecure: boolean };

/** Attributes of the cookies that only the operations under /auth get. */
export const authAttributes = ({ basePath, cookieSecure }: Settings) => ({
  path: `${basePath}/api/v1/auth`,
  secure: cookieSecure,
});

/**
 * Returns the refresh token of the browser. A value that this service did not sign does not count beside one that it
 * signed. Of two that it signed none counts, because a neighbouring site may have set either. The only value, if it is
 * not signed with a key that this instance knows, is returned with `isSigned` false: the allowlist decides.
 */
export function readRefreshCookie(
  request: FastifyRequest,
  { settings, keyRing }: { settings: Settings; keyRing: SessionDeps['keyRing'] },
): { token: string | undefined; isSigned: boolean } {
  const values = cookieValues(request, settings, REFRESH_COOKIE);
  const signed = values.filter((value) => readSigned(value, 'refresh', keyRing.publicKeys()).ok);
  if (signed.length === 0) return { token: values.length === 1 ? values[0] : undefined, isSigned: false };
  return { token: signed.length === 1 ? signed[0] : undefined, isSigned: true };
}

export function setRefreshCookie(
  reply: FastifyReply,
  settings: Settings,
  token: string,
  maxAgeSeconds: number,
): void {
  setOwnCookie(
    reply,
    settings,
    { name: REFRESH_COOKIE, value: token },
    { ...authAttributes(settings), maxAgeSeconds },
  );
}

export function clearRefreshCookie(reply: FastifyReply, settings: Settings): void {
  clearOwnCookie(reply, settings, REFRESH_COOKIE, authAttributes(settings));
}
