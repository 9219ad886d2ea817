// Decides whether a redirect address is one of an application, and tells how a wrong one differs.
// It must not normalize an address: they are compared character by character.

/** RFC 8252, 7.3: a program on the person's own machine listens on a port that it learns when it starts. */
const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(?::\d{1,5})?(?=[/?]|$)/;
const WEB = /^https?:\/\//;

/** `type`: of the application. */
export function isRegistered(address: string, registered: readonly string[], type: string): boolean {
  if (registered.includes(address)) return true;
  // A port beyond 65535 is none.
  if (type !== 'native' || !LOOPBACK.test(address) || !URL.canParse(address)) return false;
  const portless = (text: string): string => text.replace(LOOPBACK, 'http://$1');
  return registered.some((one) => LOOPBACK.test(one) && portless(one) === portless(address));
}

/** Returns whether anyone's program may answer at the address, so that who asks cannot be known (RFC 8252, 8.6). */
export const isOfAnyProgram = (address: string): boolean => LOOPBACK.test(address) || !WEB.test(address);

/**
 * What a Content-Security-Policy calls the address: its origin, or the scheme of a program. A policy has no form for IPv6 hosts (CSP 3,
 * 2.3.1): browsers ignore such a source, and block the form.
 */
export const policySourceOf = (address: string): string =>
  WEB.test(address) && !/^https?:\/\/\[/.test(address)
    ? new URL(address).origin
    : `${address.slice(0, address.indexOf(':'))}:`;

/** Returns the host that a person is sent back to; null for a program. */
export const hostOf = (address: string): string | null => (WEB.test(address) ? new URL(address).host : null);

export type Difference = 'slash' | 'case' | 'scheme' | 'host' | 'port' | 'query' | 'path';

const partsOf = (text: string): Record<'scheme' | 'host' | 'port' | 'path' | 'query', string> => {
  const [, scheme = '', host = '', port = '', path = '', query = ''] =
    /^([a-z][a-z0-9+.-]*):(?:\/\/(\[[^\]]*\]|[^/:?#]*)(?::(\d*))?)?([^?#]*)(.*)$/is.exec(text) ?? [];
  return { scheme, host, port, path, query };
};

/**
 * Returns the registered address that is most like the received one, and the first thing that differs; undefined if none is
 * registered. `slash`: only a slash at the end.
 */
export function nearestOf(
  received: string,
  registered: readonly string[],
): { address: string; difference: Difference } | undefined {
  const ranked = registered.map((address) => ({ address, ...differenceOf(received, address) }));
  return ranked.toSorted((one, other) => one.rank - other.rank)[0];
}

function differenceOf(received: string, address: string): { difference: Difference; rank: number } {
  const trim = (text: string): string => text.replace(/\/$/, '');
  if (trim(received) === trim(address)) return { difference: 'slash', rank: 0 };
  if (received.toLowerCase() === address.toLowerCase()) return { difference: 'case', rank: 1 };
  const one = partsOf(received);
  const other = partsOf(address);
  const differing = (['host', 'scheme', 'port', 'path', 'query'] as const).filter(
    (name) => one[name] !== other[name],
  );
  return {
    difference: differing[0] ?? 'path',
    rank: 1 + differing.length + (differing[0] === 'host' ? 5 : 0),
  };
}
