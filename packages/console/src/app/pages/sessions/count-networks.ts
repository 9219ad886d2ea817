// Counts sessions by network.
import type { UserSession } from '@castellan/sdk';
import { networkOf } from '../../components/text/network.ts';

/** Returns the networks of the sessions, those with the most first. Sessions without an address are left out. */
export function countNetworks(sessions: readonly UserSession[]): [network: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { origin_address } of sessions) {
    const network = networkOf(origin_address);
    if (network) counts.set(network, (counts.get(network) ?? 0) + 1);
  }
  return [...counts].sort((one, other) => other[1] - one[1] || one[0].localeCompare(other[0]));
}
