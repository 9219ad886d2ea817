// ETag and If-Match of single records: an update that would overwrite another caller's change is refused.
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.ts';

/** A record and the version in its ETag. */
export type Versioned<T> = { record: T; version: number };

export const etagOf = (version: number): string => `"${version}"`;

export function sendEtag(reply: FastifyReply, version: number): void {
  reply.header('etag', etagOf(version));
}

/** Returns the ETag of a response that shows more than the record, with the version for If-Match and a tag of its content. */
export const etagOfContent = (version: number, tag: string): string => `"${version}-${tag}"`;

/**
 * Returns the versions in If-Match, one of which must be current; null without the header, or with `*`. Leaves out weak
 * tags, which never match (RFC 9110, 13.1.1).
 */
export function readIfMatch(request: FastifyRequest): readonly number[] | null {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return [...header.matchAll(/(?<![\w/])"(\d{1,10})(?:-[\w-]+)?"/g)].map((match) => Number(match[1]));
}

/**
 * Throws `precondition_failed` (412) with the current record unless `ifMatch` has `version`. Call it under the record's
 * lock.
 */
export async function requireVersion(
  ifMatch: readonly number[] | null,
  version: number,
  current: () => Record<string, unknown> | Promise<Record<string, unknown>>,
): Promise<void> {
  if (ifMatch === null || ifMatch.includes(version)) return;
  throw new AppError('precondition_failed', { current: await current(), headers: { etag: etagOf(version) } });
}
