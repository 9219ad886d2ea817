// ETag and If-Match of single records: an update that would overwrite another caller's change is refused.
// It must not demand a strong tag, as RFC 9110, 13.1.1 would: proxies that compress weaken them, and ours are counters.
import { versionsIn } from '@castellan/contract/etags';
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

/** The versions in If-Match, one of which must be current, or that it is malformed. Null without the header, or with `*`. */
export type IfMatch = readonly number[] | 'malformed' | null;

export function readIfMatch(request: FastifyRequest): IfMatch {
  const header = request.headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return versionsIn(header) ?? 'malformed';
}

const MALFORMED =
  'If-Match must be the ETag of the record as you received it, such as `"7"`, or `*`. See `current`.';

/**
 * Throws `precondition_failed` (412) with the current record unless `ifMatch` has `version`. Call it under the record's
 * lock.
 */
export async function requireVersion(
  ifMatch: IfMatch,
  version: number,
  current: () => Record<string, unknown> | Promise<Record<string, unknown>>,
): Promise<void> {
  const isMalformed = ifMatch === 'malformed';
  if (ifMatch === null || (!isMalformed && ifMatch.includes(version))) return;
  throw new AppError('precondition_failed', {
    ...(isMalformed && { detail: MALFORMED }),
    current: await current(),
    headers: { etag: etagOf(version) },
  });
}
