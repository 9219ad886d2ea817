// Reads PUBLIC_URL, whose path the service may be mounted below.
// Cookies and routers compare paths character by character, so a path with a second spelling is refused.
import { appPaths, authPaths } from '@castellan/console/paths';

const segmentOf = (path: string): string => path.split('/')[1] ?? '';

/** The first segments of all routes. */
export const ownSegments: ReadonlySet<string> = new Set([
  ...['.well-known', 'api', 'assets', 'brand', 'docs', 'form-post.js', 'health', 'skeleton.css', 'theme.js'],
  ...[...authPaths, ...appPaths].map(segmentOf).filter((segment) => segment !== ''),
]);

const PARTS = /^https?:\/\/[^/?#\\\s]+(.*)$/i;
/** Unreserved characters (RFC 3986, 2.3), which need no encoding, and no dot segments. */
const PLAIN_PATH = /^(?:\/(?!\.{1,2}(?:\/|$))[\w.~-]+)*$/;

/** Returns the URL without a slash at the end. Throws an Error whose message continues a sentence that begins with the name. */
export function readPublicUrl(value: string): string {
  const [, rest] = PARTS.exec(value) ?? [];
  if (rest === undefined || !URL.canParse(value))
    throw new Error('is not a URL of the form http://… or https://…');
  if (/[?#]/.test(rest))
    throw new Error('has a query or a fragment; remove it, as in https://example.com/accounts');
  const url = value.replace(/\/$/, '');
  const path = rest.replace(/\/$/, '');
  if (!PLAIN_PATH.test(path))
    throw new Error(
      `has the path "${path}", which can be written in several ways; use letters, digits, -, ., _ and ~ with single slashes between, as in https://example.com/accounts`,
    );
  const first = segmentOf(path);
  if (ownSegments.has(first.toLowerCase()))
    throw new Error(
      `has a path that begins with "/${first}", as paths of the service do; use another one, as in https://example.com/accounts`,
    );
  return url;
}

/** Returns the path of PUBLIC_URL, without a slash at the end; empty if there is none. */
export const basePathOf = (publicUrl: string): string => new URL(publicUrl).pathname.replace(/\/$/, '');
