// Reads single members of the parameter `claims` (OpenID Connect Core, 5.5).
// It must not judge them: what is demanded and cannot be had is refused in `authorize`.
import { type Acr, acrValues, reaches } from '@castellan/contract/authentication';
import { isObject } from '../../../platform/unknown-values.ts';

type Requested = Record<string, unknown> | null;

/** Returns a member, as it was asked for. */
export function askedOf(
  claims: Requested,
  name: string,
  at: 'id_token' | 'userinfo' = 'id_token',
): Record<string, unknown> | undefined {
  const place = claims?.[at];
  const asked = isObject(place) ? place[name] : undefined;
  return isObject(asked) ? asked : undefined;
}

/** Returns the values that would do; undefined for any. A single value in place of a list counts, so that no demand is lost. */
export function valuesIn(asked: Record<string, unknown> | undefined): unknown[] | undefined {
  const given = asked?.values ?? asked?.value;
  if (given === undefined) return undefined;
  return Array.isArray(given) ? given : [given];
}

/**
 * Returns the `acr` of an ID token: the level that was proved, or, of levels that were demanded, the highest that it reaches (OpenID
 * Connect Core, 5.5.1.1).
 */
export function toldAcr(proved: Acr, claims: Requested): Acr {
  const asked = askedOf(claims, 'acr');
  const demanded = asked?.essential === true ? valuesIn(asked) : undefined;
  const met = acrValues.filter((one) => demanded?.includes(one) && reaches(proved, one));
  return met.at(-1) ?? proved;
}
