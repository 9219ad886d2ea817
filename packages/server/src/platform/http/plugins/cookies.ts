// Reads the cookies of requests and names those that the service sets. Other sites of the same host or domain may set
// cookies of the same names: a reader must decide by signature which values count.
import { fastifyCookie } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../server/server.ts';

export type CookieSettings = {
  /** Goes before the name of every cookie. May be empty. */
  cookiePrefix: string;
  /** The path that the service is mounted below; may be empty. */
  basePath: string;
};

type Attributes = { path: string; secure: boolean; maxAgeSeconds?: number };

/** Adds `setCookie` and `clearCookie` to replies. Requests are parsed only by `cookieValues`. */
export async function addCookies(app: App): Promise<void> {
  await app.register(fastifyCookie, { hook: false });
}

/** Whether browsers take such a cookie only with `Secure`. They ignore the case of prefixes (RFC 6265bis, 5.7). */
export const needsSecure = (prefix: string): boolean => /^__(secure|host|http)-/i.test(prefix);

/** Whether browsers take such a cookie only with the path `/`. */
const needsRootPath = (prefix: string): boolean => /^__host-/i.test(prefix);

/** Returns the values that a request has of a cookie: see `cookieValuesIn`. */
export const cookieValues = (request: FastifyRequest, settings: CookieSettings, name: string): string[] =>
  cookieValuesIn(request.headers.cookie ?? null, settings, name);

/**
 * Returns the distinct values of a cookie, in the order of the header. `name`: without the prefix. Empty values count as
 * missing.
 */
export function cookieValuesIn(header: string | null, settings: CookieSettings, name: string): string[] {
  const sent = settings.cookiePrefix + name;
  const values = (header ?? '')
    .split(';')
    .filter((pair) => pair.includes(sent))
    .map((pair) => fastifyCookie.parse(pair)[sent]);
  return [...new Set(values.filter((value) => value !== undefined && value !== ''))] as string[];
}

/** Sets a cookie that scripts cannot read. `name`: without the prefix. */
export function setOwnCookie(
  reply: FastifyReply,
  settings: CookieSettings,
  { name, value }: { name: string; value: string },
  { maxAgeSeconds, ...attributes }: Attributes,
): void {
  reply.setCookie(settings.cookiePrefix + name, value, {
    ...attributesOf(settings, attributes),
    ...(maxAgeSeconds === undefined ? {} : { maxAge: maxAgeSeconds }),
  });
}

/** Clears a cookie. The attributes must be those that it was set with. */
export function clearOwnCookie(
  reply: FastifyReply,
  settings: CookieSettings,
  name: string,
  attributes: Attributes,
): void {
  reply.clearCookie(settings.cookiePrefix + name, attributesOf(settings, attributes));
}

const attributesOf = ({ cookiePrefix }: CookieSettings, { path, secure }: Attributes) =>
  ({
    path: needsRootPath(cookiePrefix) ? '/' : path,
    httpOnly: true,
    sameSite: 'lax',
    secure: secure || needsSecure(cookiePrefix),
  }) as const;
