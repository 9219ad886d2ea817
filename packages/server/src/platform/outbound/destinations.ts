// Which addresses the service connects to when a record names them. It must not connect, nor resolve a name.
import ipaddr from 'ipaddr.js';
import type { AddressRanges } from '../security/address-ranges.ts';

/** `plain`: where http is allowed. `private` includes `loopback`. */
export type PlainHttp = 'loopback' | 'private';

type Address = ReturnType<typeof ipaddr.process>;

// Never a service of somebody: link-local addresses (most metadata services of clouds), whole networks, no address.
const refused: ReadonlySet<string> = new Set([
  'unspecified',
  'broadcast',
  'linkLocal',
  'multicast',
  // They hold an IPv4 address at a place that only the network knows (RFC 8215), or are of tunnels that nobody uses now.
  'rfc6052',
  'rfc6145',
  '6to4',
  'teredo',
]);
const privateRanges: ReadonlySet<string> = new Set(['private', 'uniqueLocal']);

/** IPv6 addresses that a gateway translates to the IPv4 address in their last 32 bits (RFC 6052). */
const TRANSLATED: [ReturnType<typeof ipaddr.parse>, number] = ipaddr.parseCIDR('64:ff9b::/96');

function reached(text: string): Address {
  const address = ipaddr.process(text.replace(/%.*$/, ''));
  const isTranslated = address.kind() === 'ipv6' && address.match(TRANSLATED[0], TRANSLATED[1]);
  return isTranslated ? ipaddr.fromByteArray(address.toByteArray().slice(-4)) : address;
}

/** Returns why the address is not connected to, as a code, or null. `text` is an IP address. */
export function refusalOf(
  text: string,
  { isPlain, plain, deny }: { isPlain: boolean; plain: PlainHttp; deny: AddressRanges },
): 'address_refused' | 'not_https' | null {
  const address = reached(text);
  const range = address.range();
  if (refused.has(range) || deny.matches(text) || deny.matches(address.toString())) return 'address_refused';
  if (!isPlain || range === 'loopback' || (plain === 'private' && privateRanges.has(range))) return null;
  return 'not_https';
}
