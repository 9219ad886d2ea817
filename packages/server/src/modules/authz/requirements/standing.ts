// SQL of what an account is under now, by the database's clock. The guard computes the same in memory (account.ts).
import type { Acr } from '@castellan/contract/authentication';
import { administrativePermissions } from '@castellan/contract/permissions';
import { sql } from 'kysely';
import type { Db } from '../../../schema/database.ts';
import { acrIn, strongerOf } from '../graph/needs.ts';
import { type Policy, requiredBySetting } from './account.ts';

/** SQL of a user `u`: the strongest level that their roles ask for now, and whether one makes them an administrator. */
export const demandsOfRoles = sql`
  (select max(r.required_acr collate "C") from held_user_roles held join roles r on r.id = held.role_id
   where held.user_id = u.id and r.required_acr is not null
     and (r.enforced_from is null or r.enforced_from <= clock_timestamp())) as required_by_roles,
  exists (
    select from held_user_roles held join role_permissions through on through.role_id = held.role_id
    join permissions p on p.id = through.permission_id
    where held.user_id = u.id and p.name = any(${administrativePermissions}::text[])) as is_administrator`;

export type Demands = {
  is_superuser: boolean;
  /** The strongest level of the roles; null for none. */
  required_by_roles: string | null;
  is_administrator: boolean;
  judged_at: Date;
};

/** Returns the strongest level that is in force; null for none. */
export const levelIn = (policy: Policy, demands: Demands): Acr | null =>
  strongerOf(
    demands.required_by_roles === null ? null : acrIn(demands.required_by_roles),
    requiredBySetting(policy, demands),
  );

/** Returns how the user must have signed in, now; null for no matter how, and for an unknown user. */
export async function findAccountLevel(db: Db, policy: Policy, userId: string): Promise<Acr | null> {
  const { rows } = await sql<Demands>`
    select u.is_superuser, ${demandsOfRoles}, clock_timestamp() as judged_at from users u where u.id = ${userId}`.execute(
    db,
  );
  const [demands] = rows;
  return demands ? levelIn(policy, demands) : null;
}
