// Shows URLs without what may be secret. It must not return a part of a URL that may hold credentials.

/**
 * Whether the part after the host may contain a piece of a password. If the password is not percent-encoded, as in
 * `postgres://user:12/rest@host/db`, `user` is parsed as the host, 12 as the port, and the path contains the rest.
 */
export const mayHoldPassword = ({ pathname, search, hash }: URL): boolean =>
  `${pathname}${search}${hash}`.includes('@');

/**
 * Returns scheme, host and path. Leaves out the user name and the query as well, because they can contain tokens.
 * Returns null if the URL cannot be cut safely.
 */
export const shownUrl = (url: URL): string | null =>
  url.host === '' || mayHoldPassword(url) ? null : `${url.protocol}//${url.host}${url.pathname}`;

/** Returns scheme and host alone, for URLs whose path is a credential. Returns null if the URL cannot be cut safely. */
export const shownOrigin = (url: URL): string | null =>
  url.host === '' || mayHoldPassword(url) ? null : `${url.protocol}//${url.host}`;
