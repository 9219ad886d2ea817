// Counts of live sessions by network.
import { networkOf } from '../text/network.ts';

export type NetworkCount = { network: string; sessions: number };

/** Returns the networks with the most sessions first. Sessions without an address count for none. */
export function countNetworks(addresses: readonly (string | null)[]): NetworkCount[] {
  const counts = new Map<string, number>();
  for (const address of addresses) {
    const network = networkOf(address);
    if (network === null) continue;
    counts.set(network, (counts.get(network) ?? 0) + 1);
  }
  return [...counts]
    .map(([network, sessions]) => ({ network, sessions }))
    .sort((a, b) => b.sessions - a.sessions || a.network.localeCompare(b.network));
}
