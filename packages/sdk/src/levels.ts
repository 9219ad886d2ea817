// How strongly somebody proved who they are (`acr`): the order of the levels.
import type { StepUpRequest } from './api.ts';

/**
 * - `aal1`: a password.
 * - `aal2`: a second factor, too.
 * - `phr`: a passkey or security key, which cannot be phished.
 */
export type Acr = StepUpRequest['required_acr'];

/** From the weakest to the strongest. */
const levels = ['aal1', 'aal2', 'phr'] as const satisfies readonly Acr[];

export const isAcr = (value: unknown): value is Acr => levels.some((level) => level === value);

export const reaches = (acr: Acr, required: Acr): boolean => levels.indexOf(acr) >= levels.indexOf(required);

/** Returns every level that would do, as `acr_values` lists them (RFC 9470, section 3). */
export const acrValuesFrom = (required: Acr): string =>
  levels.filter((level) => reaches(level, required)).join(' ');
