// Determines the client address of a request, and the network of an address.
// It must never believe a forwarded-address header unless the socket peer is a trusted proxy.
import { isIP } from 'node:net';
import {
  type Address,
  type AddressRanges,
  networkText,
  parseAddress,
  parseRanges,
} from './address-ranges.ts';

export type TrustedProxies = AddressRanges;

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

/** Returns one entry of X-Forwarded-For in canonical text, without port, brackets and zone id. */
function parseHop(token: string): string | undefined {
  if (token.length > MAX_HOP_LENGTH) return undefined;
  const groups = hopPattern.exec(token)?.groups;
  if (!groups) return undefined;
  if (groups.bracketed !== undefined && isIP(groups.bracketed) !== 6) return undefined;
  return parseAddress(groups.bracketed ?? groups.v4 ?? groups.bare ?? '')?.toString();
}

const TRUSTS_ALL = 'would trust every client; list the addresses of your proxies';

/**
 * Reads TRUSTED_PROXIES: addresses and CIDR ranges, IPv4 or IPv6, comma-separated. Empty entries are skipped;
 * an empty text trusts no proxy. Throws an Error for anything else, including `*` and `/0`; its message names the entry
 * and continues a sentence that begins with the setting's name.
 */
export const parseTrustedProxies = (text: string): TrustedProxies =>
  parseRanges(text, (entry, bits) =>
    entry === '*' || (bits !== undefined && bits <= 0) ? TRUSTS_ALL : undefined,
  );

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
