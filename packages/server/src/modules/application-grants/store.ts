// SQL of grants and consents as records: lists, ends, and how many a change would end.
// It must not judge a token.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { grantJoins, hasTokens, isLiveGrant, meetsRule } from '../../schema/live/grants.ts';
import type { Entitled } from '../authz/change.ts';

/** SQL condition: somebody, or a program, can use the grant. */
const isUsable = sql.raw(`${isLiveGrant} and ${hasTokens} and ${meetsRule('a.required_permission_id')}`);
const joins = sql.raw(grantJoins);

export type GrantRow = Pick<
  Row<'access_grants'>,
  'id' | 'user_id' | 'session_id' | 'scopes' | 'offline' | 'created_at' | 'last_used_at' | 'expires_at'
> & {
  email: string;
  name: string;
  resources: { id: string; identifier: string; name: string; permissions: string[] }[];
};

/** Returns undefined if there is no such application. */
export async function findName(db: Db, applicationId: string): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`
    select name from applications where id = ${applicationId}`.execute(db);
  return rows[0]?.name;
}

export async function hasUser(db: Db, userId: string): Promise<boolean> {
  const { rows } = await sql`select 1 from users where id = ${userId}`.execute(db);
  return rows.length > 0;
}

/** Returns up to `limit` live grants of an application, or of one user there, newest first, after the one with the id `after`. */
export async function findGrants(
  db: Db,
  applicationId: string,
  { userId, after, limit }: { userId: string | null; after: string | null; limit: number },
): Promise<GrantRow[]> {
  const ofUser = userId === null ? sql`true` : sql`g.user_id = ${userId}`;
  const isAfter = after === null ? sql`true` : sql`g.id < ${after}`;
  const { rows } = await sql<GrantRow>`${plannedForValues}
    select g.id, g.user_id, g.session_id, g.scopes, g.offline, g.created_at, g.last_used_at, g.expires_at, u.email,
      rtrim(u.first_name || ' ' || u.last_name) as name,
      coalesce((
        select json_agg(json_build_object('id', r.id, 'identifier', r.identifier, 'name', r.name,
          'permissions', array(
            select p.name from permissions p
            where p.id = any(array(select jsonb_array_elements_text(agreed.one->'permission_ids')::uuid)) order by p.name))
          order by r.identifier)
        from jsonb_array_elements(g.resources) as agreed (one)
        join api_resources r on r.id = (agreed.one->>'resource_id')::uuid), '[]') as resources
    from access_grants g ${joins}
    where g.application_id = ${applicationId} and ${ofUser} and ${isAfter} and ${isUsable}
    order by g.id desc limit ${limit}`.execute(db);
  return rows;
}

export type Impact = { grants: number; users: number; sessions: number };

const countsOf = sql`
  count(*)::integer as grants, count(distinct g.user_id)::integer as users, count(distinct g.session_id)::integer as sessions`;

/** Returns how many live grants the application has, and of how many people and sessions. */
export async function countGrants(db: Db, applicationId: string): Promise<Impact> {
  return onlyRow(
    await sql<Impact>`${plannedForValues}
      select ${countsOf} from access_grants g ${joins}
      where g.application_id = ${applicationId} and ${isUsable}`.execute(db),
  );
}

/** Returns how many live grants are of people who do not hold the permission. */
export async function countGrantsBeyond(
  db: Db,
  applicationId: string,
  permissionId: string,
): Promise<Impact> {
  return onlyRow(
    await sql<Impact>`${plannedForValues}
      select ${countsOf} from access_grants g ${joins}
      cross join (select ${permissionId}::uuid as permission_id) rule
      where g.application_id = ${applicationId} and ${isUsable} and not ${sql.raw(meetsRule('rule.permission_id'))}`.execute(
      db,
    ),
  );
}

/** Locks the application until the transaction ends. Returns its name; undefined if there is none. */
export async function lockApplication(tx: Tx, id: string): Promise<string | undefined> {
  const { rows } = await sql<{ name: string }>`
    select name from applications where id = ${id} for no key update`.execute(tx);
  return rows[0]?.name;
}

/** Ends every grant of an application whose row is locked. Those that are being made end as well. */
export async function endAllGrants({ tx }: Entitled, applicationId: string): Promise<void> {
  await sql`update applications set access_epoch = access_epoch + 1 where id = ${applicationId}`.execute(tx);
}

/** Ends one grant of an application. Returns whose it was; undefined if it had ended. */
export async function endGrant(
  { tx }: Entitled,
  applicationId: string,
  grantId: string,
): Promise<{ user_id: string; session_id: string } | undefined> {
  const { rows } = await sql<{ user_id: string; session_id: string }>`
    update access_grants g set revoked_at = clock_timestamp(), revoked_reason = 'administrator'
    from applications a
    where g.id = ${grantId} and g.application_id = ${applicationId} and g.revoked_at is null
      and a.id = g.application_id and g.application_epoch = a.access_epoch
    returning g.user_id, g.session_id`.execute(tx);
  return rows[0];
}

/** Ends the grants of a user at an application. Returns how many still had tokens. `reason` is kept in their rows. */
export async function endGrantsOf(
  tx: Tx,
  applicationId: string,
  userId: string,
  reason: string,
): Promise<number> {
  const { rows } = await sql<{ was_live: boolean }>`
    update access_grants g set revoked_at = clock_timestamp(), revoked_reason = ${reason}
    where g.user_id = ${userId} and g.application_id = ${applicationId} and g.revoked_at is null
    returning ${sql.raw(hasTokens)} as was_live`.execute(tx);
  return rows.filter(({ was_live }) => was_live).length;
}

/** Returns what was agreed to, and agreed to no longer; undefined if there was nothing. */
export async function deleteConsent(
  tx: Tx,
  applicationId: string,
  userId: string,
): Promise<Pick<Row<'consents'>, 'scopes' | 'permission_ids'> | undefined> {
  const { rows } = await sql<Pick<Row<'consents'>, 'scopes' | 'permission_ids'>>`
    delete from consents where user_id = ${userId} and application_id = ${applicationId}
    returning scopes, permission_ids`.execute(tx);
  return rows[0];
}

export type OwnRow = Pick<Row<'applications'>, 'id' | 'name' | 'home_url' | 'policy_url' | 'terms_url'> & {
  /** Live ones. */
  grants: number;
  granted_scopes: string[];
  is_offline: boolean | null;
  since: Date | null;
  last_used_at: Date | null;
  until: Date | null;
  /** Null: no consent, as `agreed_at`. */
  consented_scopes: string[] | null;
  permissions: { name: string; description: string }[];
  agreed_at: Date | null;
};

/** Returns the applications that a user uses or agreed to, by name. */
export async function findOwnApplications(db: Db, userId: string): Promise<OwnRow[]> {
  const { rows } = await sql<OwnRow>`${plannedForValues}
    with live as materialized (
      select g.application_id, g.scopes, g.offline, g.created_at, g.last_used_at, g.expires_at
      from access_grants g ${joins} where g.user_id = ${userId} and ${isUsable}),
    used as (
      select application_id, count(*)::integer as grants, bool_or(offline) as is_offline, min(created_at) as since,
        max(last_used_at) as last_used_at, max(expires_at) as until
      from live group by application_id)
    select a.id, a.name, a.home_url, a.policy_url, a.terms_url, coalesce(used.grants, 0) as grants, used.is_offline,
      used.since, used.last_used_at, used.until,
      array(select distinct unnest(live.scopes) from live where live.application_id = a.id order by 1) as granted_scopes,
      c.scopes as consented_scopes, c.agreed_at,
      coalesce((select json_agg(json_build_object('name', p.name, 'description', p.description) order by p.name)
        from permissions p where p.id = any(c.permission_ids)), '[]') as permissions
    from applications a
    left join used on used.application_id = a.id
    left join consents c on c.application_id = a.id and c.user_id = ${userId}
    where a.id in (
      select application_id from live union all select application_id from consents where user_id = ${userId})
    order by lower(a.name), a.id`.execute(db);
  return rows;
}
