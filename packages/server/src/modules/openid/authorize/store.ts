// SQL of authorization requests: what one is judged by, the code that answers it, and what people agreed to. Times come from the
// database. Nothing here locks a row that requests share.
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Db, Row } from '../../../schema/database.ts';
import {
  type ListedBrowser,
  liveBrowser,
  type PresentedBrowser,
} from '../../sessions/browser/presentation.ts';
import { isWaiting, requestColumns, type WaitingRequest } from '../interactions/waiting.ts';
import type { RequestedApplication, Target } from './request.ts';

/** What a person agreed to earlier. */
export type Consent = Pick<Row<'consents'>, 'scopes' | 'permission_ids' | 'agreed_at'>;

export type FoundRequest = {
  /** By the clock of the database. */
  now: Date;
  application: RequestedApplication | null;
  /** The stored request; undefined if it is not waiting, or none was asked for. */
  stored: WaitingRequest | undefined;
  browser: ListedBrowser | undefined;
  consent: Consent | undefined;
};

export type Wanted = {
  clientId: string | null;
  stored: { kind: 'interaction' | 'pushed'; idHash: Buffer } | null;
  browser: PresentedBrowser | null;
};

const applicationColumns = sql`
  a.id, a.client_id, a.name, a.home_url, a.policy_url, a.terms_url, a.type, a.is_active, a.grant_types, a.redirect_uris,
  a.first_party, a.required_permission_id, a.scopes, a.subject_type, a.sector, a.require_pkce, a.require_par, a.grant_days,
  a.default_max_age, a.access_epoch, a.claims as claim_mappings,
  case when a.subject_type = 'pairwise' then (select encode(salt, 'hex') from pairwise_salt) end as salt,
  coalesce((
    select json_agg(json_build_object('id', r.id, 'identifier', r.identifier, 'permissions', coalesce((
      select json_agg(json_build_object('id', p.id, 'name', p.name, 'description', p.description) order by p.name)
      from permissions p join api_resource_groups rg on rg.permission_group_id = p.group_id
      where rg.api_resource_id = r.id and p.id = any(x.permission_ids)), '[]')))
    from application_resources x join api_resources r on r.id = x.resource_id
    where x.application_id = a.id), '[]') as resources`;

type Flat = Partial<ListedBrowser> & {
  moment: Date;
  application: RequestedApplication | null;
  stored_at: Date | null;
  stored_until: Date | null;
  stored_parameters: Record<string, unknown> | null;
  stored_state: Record<string, unknown> | null;
  consent_scopes: string[] | null;
  consent_permission_ids: string[] | null;
  consent_at: Date | null;
};

const isListed = (flat: Flat): flat is Flat & ListedBrowser => flat.session_id != null;

/** Reads everything that a request is judged by, in one statement. */
export async function findRequested(db: Db, { clientId, stored, browser }: Wanted): Promise<FoundRequest> {
  const answer = await sql<Flat>`
    select clock_timestamp() as moment, row_to_json(a) as application,
      q.created_at as stored_at, q.expires_at as stored_until, q.parameters as stored_parameters, q.state as stored_state,
      b.*, c.scopes as consent_scopes, c.permission_ids as consent_permission_ids, c.agreed_at as consent_at
    from (select 1) one
    left join lateral (
      select ${sql.raw(requestColumns)} from application_requests q
      where q.id_hash = ${stored?.idHash ?? null}::bytea and q.kind = ${stored?.kind ?? null}::text
        and ${sql.raw(isWaiting)}) q on true
    left join lateral (
      select ${applicationColumns} from applications a
      where a.id = coalesce(q.application_id, (select id from applications where client_id = ${clientId}::text))) a on true
    left join lateral (${liveBrowser(browser)}) b on true
    left join consents c on c.user_id = b.user_id and c.application_id = a.id`.execute(db);
  const row = onlyRow(answer);
  return {
    now: row.moment,
    application: row.application,
    stored:
      row.stored_at && row.stored_until
        ? {
            application_id: row.application?.id ?? null,
            parameters: row.stored_parameters ?? {},
            state: row.stored_state ?? {},
            created_at: row.stored_at,
            expires_at: row.stored_until,
          }
        : undefined,
    browser: isListed(row) ? row : undefined,
    consent:
      row.consent_scopes && row.consent_permission_ids && row.consent_at
        ? {
            scopes: row.consent_scopes,
            permission_ids: row.consent_permission_ids,
            agreed_at: row.consent_at,
          }
        : undefined,
  };
}

export type NewGrant = {
  id: string;
  application_id: string;
  /** The `access_epoch` of the application as the request was judged: nothing is granted after an end that came later. */
  application_epoch: number;
  offline: boolean;
  scopes: readonly string[];
  resources: readonly Target[];
  claims: Record<string, unknown> | null;
  nonce: string | null;
  /** Null: a device, which nobody is sent back to. */
  redirect_uri: string | null;
  /** Null: the device has its own code. */
  code_hash: Buffer | null;
  /** Until when it can be exchanged. Null: for 60 seconds. */
  code_expires_at: Date | null;
  code_challenge: string | null;
  dpop_jkt: string | null;
  auth_time: Date;
  acr: string;
  amr: readonly string[];
  /** By which the application knows the session. */
  sid: string;
  /** Granted only while there is a consent: one that is withdrawn at the same time ends the grant, or prevents it. */
  relies_on_consent: boolean;
};

/** How long a code can be exchanged (RFC 6749, 4.1.2, asks for at most ten minutes). */
const CODE_SECONDS = 60;
/**
 * When it is looked whether the session still lives. What ends it beside this statement tells only the applications that it can see;
 * the job for expired sessions tells the one that is added here, unless the end is not committed by then.
 */
const LOOK_AGAIN_SECONDS = 15;

/**
 * Grants access and its code, if the browser's session, its account and the application live at this moment, and uses up the stored
 * requests that it answers. Returns whether it did: of parallel answers to one request, one does.
 */
export async function insertGrant(
  db: Db,
  grant: NewGrant,
  { browser, answered }: { browser: PresentedBrowser; answered: readonly Buffer[] },
): Promise<boolean> {
  const { rows } = await sql`
    with used as (
      update application_requests set used_at = clock_timestamp()
      where id_hash = any(${answered}::bytea[]) and used_at is null returning 1
    ), live as (
      ${liveBrowser(browser)}
    ), consent as (
      -- After the requests, as a decision about consent locks them.
      select 1 from live join consents c on c.user_id = live.user_id and c.application_id = ${grant.application_id}::uuid
      where (select count(*) from used) = ${answered.length}::integer
      for share of c
    ), granted as (
      insert into access_grants (id, application_id, application_epoch, user_id, session_id, user_epoch, offline, scopes, resources,
        claims, nonce, redirect_uri, code_hash, code_challenge, code_expires_at, dpop_jkt, auth_time, acr, amr, expires_at)
      select ${grant.id}::uuid, a.id, a.access_epoch, u.id, live.session_id, u.session_epoch, ${grant.offline}::boolean,
        ${grant.scopes}::text[],
        ${JSON.stringify(grant.resources)}::jsonb, ${grant.claims && JSON.stringify(grant.claims)}::jsonb, ${grant.nonce}::text,
        ${grant.redirect_uri}::text, ${grant.code_hash}::bytea, ${grant.code_challenge}::text,
        coalesce(${grant.code_expires_at}::timestamptz, clock_timestamp() + make_interval(secs => ${CODE_SECONDS})),
        ${grant.dpop_jkt}::text, ${grant.auth_time}::timestamptz,
        ${grant.acr}::text, ${grant.amr}::text[], clock_timestamp() + make_interval(days => a.grant_days)
      from live join users u on u.id = live.user_id
        join applications a on a.id = ${grant.application_id}::uuid and a.is_active and a.access_epoch = ${grant.application_epoch}::integer
      where (select count(*) from used) = ${answered.length}::integer
        and (not ${grant.relies_on_consent}::boolean or exists (select from consent))
      returning user_id, session_id, application_id
    ), took_part as (
      insert into application_sessions (user_id, session_id, application_id, sid, expires_at)
      select g.user_id, g.session_id, g.application_id, ${grant.sid}::text,
        least(s.expires_at, clock_timestamp() + make_interval(secs => ${LOOK_AGAIN_SECONDS}))
      from granted g join sessions s on s.id = g.session_id
      on conflict (user_id, session_id, application_id)
      do update set last_at = now(), told_at = null, expires_at = excluded.expires_at
    ), stale as (
      -- Never waits: another authorization that shares the row would wait for this one.
      select c.user_id, c.application_id
      from granted g join consents c on c.user_id = g.user_id and c.application_id = g.application_id
      where c.last_used_at < now() - interval '1 minute'
      for no key update of c skip locked
    ), kept as (
      update consents c set last_used_at = now() from stale
      where c.user_id = stale.user_id and c.application_id = stale.application_id
    )
    select 1 from granted`.execute(db);
  return rows.length > 0;
}

/** Uses stored requests up. Returns whether none was before. */
export async function useRequests(db: Db, answered: readonly Buffer[]): Promise<boolean> {
  const { rows } = await sql`
    update application_requests set used_at = clock_timestamp()
    where id_hash = any(${answered}::bytea[]) and used_at is null returning 1`.execute(db);
  return rows.length === answered.length;
}

/** Writes what a person agreed to: of what was asked, only that; of what was not, what stood before. */
export async function writeConsent(
  db: Db,
  { userId, applicationId }: { userId: string; applicationId: string },
  asked: { scopes: readonly string[]; permissionIds: readonly string[] },
  agreed: { scopes: readonly string[]; permissionIds: readonly string[] },
): Promise<void> {
  await sql`
    insert into consents as c (user_id, application_id, scopes, permission_ids)
    values (${userId}, ${applicationId}, ${agreed.scopes}::text[], ${agreed.permissionIds}::uuid[])
    on conflict (user_id, application_id) do update set agreed_at = now(), last_used_at = now(),
      scopes = array(
        select one from unnest(c.scopes) one where one <> all(${asked.scopes}::text[])
        union select unnest(excluded.scopes) order by 1),
      permission_ids = array(
        select one from unnest(c.permission_ids) one where one <> all(${asked.permissionIds}::uuid[])
        union select unnest(excluded.permission_ids) order by 1)`.execute(db);
}
