// Counts by network: the first 24 bits of an IPv4 address, the first 64 of an IPv6 address.

const IPV6_GROUPS = 4;

/** Returns the network as the filter of sessions takes it, such as `203.0.113.0/24`. */
export function networkOf(address: string): string {
  const v4 = /^(?:::ffff:)?(\d+\.\d+\.\d+)\.\d+$/i.exec(address);
  if (v4) return `${v4[1]}.0/24`;
  const [head = '', tail] = address.toLowerCase().split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => '0'), ...after].slice(0, IPV6_GROUPS);
  return `${groups.join(':')}::/64`;
}

export type NetworkCount = { network: string; sessions: number };

/** Returns the networks with the most sessions first. Sessions without an address count for none. */
export function countNetworks(addresses: readonly (string | null)[]): NetworkCount[] {
  const counts = new Map<string, number>();
  for (const address of addresses) {
    if (address === null) continue;
    const network = networkOf(address);
    counts.set(network, (counts.get(network) ?? 0) + 1);
  }
  return [...counts]
    .map(([network, sessions]) => ({ network, sessions }))
    .sort((a, b) => b.sessions - a.sessions || a.network.localeCompare(b.network));
}
