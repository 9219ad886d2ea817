// What the transport knows about the client of a request.
// It must not decide anything: it only carries values.

export type Client = {
  requestId: string;
  /** The client's IP address in canonical text, for rate limits, audit entries and network checks. */
  address: string;
  /** Cut to the length of the database column; null when the client sent none. */
  userAgent: string | null;
  /** The header Accept-Language; null when the client sent none. */
  acceptLanguage: string | null;
  /** The header Cookie; null when the client sent none. */
  cookie: string | null;
  /** Id of the user who acts as the caller of the request. The guard sets it, and every audit entry of the request has it. */
  actedById?: string;
  /** Whether the request came over https, here or at a trusted proxy. */
  secure: boolean;
  /** Aborts when the connection closes before the response is sent. Work should not start after that. */
  readonly gone: AbortSignal;
};

/** Longest stored user agent, in UTF-16 code units. The CHECK of the column has the same limit. */
const MAX_USER_AGENT_LENGTH = 400;

// Safe in X-Request-ID and in a log line: no spaces, quotes or control characters.
const SANE_REQUEST_ID = /^[A-Za-z0-9._~+/=:@-]{1,128}$/;

export const isSaneRequestId = (value: unknown): value is string =>
  typeof value === 'string' && SANE_REQUEST_ID.test(value);

export const cleanUserAgent = (value: string | undefined): string | null =>
  value ? value.slice(0, MAX_USER_AGENT_LENGTH).toWellFormed().replaceAll('\0', '') : null;
