// Tells from which address a request came, and into which network that address falls.
// It must never believe a forwarded-address header unless the socket peer is a trusted proxy.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.process>;

export interface TrustedProxies {
  matches(address: string): boolean;
}

export interface ForwardingHeaders {
  'x-forwarded-for'?: string | string[] | undefined;
  'x-real-ip'?: string | string[] | undefined;
}

/** Stands for a peer that the socket no longer knows (it closed early). No real client has this address. */
export const unknownAddress = '0.0.0.0';

// No real chain of proxies is longer; it bounds the work on a header full of trusted addresses.
const maxHops = 32;
// 45 characters for the longest IPv6 text, brackets, a zone id and a port.
const maxHopLength = 80;

const hopPattern =
  /^[ \t]*(?:\[(?<bracketed>[\da-f:.]+(?:%[\w.-]+)?)\](?::\d{1,5})?|(?<v4>[\d.]+):\d{1,5}|(?<bare>[\da-f:.]+(?:%[\w.-]+)?))[ \t]*$/i;

/** isIP refuses what ipaddr.js would still accept: octal, hexadecimal and shortened IPv4. */
function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  const zoneAt = family === 6 ? text.indexOf('%') : -1;
  return ipaddr.process(zoneAt === -1 ? text : text.slice(0, zoneAt));
}

/** One entry of X-Forwarded-For in canonical text: a port, brackets and a zone id are taken off. */
function parseHop(token: string): string | undefined {
  if (token.length > maxHopLength) return undefined;
  const groups = hopPattern.exec(token)?.groups;
  if (!groups) return undefined;
  if (groups.bracketed !== undefined && isIP(groups.bracketed) !== 6) return undefined;
  return parseAddress(groups.bracketed ?? groups.v4 ?? groups.bare ?? '')?.toString();
}

function parseRange(entry: string): [Address, number] {
  const fail = (reason: string): never => {
    throw new Error(`has ${JSON.stringify(entry.slice(0, maxHopLength))}, which ${reason}`);
  };
  if (entry === '*') return fail('would trust every client; list the addresses of your proxies');
  const [host = '', bits, ...rest] = entry.split('/');
  const family = host.includes('%') ? 0 : isIP(host);
  if (family === 0 || rest.length > 0) {
    return fail('is no IP address and no CIDR range such as 10.0.0.0/8 or fd00::/8');
  }
  const width = family === 4 ? 32 : 128;
  if (bits !== undefined && (!/^(?:0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > width)) {
    return fail(`has no valid prefix length (1 to ${width})`);
  }
  const address = ipaddr.process(host);
  // A mapped range (::ffff:a.b.c.d/n) is the IPv4 range with 96 bits less: addresses are compared un-mapped.
  const unmapped = family === 6 && address.kind() === 'ipv4';
  const length = Number(bits ?? width) - (unmapped ? 96 : 0);
  if (length <= 0) return fail('would trust every client; list the addresses of your proxies');
  return [address, length];
}

/**
 * Reads TRUSTED_PROXIES: addresses and CIDR ranges, IPv4 or IPv6, comma-separated. Empty entries are skipped;
 * an empty text trusts nobody. Throws an Error for anything else, `*` and `/0` included; its message names the entry and
 * continues a sentence that begins with the setting's name.
 */
export function parseTrustedProxies(text: string): TrustedProxies {
  const ranges = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseRange);
  return {
    matches(address) {
      if (ranges.length === 0) return false;
      const parsed = parseAddress(address);
      return (
        parsed !== undefined &&
        ranges.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits))
      );
    },
  };
}

/** The entries from the last to the first, across repeated headers, without splitting the whole text. */
function* hopsFromTheRight(header: string | string[]): Generator<string> {
  const lines = typeof header === 'string' ? [header] : header;
  for (let index = lines.length - 1; index >= 0; index--) {
    const line = lines[index] ?? '';
    let end = line.length;
    while (end >= 0) {
      const comma = end === 0 ? -1 : line.lastIndexOf(',', end - 1);
      yield line.slice(comma + 1, end);
      end = comma;
    }
  }
}

function lastUntrustedHop(peer: string, header: string | string[], trusted: TrustedProxies): string {
  let address = peer;
  let hops = 0;
  for (const token of hopsFromTheRight(header)) {
    const hop = parseHop(token);
    if (hop === undefined) return address;
    address = hop;
    hops += 1;
    if (hops === maxHops || !trusted.matches(address)) return address;
  }
  return address;
}

/**
 * The client's address in canonical text (RFC 5952; IPv4-mapped IPv6 as IPv4; no port, no zone id).
 *
 * The headers count only when the socket peer is trusted. X-Forwarded-For is then walked from the right past
 * trusted hops; the first entry that is no address ends the walk at the last good hop.
 * X-Forwarded-For wins over X-Real-IP, which is read only when the former is absent: the chain says who vouches
 * for each entry, the single value does not, and a broken chain never falls back to it, or else a client could
 * choose which of the two is believed. A proxy that sets X-Real-IP only must therefore remove X-Forwarded-For.
 */
export function clientAddress(
  peer: string | undefined,
  headers: ForwardingHeaders,
  trusted: TrustedProxies,
): string {
  const address = peer === undefined ? undefined : parseAddress(peer)?.toString();
  if (address === undefined) return unknownAddress;
  const forwardedFor = headers['x-forwarded-for'];
  const realIp = headers['x-real-ip'];
  if (forwardedFor === undefined && realIp === undefined) return address;
  if (!trusted.matches(address)) return address;
  if (forwardedFor !== undefined) return lastUntrustedHop(address, forwardedFor, trusted);
  const single = typeof realIp === 'string' ? realIp : realIp?.length === 1 ? realIp[0] : undefined;
  return (single === undefined ? undefined : parseHop(single)) ?? address;
}

function parseOrThrow(address: string): Address {
  const parsed = parseAddress(address);
  if (!parsed) throw new RangeError('not an IP address');
  return parsed;
}

function networkText(address: Address, bits: 24 | 64): string {
  const bytes = address.toByteArray().map((byte, index) => (index < bits / 8 ? byte : 0));
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}

/** The network for origin checks and abuse counters: IPv4 /24, IPv6 /64. Throws RangeError for no address. */
export function networkOf(address: string): string {
  const parsed = parseOrThrow(address);
  return networkText(parsed, parsed.kind() === 'ipv4' ? 24 : 64);
}

/**
 * The rate-limit key of an address: IPv4 as it is; IPv6 its /64, since one subscriber holds at least that many
 * addresses. Throws RangeError for no address.
 */
export function rateLimitAddress(address: string): string {
  const parsed = parseOrThrow(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : networkText(parsed, 64);
}
