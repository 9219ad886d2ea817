// Reads and sets the cookie that holds the tokens of devices: one for each account that signed in from this browser.
// It must not judge them: a token counts only for the account that it was made for.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Client } from '../../../platform/http/client.ts';
import { type CookieSettings, cookieValues, setOwnCookie } from '../../../platform/http/plugins/cookies.ts';
import { browserIdOf } from '../../../platform/http/plugins/csrf-protection.ts';
import type { Csrf } from '../../../platform/security/csrf.ts';
import { MAX_TOKENS } from '../../devices/service.ts';
import { authAttributes } from '../refresh-cookie.ts';

/** Without COOKIE_PREFIX. */
export const DEVICE_COOKIE = 'device';

type Settings = CookieSettings & { cookieSecure: boolean; knownDeviceDays: number };

/** 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/;
// Another site of the domain may set cookies of this name. They must not make lookups long.
const MAX_COOKIES = 4;

const DAY_SECONDS = 24 * 60 * 60;

/** Who signs in, and from which browser. */
export type Visitor = {
  client: Client;
  /** The id in the CSRF cookie. */
  browserId: string;
  /** Those of the device cookie, newest first. */
  deviceTokens: readonly string[];
};

export const visitorOf = (
  request: FastifyRequest,
  { csrf, settings }: { csrf: Csrf; settings: CookieSettings },
): Visitor => ({
  client: request.client,
  browserId: browserIdOf(csrf, request, settings),
  deviceTokens: readDeviceTokens(request, settings),
});

/** Returns the tokens of the device cookie, newest first. */
export function readDeviceTokens(request: FastifyRequest, settings: CookieSettings): string[] {
  const values = cookieValues(request, settings, DEVICE_COOKIE).slice(0, MAX_COOKIES);
  const tokens = values.flatMap((value) => value.split('.', MAX_TOKENS)).filter((token) => TOKEN.test(token));
  return [...new Set(tokens)];
}

export function setDeviceCookie(reply: FastifyReply, settings: Settings, tokens: readonly string[]): void {
  setOwnCookie(
    reply,
    settings,
    { name: DEVICE_COOKIE, value: tokens.join('.') },
    { ...authAttributes(settings), maxAgeSeconds: settings.knownDeviceDays * DAY_SECONDS },
  );
}
