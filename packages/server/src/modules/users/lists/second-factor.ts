// The second factors of users in lists: the filter, and what is added to each user.
import type { FactorMethod } from '@castellan/contract/authentication';
import type { SecondFactorFilter, SecondFactorState } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../../schema/database.ts';
import { findRequirements, noRequirement, unmetRequirement } from './unmet-requirement.ts';

/** Conditions on `users u`. The column follows the factors by triggers. */
export const hasSecondFactor: Readonly<Record<SecondFactorFilter, RawBuilder<unknown>>> = {
  on: sql`u.has_factor`,
  off: sql`not u.has_factor`,
  missing: unmetRequirement,
};

type FactorRow = { user_id: string; on: boolean; methods: FactorMethod[] };

/** Returns the second factors of these users. */
export async function findSecondFactors(
  db: Db,
  ids: readonly string[],
): Promise<ReadonlyMap<string, SecondFactorState>> {
  if (ids.length === 0) return new Map();
  const { rows } = await sql<FactorRow>`
    select u.id as user_id, u.has_factor as on,
      case when u.recovery_pending then array['recovery_link'] else
        case when exists (select from passkeys p where p.user_id = u.id) then array['passkey'] else '{}' end
        || case when exists (select from totp_factors t where t.user_id = u.id and t.suspended_at is null)
          then array['totp'] else '{}' end
        || case when exists (select from recovery_codes c where c.user_id = u.id and c.used_at is null)
          then array['recovery_code'] else '{}' end
      end as methods
    from users u where u.id = any(${ids}::uuid[])`.execute(db);
  const requirements = await findRequirements(ids);
  return new Map(
    rows.map(({ user_id, ...own }) => [user_id, { ...own, ...(requirements.get(user_id) ?? noRequirement) }]),
  );
}

/** For a user who was deleted between the two statements. */
export const noSecondFactor: SecondFactorState = { on: false, methods: [], ...noRequirement };
