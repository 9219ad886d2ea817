// The order of the providers, as the sign-in page shows them.
import type { IdentityProvider } from '@castellan/sdk';

type Placed = Pick<IdentityProvider, 'id' | 'position'>;

/** Returns the list with the element at `from` at `to`. */
export function movedTo<T>(list: readonly T[], from: number, to: number): T[] {
  const rest = list.filter((_one, index) => index !== from);
  const moved = list.slice(from, from + 1);
  return [...rest.slice(0, to), ...moved, ...rest.slice(to)];
}

/**
 * Returns the positions to store for this order, by id: as few as possible, if those that are stored differ from each other.
 * Equal ones are all written anew.
 */
export function positionsFor(order: readonly Placed[]): Map<string, number> {
  const sorted = order.map(({ position }) => position).sort((one, other) => one - other);
  const areDifferent = new Set(sorted).size === sorted.length;
  return new Map(
    order
      .map(({ id, position }, index) => ({
        id,
        position,
        next: areDifferent ? (sorted[index] ?? index) : index + 1,
      }))
      .filter(({ position, next }) => position !== next)
      .map(({ id, next }) => [id, next]),
  );
}
