// What roles and permissions ask of the proof that a token carries, from their columns. It has no side effects.
import { type Acr, acrValues, reaches } from '@castellan/contract/authentication';

/** What a call must have proved, and at most how many seconds ago; null: no matter when. */
export type Need = { readonly acr: Acr; readonly maxAgeSeconds: number | null };

/** How holders of a role must have signed in, from a time on: in milliseconds since 1970. */
export type RoleNeed = { readonly acr: Acr; readonly from: number };

type PermissionColumns = { required_acr: string | null; max_auth_age: number | null };
type RoleColumns = { required_acr: string | null; enforced_from_ms: number | null };

/** A level that this release does not know counts as the strongest: no requirement is passed by chance. */
export const acrIn = (text: string): Acr => acrValues.find((acr) => acr === text) ?? 'phr';

export const needIn = ({ required_acr, max_auth_age }: PermissionColumns): Need | null =>
  required_acr === null && max_auth_age === null
    ? null
    : { acr: acrIn(required_acr ?? 'aal1'), maxAgeSeconds: max_auth_age };

export const roleNeedIn = ({ required_acr, enforced_from_ms }: RoleColumns): RoleNeed | null =>
  required_acr === null ? null : { acr: acrIn(required_acr), from: enforced_from_ms ?? 0 };

/** Returns the stronger level. Null is none. */
export const strongerOf = (one: Acr | null, other: Acr | null): Acr | null => {
  if (one === null || other === null) return one ?? other;
  return reaches(one, other) ? one : other;
};

/** Returns what meets both. Null is nothing. */
export function bothOf(one: Need | null, other: Need | null): Need | null {
  if (one === null || other === null) return one ?? other;
  const ages = [one.maxAgeSeconds, other.maxAgeSeconds].filter((age) => age !== null);
  return {
    acr: reaches(one.acr, other.acr) ? one.acr : other.acr,
    maxAgeSeconds: ages.length > 0 ? Math.min(...ages) : null,
  };
}
