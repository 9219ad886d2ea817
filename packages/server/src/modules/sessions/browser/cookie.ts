// Reads, sets and clears the cookie of a browser session, by which applications learn who is signed in in this browser.
// It must not decide whether the session is live. The cookie is no credential of the API: it opens no operation of it.
import type { FastifyReply } from 'fastify';
import type { Client } from '../../../platform/http/client.ts';
import {
  type CookieSettings,
  clearOwnCookie,
  cookieValuesIn,
  setOwnCookie,
} from '../../../platform/http/plugins/cookies.ts';
import { tokenHash } from '../../../platform/security/jwt.ts';
import { cookieLifetimeSeconds, type TokenSettings } from '../tokens.ts';

/** Without what goes before it: see `cookieSettingsOf`. */
export const BROWSER_COOKIE = 'castellan_sso';

export type BrowserCookieSettings = CookieSettings & { cookieSecure: boolean; publicUrl: string };

/** The user id and 256 random bits: 48 bytes in base64url. */
const VALUE = /^[\w-]{64}$/;
const USER_ID_BYTES = 16;

/**
 * Returns the settings with the prefix of this cookie: over https, `__Host-` instead of any such prefix in COOKIE_PREFIX. It goes to
 * pages outside `/api/v1/auth`, so no other host, nor a page over http, may set it.
 */
function cookieSettingsOf({
  cookiePrefix,
  basePath,
  cookieSecure,
  publicUrl,
}: BrowserCookieSettings): CookieSettings {
  const isHostBound = cookieSecure && publicUrl.startsWith('https:');
  return {
    basePath,
    cookiePrefix: isHostBound
      ? `__Host-${cookiePrefix.replace(/^__(host|secure|http)-/i, '')}`
      : cookiePrefix,
  };
}

const attributesOf = ({ cookieSecure }: BrowserCookieSettings) => ({ path: '/', secure: cookieSecure });

/** What a browser presents. `hash`: as its row has it. */
export type PresentedBrowser = { userId: string; hash: Buffer };

/**
 * Returns what the cookie holds; null if there is none, or several with different values: a neighbouring site may have set
 * either. Nothing in it is verified.
 */
export function readBrowserCookie(
  client: Pick<Client, 'cookie'>,
  settings: BrowserCookieSettings,
): PresentedBrowser | null {
  const [value, ...others] = cookieValuesIn(client.cookie, cookieSettingsOf(settings), BROWSER_COOKIE);
  if (value === undefined || others.length > 0 || !VALUE.test(value)) return null;
  const hex = Buffer.from(value, 'base64url').toString('hex', 0, USER_ID_BYTES);
  return { userId: hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'), hash: tokenHash(value) };
}

export function setBrowserCookie(
  reply: FastifyReply,
  settings: BrowserCookieSettings & TokenSettings,
  value: string,
): void {
  setOwnCookie(
    reply,
    cookieSettingsOf(settings),
    { name: BROWSER_COOKIE, value },
    { ...attributesOf(settings), maxAgeSeconds: cookieLifetimeSeconds(settings) },
  );
}

/** Clears the cookie if the browser has sent one, whatever its value. Otherwise the response stays without it. */
export function clearBrowserCookie(
  reply: FastifyReply,
  client: Pick<Client, 'cookie'>,
  settings: BrowserCookieSettings,
): void {
  const own = cookieSettingsOf(settings);
  if (cookieValuesIn(client.cookie, own, BROWSER_COOKIE).length > 0)
    clearOwnCookie(reply, own, BROWSER_COOKIE, attributesOf(settings));
}
