// How many users have a role, as expressions. They must not contain a whole statement.
import { type RawBuilder, sql } from 'kysely';
import { isWithoutHolders } from './attention.ts';

// Kept by migration 0031. Until the kept numbers are right again, a count.
const isWrong = sql`exists (select from role_holder_changes where change is null)`;

/** Whether the kept numbers, and the marks of users without roles (migration 0047), are right. */
export const areHoldersCounted = sql<boolean>`not ${isWrong}`;

/** The number of users with at least one role. */
export const roleHolderCount = sql<string>`
  (case when ${isWrong} then (select count(*) from (select from held_user_roles group by user_id) holders)
    else (select coalesce(sum(change), 0) from role_holder_changes where role_id is null) end)::bigint`;

/** The number of users with the role whose id the expression has. */
export const holdersOfRole = (roleId: RawBuilder<unknown>): RawBuilder<string> => sql<string>`
  (case when ${isWrong} then (select count(*) from held_user_roles where role_id = ${roleId})
    else (select coalesce(sum(change), 0) from role_holder_changes where role_id = ${roleId}) end)::bigint`;

/** The number of roles that neither a user nor a service account has. */
export const unheldRoleCount = sql<string>`
  (case when ${isWrong} then (select count(*) from roles r where ${isWithoutHolders})
    else (select count(*) from roles r
      where r.id not in (
          select role_id from role_holder_changes where role_id is not null group by role_id having sum(change) > 0)
        and not exists (select from held_account_roles held where held.role_id = r.id)) end)::bigint`;
