// Who is at the other end of a request, as far as the transport can tell.
// It must not decide anything: it only carries.

export type Client = {
  requestId: string;
  /** Canonical text of the address that limits, events and origin checks use. */
  address: string;
  /** Cut to what the database keeps; null when the client sent none. */
  userAgent: string | null;
  /** It came over https, here or at a trusted proxy. */
  secure: boolean;
};

/** Longest user agent that is kept, in code units (the database's CHECK says the same). */
export const MAX_USER_AGENT_LENGTH = 400;

// What may come back in X-Request-ID and stand in a log line: no spaces, quotes or control characters.
const SANE_REQUEST_ID = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

export const isSaneRequestId = (value: unknown): value is string =>
  typeof value === 'string' && SANE_REQUEST_ID.test(value);

export const cleanUserAgent = (value: string | undefined): string | null =>
  value ? value.slice(0, MAX_USER_AGENT_LENGTH).toWellFormed().replaceAll('\0', '') : null;
