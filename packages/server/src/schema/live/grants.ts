// When what people gave applications is live, as SQL conditions: every reader of grants shares them.
// They must not contain a whole statement.

/** SQL condition on the session `s` of a grant and its user `u`: it lives. False for a row of nulls. */
export const isSessionLive =
  'coalesce(is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active), false)';

/** SQL condition on `access_grants g`, `applications a` and `users u`: nothing has ended the grant but, perhaps, its session. */
export const isGrantLive = `(g.revoked_at is null and g.expires_at > now() and g.user_epoch = u.session_epoch and u.is_active
  and g.application_epoch = a.access_epoch and a.is_active)`;

/** SQL condition: tokens of the grant count. The access rule of the application is judged apart. */
export const isLiveGrant = `(${isGrantLive} and (g.offline or ${isSessionLive}))`;

/**
 * SQL condition on `users u`: they meet an access rule, the expression of a permission id or null. For statements about many people.
 * Requests of one person are judged with the graph.
 */
export const meetsRule = (
  permissionId: string,
): string => `(${permissionId} is null or u.is_superuser or exists (
  select from held_user_roles h join role_permissions p on p.role_id = h.role_id
  where h.user_id = u.id and p.permission_id = ${permissionId}))`;

/** SQL condition: a token of the grant can still live, or be exchanged for. */
export const hasTokens = 'coalesce(g.ends_at, g.code_expires_at, g.expires_at) > now()';

/** The tables of these conditions, beginning with `access_grants g`. A session that was deleted is a row of nulls. */
export const grantJoins = `
  join applications a on a.id = g.application_id
  join users u on u.id = g.user_id
  left join sessions s on s.id = g.session_id and s.user_id = g.user_id`;
