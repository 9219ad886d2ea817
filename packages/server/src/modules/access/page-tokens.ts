// Page tokens of searches: where the next page begins, with a code that binds the token to the search and its caller.
// They must not hold anything that the caller may not see.
import { createHmac, timingSafeEqual } from 'node:crypto';
import { DEFAULT_SEARCH_LIMIT, MAX_SEARCH_LIMIT, type SearchPage } from '@castellan/contract/authzen';
import { AppError } from '../../platform/errors.ts';
import { isObject } from '../../platform/unknown-values.ts';

/** Where a page begins. */
export type PageStart = {
  /** Maximum results of the page. */
  limit: number;
  /** The last result of the page before; null on the first page. */
  after: string | null;
  /** Results of all pages, as counted for the first; null if they were not counted. */
  total: number | null;
};

export type PageTokens = {
  /**
   * Returns where the page begins. `search` is everything that a next page must repeat, the caller included. Throws
   * `invalid_input` for a token that this service did not make for the search, and for another limit.
   */
  start(search: unknown, page: SearchPage | undefined): PageStart;
  /** Returns the token of the page that begins here. */
  tokenOf(search: unknown, start: PageStart): string;
};

export function createPageTokens(key: Buffer): PageTokens {
  const withCode = (search: unknown, payload: string): string => {
    const code = createHmac('sha256', key).update(`${payload}\0${canonical(search)}`);
    return `${payload}.${code.digest('base64url')}`;
  };

  return {
    start(search, { token, limit } = {}) {
      const wanted = limit === undefined ? undefined : Math.min(limit, MAX_SEARCH_LIMIT);
      // Clients without optional fields send an empty token for the first page.
      if (token === undefined || token === '')
        return { limit: wanted ?? DEFAULT_SEARCH_LIMIT, after: null, total: null };
      const [payload = ''] = token.split('.', 1);
      // Compared as text, because several texts decode to the same code.
      const given = Buffer.from(token);
      const expected = Buffer.from(withCode(search, payload));
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw foreign();
      const start = readPayload(payload);
      if (wanted !== undefined && wanted !== start.limit) throw foreign();
      return start;
    },
    tokenOf(search, { limit, after, total }) {
      return withCode(search, Buffer.from(JSON.stringify([limit, after, total])).toString('base64url'));
    },
  };
}

/** Reads a payload whose code was right, so this service wrote it. */
function readPayload(payload: string): PageStart {
  const [limit, after, total] = JSON.parse(Buffer.from(payload, 'base64url').toString());
  return { limit, after, total };
}

/** Returns the value as JSON with sorted members, so that equal values have equal texts. */
const canonical = (value: unknown): string =>
  JSON.stringify(value ?? null, (_key, inner: unknown) =>
    isObject(inner) && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );

function foreign(): AppError {
  const message = 'must be the next_token of a page of this search, with all other values unchanged';
  return new AppError('invalid_input', {
    detail: `page.token ${message}.`,
    errors: [{ field: 'page.token', code: 'invalid_token', message }],
  });
}
