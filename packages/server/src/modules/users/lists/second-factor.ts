// The second factors of users in lists: the filter, and what is added to each user.
import { type FactorMethod, reaches } from '@castellan/contract/authentication';
import type { SecondFactorFilter, SecondFactorState } from '@castellan/contract/users';
import { type RawBuilder, sql } from 'kysely';
import type { Db } from '../../../schema/database.ts';
import { type Demands, hasPasskeyOf, lacksDemanded } from '../../../schema/unmet-requirement.ts';
import { accountNeeds, type Judging } from '../../authz/requirements/account.ts';
import type { VersionedUser } from '../presentation.ts';

/** `missing`: the factors do not reach what is demanded of the user. */
export type SecondFactorCondition = { state: Exclude<SecondFactorFilter, 'missing'> } | { missing: Demands };

/** Returns the condition on `users u`. The column follows the factors by triggers. */
export function hasSecondFactor(condition: SecondFactorCondition): RawBuilder<unknown> {
  if ('missing' in condition) return lacksDemanded(condition.missing);
  return condition.state === 'on' ? sql`u.has_factor` : sql`not u.has_factor`;
}

type FactorRow = { user_id: string; on: boolean; methods: FactorMethod[] };

/** Returns the second factors of these users, and what is required of them, now or from an announced date. */
export async function findSecondFactors(
  db: Db,
  users: readonly VersionedUser[],
  judging: Omit<Judging, 'now'>,
): Promise<ReadonlyMap<string, SecondFactorState>> {
  if (users.length === 0) return new Map();
  const { rows } = await sql<FactorRow>`
    select u.id as user_id, u.has_factor as on,
      case when u.recovery_pending then array['recovery_link'] else
        case when ${hasPasskeyOf(judging.policy.rpIds)} then array['passkey'] else '{}' end
        || case when exists (select from totp_factors t where t.user_id = u.id and t.suspended_at is null)
          then array['totp'] else '{}' end
        || case when exists (select from recovery_codes c where c.user_id = u.id and c.used_at is null)
          then array['recovery_code'] else '{}' end
      end as methods
    from users u where u.id = any(${users.map(({ user_id }) => user_id)}::uuid[])`.execute(db);
  const states = new Map(rows.map((row) => [row.user_id, row]));
  return new Map(
    users.flatMap((user) => {
      const { user_id: id, ...own } = states.get(user.user_id) ?? { user_id: '', on: false, methods: [] };
      return id === '' ? [] : [[id, { ...own, ...requirementOf(judging, user, own) }] as const];
    }),
  );
}

/** Returns the strongest level that is required of the user, and whether their factors reach it. */
function requirementOf(
  judging: Omit<Judging, 'now'>,
  user: VersionedUser,
  { on, methods }: Omit<FactorRow, 'user_id'>,
): Pick<SecondFactorState, 'required_acr' | 'met'> {
  const levels = accountNeeds(judging, user).map(({ acr }) => acr);
  if (levels.length === 0) return { required_acr: null, met: true };
  return levels.some((acr) => reaches(acr, 'phr'))
    ? { required_acr: 'phr', met: methods.includes('passkey') }
    : { required_acr: 'aal2', met: on };
}

/** For a user who was deleted between the two statements. */
export const noSecondFactor: SecondFactorState = { on: false, methods: [], required_acr: null, met: true };
