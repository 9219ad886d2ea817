// What is required of the factors of users, for lists. No requirement exists, so nobody lacks a factor.
// It must not decide about a sign-in or a request: the lists read derived columns.
import type { SecondFactorState } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';

type Requirement = Pick<SecondFactorState, 'required_acr' | 'met'>;

/** The condition on `users u` that something is required, now or from an announced date, which their factors do not reach. */
export const unmetRequirement: RawBuilder<unknown> = sql`false`;

/** Returns what is required of each of these users; users without a requirement are left out. */
export const findRequirements = async (
  _userIds: readonly string[],
): Promise<ReadonlyMap<string, Requirement>> => new Map();

export const noRequirement: Requirement = { required_acr: null, met: true };
