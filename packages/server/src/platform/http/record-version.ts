// ETag and If-Match of single records: an update on top of somebody else's change is refused instead of lost.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

/** A record with the version that its ETag tells. */
export type Versioned<T> = { record: T; version: number };

export const etagOf = (version: number): string => `"${version}"`;

export function sendEtag(reply: FastifyReply, version: number): void {
  reply.header('etag', etagOf(version));
}

/**
 * What the caller saw last: versions of which one must still be current. Null when he does not say, or says `*`.
 * Weak tags never match (RFC 9110, 13.1.1), so they are left out.
 */
export function readIfMatch(request: FastifyRequest): readonly number[] | null {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return [...header.matchAll(/(?<![\w/])"(\d{1,10})"/g)].map((match) => Number(match[1]));
}

/** Under the record's lock. Throws 412 with the record as it is now. */
export async function requireVersion(
  ifMatch: readonly number[] | null,
  version: number,
  current: () => object | Promise<object>,
): Promise<void> {
  if (ifMatch === null || ifMatch.includes(version)) return;
  throw new AppError('precondition_failed', { current: await current(), headers: { etag: etagOf(version) } });
}
