// Determines the client address of a request, and the network of an address.
// It must never believe a forwarded-address header unless the socket peer is a trusted proxy.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.process>;

export type TrustedProxies = {
  matches(address: string): boolean;
};

export type ForwardingHeaders = {
  'x-forwarded-for'?: string | string[] | undefined;
  'x-real-ip'?: string | string[] | undefined;
};

/** Used if the socket closed before its peer was known. No real client has this address. */
export const unknownAddress = '0.0.0.0';

// No real chain of proxies is longer. It limits the work for a header full of trusted addresses.
const MAX_HOPS = 32;
// 45 characters for the longest IPv6 text, brackets, a zone id and a port.
const MAX_HOP_LENGTH = 80;

const hopPattern =
  /^[ \t]*(?:\[(?<bracketed>[\da-f:.]+(?:%[\w.-]+)?)\](?::\d{1,5})?|(?<v4>[\d.]+):\d{1,5}|(?<bare>[\da-f:.]+(?:%[\w.-]+)?))[ \t]*$/i;

/** Parses an address. isIP also refuses octal, hexadecimal and shortened IPv4, which ipaddr.js accepts. */
function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  const zoneAt = family === 6 ? text.indexOf('%') : -1;
  return ipaddr.process(zoneAt === -1 ? text : text.slice(0, zoneAt));
}

/** Returns one entry of X-Forwarded-For in canonical text, without port, brackets and zone id. */
function parseHop(token: string): string | undefined {
  if (token.length > MAX_HOP_LENGTH) return undefined;
  const groups = hopPattern.exec(token)?.groups;
  if (!groups) return undefined;
  if (groups.bracketed !== undefined && isIP(groups.bracketed) !== 6) return undefined;
  return parseAddress(groups.bracketed ?? groups.v4 ?? groups.bare ?? '')?.toString();
}

/** Reads an address or a CIDR range. Returns what is wrong with it as the end of a sentence. */
function readRange(entry: string): [Address, number] | string {
  const [host = '', bits, ...rest] = entry.split('/');
  const family = host.includes('%') ? 0 : isIP(host);
  if (family === 0 || rest.length > 0)
    return 'is neither an IP address nor a CIDR range such as 10.0.0.0/8 or fd00::/8';
  const width = family === 4 ? 32 : 128;
  if (bits !== undefined && (!/^(?:0|[1-9]\d{0,2})$/.test(bits) || Number(bits) > width))
    return `has no valid prefix length (1 to ${width})`;
  const address = ipaddr.process(host);
  // A mapped range (::ffff:a.b.c.d/n) is an IPv4 range with 96 bits less: addresses are compared as IPv4.
  const unmapped = family === 6 && address.kind() === 'ipv4';
  return [address, Number(bits ?? width) - (unmapped ? 96 : 0)];
}

const TRUSTS_ALL = 'would trust every client; list the addresses of your proxies';

function parseRange(entry: string): [Address, number] {
  const range = entry === '*' ? TRUSTS_ALL : readRange(entry);
  if (typeof range !== 'string' && range[1] > 0) return range;
  const reason = typeof range === 'string' ? range : TRUSTS_ALL;
  throw new Error(`has ${JSON.stringify(entry.slice(0, MAX_HOP_LENGTH))}, which ${reason}`);
}

/**
 * Returns an address or a CIDR range in canonical text, such as `203.0.113.7` or `2001:db8::/32`; undefined if the text
 * is neither. A range of one address is that address. Mapped IPv6 becomes IPv4, as client addresses do.
 */
export function canonicalRange(text: string): string | undefined {
  const range = readRange(text);
  if (typeof range === 'string' || range[1] < 0) return undefined;
  const [address, bits] = range;
  return bits === address.toByteArray().length * 8 ? address.toString() : networkText(address, bits);
}

/**
 * Reads TRUSTED_PROXIES: addresses and CIDR ranges, IPv4 or IPv6, comma-separated. Empty entries are skipped;
 * an empty text trusts no proxy. Throws an Error for anything else, including `*` and `/0`; its message names the entry
 * and continues a sentence that begins with the setting's name.
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

/** Yields the entries from last to first, across repeated headers, without splitting the whole text. */
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
    if (hops === MAX_HOPS || !trusted.matches(address)) return address;
  }
  return address;
}

// The texts of the last peers: parsing one takes 2 µs, and a connection sends many requests.
const MAX_PEERS = 1_000;
const peers = new Map<string, string | undefined>();

function canonicalPeer(peer: string): string | undefined {
  if (peers.has(peer)) return peers.get(peer);
  const address = parseAddress(peer)?.toString();
  if (peers.size >= MAX_PEERS) peers.clear();
  peers.set(peer, address);
  return address;
}

/**
 * Returns the client's address in canonical text (RFC 5952; IPv4-mapped IPv6 as IPv4; no port, no zone id).
 *
 * The headers count only if the socket peer is a trusted proxy. X-Forwarded-For is then read from the right, past the
 * trusted proxies; an entry that is no address ends the search at the entry before it.
 * X-Real-IP is read only if X-Forwarded-For is absent, because only the chain shows which proxy added each entry. A
 * malformed chain never falls back to X-Real-IP: otherwise a client could choose which header is believed. A proxy that
 * sets only X-Real-IP must therefore remove X-Forwarded-For.
 */
export function clientAddress(
  peer: string | undefined,
  headers: ForwardingHeaders,
  trusted: TrustedProxies,
): string {
  const address = peer === undefined ? undefined : canonicalPeer(peer);
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

function networkText(address: Address, bits: number): string {
  const bytes = address
    .toByteArray()
    .map((byte, index) => byte & (0xff << Math.min(8, Math.max(0, 8 * (index + 1) - bits))));
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}

/**
 * Returns the network for network checks and abuse counters: IPv4 /24, IPv6 /64. Throws RangeError for anything else.
 */
export function networkOf(address: string): string {
  const parsed = parseOrThrow(address);
  return networkText(parsed, parsed.kind() === 'ipv4' ? 24 : 64);
}

/** Whether both are IPv4 (or mapped IPv4), or both IPv6. Throws RangeError for anything that is no address. */
export const isSameFamily = (one: string, other: string): boolean =>
  parseOrThrow(one).kind() === parseOrThrow(other).kind();

/**
 * Returns the rate-limit key of an address: an IPv4 address itself, the /64 of an IPv6 address, because one subscriber
 * has at least that many addresses. Throws RangeError for anything else.
 */
export function rateLimitAddress(address: string): string {
  const parsed = parseOrThrow(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : networkText(parsed, 64);
}
