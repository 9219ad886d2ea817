// Reads the cookies of requests. It must not choose between two cookies of one name: another site of the same domain
// may have set either.
import cookie from '@fastify/cookie';
import type { FastifyRequest } from 'fastify';
import { hook } from './hooks.ts';
import type { App } from './server.ts';

/** Adds `request.cookies`. A cookie in `unique` that comes twice with different values counts as missing. */
export async function addCookies(app: App, unique: readonly string[]): Promise<void> {
  await app.register(cookie);
  app.addHook(
    'onRequest',
    hook((request) => {
      const { cookie: header } = request.headers;
      if (header === undefined) return;
      for (const name of unique)
        if (request.cookies[name] !== undefined && valuesOf(header, name).size > 1)
          delete request.cookies[name];
    }),
  );
}

const valuesOf = (header: string, name: string): Set<string> =>
  new Set(
    header
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.slice(0, pair.indexOf('=')).trim() === name),
  );

/** Returns the distinct values of a cookie, in the order of the header. */
export function cookieValues(request: FastifyRequest, name: string): string[] {
  const values = (request.headers.cookie ?? '')
    .split(';')
    .filter((pair) => pair.includes(name))
    .map((pair) => request.server.parseCookie(pair)[name]);
  return [...new Set(values.filter((value) => value !== undefined))];
}
