// The cookie of the browser that began a sign-in at a provider. It stands in for a CSRF token at the callback.
// It must not be worth anything without the row of the sign-in, which has its hash.
import type { FastifyReply, FastifyRequest } from 'fastify';
import {
  type CookieSettings,
  clearOwnCookie,
  cookieValues,
  setOwnCookie,
} from '../../platform/http/plugins/cookies.ts';

/** Without COOKIE_PREFIX. */
export const PROVIDER_COOKIE = 'castellan_provider';

type Settings = CookieSettings & { cookieSecure: boolean };

/** 256 bits in base64url. */
const VALUE = /^[\w-]{43}$/;

// The operations that connect what waits to one's own account are under /users.
const attributesOf = ({ basePath, cookieSecure }: Settings) => ({
  path: `${basePath}/api/v1`,
  secure: cookieSecure,
});

/** Returns the value; undefined if there is none, or several: a neighbouring site may have set either. */
export function readProviderCookie(request: FastifyRequest, settings: CookieSettings): string | undefined {
  const [value, ...others] = cookieValues(request, settings, PROVIDER_COOKIE);
  return value !== undefined && others.length === 0 && VALUE.test(value) ? value : undefined;
}

export function setProviderCookie(
  reply: FastifyReply,
  settings: Settings,
  value: string,
  maxAgeSeconds: number,
): void {
  setOwnCookie(
    reply,
    settings,
    { name: PROVIDER_COOKIE, value },
    { ...attributesOf(settings), maxAgeSeconds },
  );
}

export function clearProviderCookie(reply: FastifyReply, settings: Settings): void {
  clearOwnCookie(reply, settings, PROVIDER_COOKIE, attributesOf(settings));
}
