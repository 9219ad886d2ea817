// How strongly and how lately the holder of a token proved who they are, and what that is enough for.
import { meets, type Requirement } from '../guard/requirement.ts';
import { type Acr, acrValuesFrom } from '../levels.ts';

/** `authTime` is in seconds. */
type Proof = { acr: Acr; amr: readonly string[]; authTime: number };
/** Null: a password, no matter when. */
export type Context = Proof | null;

type Claims = { acr?: Acr; amr?: readonly string[]; auth_time?: number };

const methods: Readonly<Record<Acr, readonly string[]>> = {
  aal1: ['pwd'],
  aal2: ['pwd', 'otp', 'mfa'],
  phr: ['pwd', 'pop', 'user', 'mfa'],
};

/** Returns the context of a proof of this level. `atMs`: milliseconds since 1970. */
export const contextOf = (acr: Acr, atMs = Date.now()): Proof => ({
  acr,
  amr: methods[acr],
  authTime: Math.floor(atMs / 1_000),
});

/** Returns the claims of a token. */
export const claimsOf = (context: Context): Claims =>
  context ? { acr: context.acr, amr: context.amr, auth_time: context.authTime } : {};

/** Returns the context of a token. */
export const contextIn = ({ acr, amr = [], auth_time: authTime }: Claims): Context =>
  acr && authTime !== undefined ? { acr, amr, authTime } : null;

/** Tells whether a person with these claims meets the requirement. */
export const isMet = ({ acr = 'aal1', auth_time }: Claims, requirement: Requirement): boolean =>
  meets({ type: 'user', acr, authTime: auth_time && auth_time * 1_000 }, requirement, 0);

/** Returns what an introspection says about a permission that is not met. */
export const stepUpOf = (permission: string, { acr = 'aal1', maxAgeSeconds }: Requirement): object => ({
  permission,
  acr_values: acrValuesFrom(acr),
  ...(maxAgeSeconds !== undefined && { max_age: maxAgeSeconds }),
});
