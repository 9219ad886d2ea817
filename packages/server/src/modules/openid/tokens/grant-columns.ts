// What statements read of a grant together with its account, application and session, and when it is live.
// It must not contain a whole statement.
import type { Row } from '../../../schema/database.ts';
import type { ClaimedAccount } from '../claims/service.ts';

/** Who signed in to which application, and what the tokens of it may tell. */
export type GrantedAccess = ClaimedAccount &
  Pick<
    Row<'access_grants'>,
    'application_id' | 'session_id' | 'offline' | 'scopes' | 'auth_time' | 'acr' | 'amr' | 'user_id'
  > &
  Pick<
    Row<'applications'>,
    | 'client_id'
    | 'subject_type'
    | 'sector'
    | 'id_token_claims'
    | 'required_permission_id'
    | 'type'
    | 'redirect_uris'
    | 'allowed_origins'
  > & {
    grant_id: string;
    /** The parameter `claims`; null: none. */
    claims: Record<string, unknown> | null;
    /** What the application may ask for now. */
    allowed_scopes: string[];
    /** The salt of pairwise subjects; null for an application with public ones. */
    salt: Buffer | null;
    /** Stamp of the role → permission graph in the same snapshot. */
    authz_stamp: Row<'authz_version'>['stamp'];
  };

// The recursion ends in a cycle, too: a repeated row is not followed again.
const groupNames = `
  with recursive up as (
    select r.id, r.parent_id, r.name from role_groups r
    where r.id in (
      select l.role_group_id from role_group_roles l join held_user_roles h on h.role_id = l.role_id where h.user_id = u.id)
    union
    select p.id, p.parent_id, p.name from role_groups p join up on p.id = up.parent_id
  ) select name from up`;

/** Select list of a `GrantedAccess`, from `grantTables`. */
export const grantColumns = `
  g.id as grant_id, g.application_id, g.session_id, g.offline, g.scopes, g.claims, g.auth_time, g.acr, g.amr,
  a.client_id, a.subject_type, a.sector, a.id_token_claims, a.required_permission_id, a.type, a.redirect_uris,
  a.allowed_origins, a.scopes as allowed_scopes,
  case when a.subject_type = 'pairwise' then (select salt from pairwise_salt) end as salt,
  g.user_id, u.email, u.first_name, u.last_name, u.verified, u.language, u.updated_at, u.is_superuser,
  array(select h.role_id from held_user_roles h where h.user_id = u.id) as role_ids,
  case when 'groups' = any(a.scopes) and ('groups' = any(g.scopes) or g.claims is not null)
    then array(${groupNames}) else '{}' end as group_names,
  (select stamp from authz_version) as authz_stamp`;

/**
 * What belongs to `access_grants g`. `offset 0`: as in modules/sessions/token-lookup.ts. A session that was deleted is a row of
 * nulls.
 */
export const grantTables = `
  cross join lateral (select * from applications a where a.id = g.application_id offset 0) a
  cross join lateral (select * from users u where u.id = g.user_id offset 0) u
  left join lateral (select * from sessions s where s.id = g.session_id and s.user_id = g.user_id offset 0) s on true`;

/** SQL condition: the session of the grant lives. */
export const isSessionLive =
  'coalesce(is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active), false)';

/** SQL condition: nothing has ended the grant but, perhaps, its session. */
export const isGrantLive = `(g.revoked_at is null and g.expires_at > now() and g.user_epoch = u.session_epoch and u.is_active
  and a.is_active)`;

/** SQL condition: tokens of the grant count. The access rule of the application is judged with the graph. */
export const isLiveGrant = `(${isGrantLive} and (g.offline or ${isSessionLive}))`;
