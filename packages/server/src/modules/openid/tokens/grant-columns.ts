// What statements read of a grant together with its account, application and session, and when it is live.
// It must not contain a whole statement.
import type { Row } from '../../../schema/database.ts';
import { accountColumns, type KnownAccount } from '../claims/service.ts';
import type { SigningAlgorithm } from './signed-jwt.ts';

/** Who signed in to which application, and what the tokens of it may tell. */
export type GrantedAccess = KnownAccount &
  Pick<
    Row<'access_grants'>,
    'application_id' | 'session_id' | 'offline' | 'scopes' | 'auth_time' | 'acr' | 'amr'
  > &
  Pick<Row<'applications'>, 'type' | 'redirect_uris' | 'allowed_origins'> & {
    grant_id: string;
    /** The parameter `claims`; null: none. */
    claims: Record<string, unknown> | null;
    /** What the person agreed to, by API resource. */
    resources: { resource_id: string; permission_ids: string[] }[];
    /** The API resource that is wanted, if the application may have tokens for it; null otherwise, and for userinfo. */
    target_id: string | null;
    target_alg: SigningAlgorithm | null;
    target_seconds: number | null;
    /** What tokens for it may carry. */
    target_permission_ids: string[] | null;
  };

/** Select list of a `GrantedAccess`, from `grantTables`. */
export const grantColumns = `
  g.id as grant_id, g.application_id, g.session_id, g.offline, g.scopes, g.claims, g.auth_time, g.acr, g.amr,
  a.type, a.redirect_uris, a.allowed_origins, g.resources, target.id as target_id, target.signing_alg as target_alg,
  target.access_token_seconds as target_seconds, target.permission_ids as target_permission_ids,
  ${accountColumns}`;

/**
 * What belongs to `access_grants g` and to `wanted.resource`, the identifier of an API resource or null. `offset 0`: as in modules/sessions/token-lookup.ts. A session that was deleted is a row of
 * nulls.
 */
export const grantTables = `
  cross join lateral (select * from applications a where a.id = g.application_id offset 0) a
  cross join lateral (select * from users u where u.id = g.user_id offset 0) u
  left join lateral (select * from sessions s where s.id = g.session_id and s.user_id = g.user_id offset 0) s on true
  left join lateral (
    select r.id, r.signing_alg, r.access_token_seconds, array(
      select p.id from permissions p join api_resource_groups rg on rg.permission_group_id = p.group_id
      where rg.api_resource_id = r.id and p.id = any(x.permission_ids)) as permission_ids
    from api_resources r join application_resources x on x.resource_id = r.id
    where r.identifier = wanted.resource and x.application_id = a.id offset 0) target on true`;
