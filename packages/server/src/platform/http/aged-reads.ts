// Answers from reads that may be some seconds old: tells their age, and lets the client demand the newest state.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AgedReads } from '../db/aged-reads.ts';

/** What operations say about their age, for their descriptions. */
export const ageDescription =
  'With a read replica, the response may be some seconds old: the header `Age` says how many at most. `Cache-Control: no-cache` in the request demands the newest state.';

/**
 * Runs the read, on the primary if the request says `Cache-Control: no-cache` (RFC 9111, 5.2.1.4). Sets `Age` (5.1) if the
 * result is from a standby.
 */
export async function readAged<D, T>(
  reads: AgedReads<D>,
  request: FastifyRequest,
  reply: FastifyReply,
  read: (db: D) => Promise<T>,
): Promise<T> {
  const current = /(^|[\s,])no-cache\b/i.test(request.headers['cache-control'] ?? '');
  const { value, ageSeconds } = await reads.run(read, { current });
  // Later batches of an export come after the headers.
  if (ageSeconds !== null && !reply.raw.headersSent) reply.header('age', String(ageSeconds));
  return value;
}
