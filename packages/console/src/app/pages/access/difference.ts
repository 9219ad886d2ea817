// How the permissions of two people differ.
import type { EffectivePermission } from '@castellan/sdk';

export type Compared = {
  name: string;
  /** Null where that person does not hold it. */
  left: EffectivePermission | null;
  right: EffectivePermission | null;
};

export type Difference = { onlyLeft: Compared[]; both: Compared[]; onlyRight: Compared[] };

/** Compares two lists by name, each sorted by name in the result. */
export function differenceOf(
  left: readonly EffectivePermission[],
  right: readonly EffectivePermission[],
): Difference {
  const ofRight = new Map(right.map((one) => [one.name, one]));
  const ofLeft = new Map(left.map((one) => [one.name, one]));
  const all = [...new Set([...ofLeft.keys(), ...ofRight.keys()])]
    .sort((a, b) => a.localeCompare(b))
    .map((name) => ({ name, left: ofLeft.get(name) ?? null, right: ofRight.get(name) ?? null }));
  return {
    onlyLeft: all.filter((one) => one.right === null),
    both: all.filter((one) => one.left !== null && one.right !== null),
    onlyRight: all.filter((one) => one.left === null),
  };
}
