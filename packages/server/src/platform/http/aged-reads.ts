// Answers from reads that may be some seconds old: tells their age, and lets the client demand the newest state.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AgedReads } from '../db/aged-reads.ts';

/** What operations say about their age, for their descriptions. */
export const ageDescription =
  'With a read replica, the response may be some seconds old: the header `Age` says how many at most. `Cache-Control: no-cache` in the request demands the newest state.';

/**
 * Returns a function that runs reads for one response, on the primary if the request says `Cache-Control: no-cache` (RFC
 * 9111, 5.2.1.4). Sets `Age` (5.1) if the first result is from a standby. Once a result is from the primary, all that follow are: a
 * standby may lack records that come next, and nothing would say so.
 */
export function agedReader<D>(
  reads: AgedReads<D>,
  request: FastifyRequest,
  reply: FastifyReply,
): <T>(read: (db: D) => Promise<T>) => Promise<T> {
  let current = /(^|[\s,])no-cache\b/i.test(request.headers['cache-control'] ?? '');
  let isFirst = true;
  return async (read) => {
    const { value, ageSeconds } = await reads.run(read, { current });
    if (ageSeconds === null) current = true;
    // Later batches of an export come after the headers.
    if (isFirst && ageSeconds !== null) reply.header('age', String(ageSeconds));
    isFirst = false;
    return value;
  };
}

/** Runs the only read of a response. */
export const readAged = <D, T>(
  reads: AgedReads<D>,
  request: FastifyRequest,
  reply: FastifyReply,
  read: (db: D) => Promise<T>,
): Promise<T> => agedReader(reads, request, reply)(read);
