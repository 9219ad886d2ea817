// Reads IP addresses and CIDR ranges. IPv4-mapped IPv6 is IPv4 everywhere.
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ReturnType<typeof ipaddr.process>;

export type AddressRanges = {
  matches(address: string): boolean;
};

/** Parses an address. isIP also refuses octal, hexadecimal and shortened IPv4, which ipaddr.js accepts. */
export function parseAddress(text: string): Address | undefined {
  const family = isIP(text);
  if (family === 0) return undefined;
  const zoneAt = family === 6 ? text.indexOf('%') : -1;
  return ipaddr.process(zoneAt === -1 ? text : text.slice(0, zoneAt));
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

export function networkText(address: Address, bits: number): string {
  const bytes = address
    .toByteArray()
    .map((byte, index) => byte & (0xff << Math.min(8, Math.max(0, 8 * (index + 1) - bits))));
  return `${ipaddr.fromByteArray(bytes).toString()}/${bits}`;
}

/** How much of an entry an error repeats. */
const MAX_ENTRY_LENGTH = 80;

/**
 * Reads addresses and CIDR ranges, IPv4 or IPv6, comma-separated. Empty entries are skipped. Throws an Error for anything
 * else; its message names the entry and continues a sentence that begins with the setting's name. `refuse` returns why an
 * entry that is one is refused.
 */
export function parseRanges(
  text: string,
  refuse: (entry: string, bits: number | undefined) => string | undefined = () => undefined,
): AddressRanges {
  const ranges = text
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map((entry) => {
      const range = readRange(entry);
      const isRange = typeof range !== 'string';
      const reason = refuse(entry, isRange ? range[1] : undefined) ?? (isRange ? undefined : range);
      // A mapped range of more than all IPv4 addresses is all of them.
      if (isRange && reason === undefined) return [range[0], Math.max(0, range[1])] as const;
      throw new Error(`has ${JSON.stringify(entry.slice(0, MAX_ENTRY_LENGTH))}, which ${reason}`);
    });
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
