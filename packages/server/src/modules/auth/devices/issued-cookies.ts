// Sets the cookies of a session that has begun: the refresh token, the browser session and the device.
import type { FastifyReply } from 'fastify';
import { type BrowserCookieSettings, setBrowserCookie } from '../../sessions/browser/cookie.ts';
import { cookieLifetimeSeconds, type TokenSettings } from '../../sessions/tokens.ts';
import { setRefreshCookie } from '../refresh-cookie.ts';
import type { IssuedTokens } from './begin-session.ts';
import { setDeviceCookie } from './cookie.ts';

type Settings = BrowserCookieSettings & TokenSettings & { knownDeviceDays: number };

export function setIssuedCookies(
  reply: FastifyReply,
  settings: Settings,
  { refreshToken, browserToken, deviceTokens }: IssuedTokens,
): void {
  setRefreshCookie(reply, settings, refreshToken, cookieLifetimeSeconds(settings));
  if (browserToken !== undefined) setBrowserCookie(reply, settings, browserToken);
  if (deviceTokens) setDeviceCookie(reply, settings, deviceTokens);
}
