// What browsers get at an address that no route has: the page that a changed address means, or a page that says so.
// Programs get the error of the contract.
import { appPaths, authPaths } from '@castellan/console/paths';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { preferredType, vary } from '../../platform/http/accept.ts';
import type { StaticText } from '../../platform/http/answers/static-text.ts';
import { decodedPath } from '../../platform/http/method-table.ts';
import { type ConsoleDeps, consoleFolder, readPage } from './pages.ts';

const pages: ReadonlySet<string> = new Set([...authPaths, ...appPaths]);

/** What stands behind an address in a text and was taken for a part of it, or slashes. */
const trailing: ReadonlySet<string> = new Set('/.,;:!\'")>]');
/** A path, and where it ends: at its query, or at a `#` that was escaped, once or more. */
const PARTS = /^([^?]*?)(%(?:25)*23|(?=\?)|$)(.*)$/;

/**
 * Returns the path of the page that an address means, as mail programs and people change it: in upper case, with a slash or
 * punctuation at its end, with its `#` escaped. Keeps the query, and the fragment if it was escaped. Returns undefined if no
 * page has such a path.
 */
export function pageMeant(url: string): string | undefined {
  const [, path = '', hash = '', rest = ''] = PARTS.exec(url) ?? [];
  const wanted = withoutTrailing(decodedPath(path)).toLowerCase() || '/';
  return pages.has(wanted) ? `${wanted}${hash && '#'}${rest}` : undefined;
}

/** Not by a pattern that ends in `$`, which would begin anew at each of many slashes: anybody may send them. */
function withoutTrailing(path: string): string {
  let end = path.length;
  while (trailing.has(path.charAt(end - 1))) end -= 1;
  return path.slice(0, end);
}

/** Returns a function that answers a browser, or returns false and leaves the response to the error. */
export function createMissingPage(deps: ConsoleDeps) {
  const { settings, built = consoleFolder } = deps;
  let page: StaticText | undefined;
  return (request: FastifyRequest, reply: FastifyReply): boolean => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return false;
    vary(reply, 'accept');
    if (preferredType(['application/json', 'text/html'], request.headers.accept) !== 'text/html')
      return false;
    page ??= readPage(built, 'auth.html', '', deps);
    if (!page) return false;
    // The address may contain the token of a mailed link.
    reply.header('referrer-policy', 'no-referrer');
    const meant = pageMeant(request.url);
    if (meant !== undefined) reply.redirect(settings.basePath + meant, 302);
    else reply.code(404).type(page.type).send(page.text);
    return true;
  };
}
