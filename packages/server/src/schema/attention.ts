// What deserves an administrator's attention, as conditions: the dashboard counts by them, and the lists filter by them, so
// that both agree. It must not contain a whole statement.
import { type RawBuilder, sql } from 'kysely';

/** Whether a row of `users u` is an account that the clean-up removes, once it is this old and unless it is verified. */
export const isRemovedAfter = (hours: number): RawBuilder<unknown> => sql`
  u.pending_registration and u.is_active and not u.is_superuser
  and u.created_at < now() - make_interval(secs => ${hours * 3_600})`;

/** Whether a row of `users u` has an invitation that can be accepted. */
export const isInvitationOpen = sql`u.invited_at is not null and u.invitation_expires_at > now()`;

/** Whether a row of `users u` has an invitation that ended unanswered. */
export const isInvitationEnded = sql`u.invited_at is not null and u.invitation_expires_at <= now()`;

/** Whether a row of `users u` has no role. */
export const isWithoutRoles = sql`not exists (select from held_user_roles held where held.user_id = u.id)`;

/** The same by the mark of migration 0047, which is right once the holders are counted (`areHoldersCounted`). */
export const isMarkedWithoutRoles = sql`u.without_roles`;

/**
 * Whether a row of `roles r` is held by nobody. Asking for the first holder makes the planner use the index for each role:
 * few roles have very many holders, and reading all assignments takes seconds.
 */
export const isWithoutHolders = sql`
  ((select true from held_user_roles held where held.role_id = r.id order by held.user_id limit 1) is null
    and (select true from held_account_roles held where held.role_id = r.id
      order by held.service_account_id limit 1) is null)`;

/** Whether a row of `roles r` grants nothing. */
export const isWithoutPermissions = sql`not exists (select from role_permissions g where g.role_id = r.id)`;

/** Whether a row of `permissions p` is in no role, except system roles, which have every permission. */
export const isInNoRole = sql`
  not exists (select from role_permissions g join roles granting on granting.id = g.role_id
    where g.permission_id = p.id and not granting.is_system)`;
