// What a guard asks of the proof behind a token: a level, and an age.
import { type Acr, acrValuesFrom, isAcr, reaches } from '../levels.ts';

/** A level that the user must have proved, and for how long that counts. Service accounts have nothing to prove. */
export type Requirement = {
  /** Default: `aal1`, any sign-in. */
  readonly acr?: Acr | undefined;
  /** How long ago the user may have proved it, in seconds. Default: any time. */
  readonly maxAgeSeconds?: number | undefined;
};

/** Throws a TypeError for a requirement that asks for nothing or has a wrong value. */
export function checkRequirement(requirement: Requirement): void {
  const { acr, maxAgeSeconds } = requirement;
  if (acr !== undefined && !isAcr(acr)) throw new TypeError('acr must be "aal1", "aal2" or "phr".');
  if (maxAgeSeconds !== undefined && !(Number.isInteger(maxAgeSeconds) && maxAgeSeconds > 0))
    throw new TypeError('maxAgeSeconds must be an integer above 0.');
  if (acr === undefined && maxAgeSeconds === undefined)
    throw new TypeError('A requirement has acr, maxAgeSeconds or both.');
}

/** Tells whether the identity meets the requirement now. `toleranceMs`: how far the clocks may differ. */
export function meets(
  identity: { type: 'user' | 'service_account'; acr: Acr; authTime: number | undefined },
  requirement: Requirement,
  toleranceMs: number,
): boolean {
  if (identity.type !== 'user') return true;
  const { acr = 'aal1', maxAgeSeconds } = requirement;
  if (!reaches(identity.acr, acr)) return false;
  if (maxAgeSeconds === undefined) return true;
  const ageMs = Date.now() - (identity.authTime ?? Number.NaN);
  return ageMs >= -toleranceMs && ageMs <= maxAgeSeconds * 1_000 + toleranceMs;
}

/** Returns the requirement that meets both, so that one step-up is enough. */
export function stricter(one: Requirement, other: Requirement | undefined): Requirement {
  if (!other) return one;
  const { acr: first = 'aal1', maxAgeSeconds: age = Number.POSITIVE_INFINITY } = one;
  const { acr: second = 'aal1', maxAgeSeconds: otherAge = Number.POSITIVE_INFINITY } = other;
  const maxAgeSeconds = Math.min(age, otherAge);
  return {
    acr: reaches(first, second) ? first : second,
    ...(Number.isFinite(maxAgeSeconds) && { maxAgeSeconds }),
  };
}

/** Returns the challenge for the header WWW-Authenticate (RFC 9470, section 3). */
export const challengeFor = ({ acr = 'aal1', maxAgeSeconds }: Requirement): string =>
  [
    'Bearer error="insufficient_user_authentication"',
    'error_description="A stronger or more recent sign-in is required"',
    `acr_values="${acrValuesFrom(acr)}"`,
    ...(maxAgeSeconds === undefined ? [] : [`max_age="${maxAgeSeconds}"`]),
  ].join(', ');
