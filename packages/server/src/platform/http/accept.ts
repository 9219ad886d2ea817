// Reads the headers Accept and Accept-Encoding (RFC 9110, 12.5.1 and 12.5.3). It must not decide what is sent: routes that have several forms do.
import type { FastifyReply } from 'fastify';

/** The preference of a client for one media type. */
type Preference = {
  /** From 0, not acceptable, to 1. */
  quality: number;
  /** Whether the header names the type itself, not a range such as `text/*`. */
  isNamed: boolean;
};

/** Returns the preference for `type`, in lower case. The most specific range counts. Without a header, all types have 1. */
export function preferenceFor(type: string, accept: string | undefined): Preference {
  if (accept === undefined) return { quality: 1, isNamed: false };
  const qualities = new Map(accept.split(',').map(parseRange));
  for (const range of [type, `${type.split('/')[0]}/*`, '*/*']) {
    const quality = qualities.get(range);
    if (quality !== undefined) return { quality, isNamed: range === type };
  }
  return { quality: 0, isNamed: false };
}

/** Returns a range in lower case with its quality. Ignores parameters other than q. A malformed q counts as 1. */
export function parseRange(range: string): [name: string, quality: number] {
  const [name = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
  const quality = Number(parameters.find((one) => one.startsWith('q='))?.slice(2) ?? 1);
  return [name, quality >= 0 && quality <= 1 ? quality : 1];
}

/**
 * Returns the type that the client prefers. Of equal ones, a named type comes before one that only a range covers, and
 * then the first; the first too if none is acceptable, because a response in another form is of more use than a refusal.
 */
export function preferredType<T extends string>(types: readonly [T, ...T[]], accept: string | undefined): T {
  const [first, ...others] = types;
  let [best, of] = [first, preferenceFor(first, accept)];
  for (const type of others) {
    const preference = preferenceFor(type, accept);
    const isEqual = preference.quality === of.quality;
    if (preference.quality > of.quality || (isEqual && preference.isNamed && !of.isNamed))
      [best, of] = [type, preference];
  }
  return of.quality > 0 ? best : first;
}

/** Whether the client takes the coding, such as `gzip`. `*` is not counted: content without a coding always fits. */
export const acceptsCoding = (coding: string, header: string | string[] | undefined): boolean =>
  String(header ?? '')
    .split(',')
    .map(parseRange)
    .some(([name, quality]) => name === coding && quality > 0);

/** Tells caches that the response depends on a request header, besides what else it depends on. */
export function vary(reply: FastifyReply, name: 'accept' | 'accept-encoding' | 'origin'): void {
  const others = reply.getHeader('vary');
  reply.header('vary', others === undefined ? name : `${others}, ${name}`);
}
