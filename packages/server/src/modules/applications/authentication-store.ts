// SQL that finds applications by what they present, and notes when their secrets are used.
// Records of applications and secrets are written by service.ts and secrets.ts.
import type { PublicKey } from '@castellan/contract/applications';
import type { Pool } from 'pg';
import { inOrder } from '../../platform/db/batched.ts';
import type { Row } from '../../schema/database.ts';

/** An application as it presents itself, and the secret that it presented, if that is a live one of it. */
export type PresentedRow = Pick<
  Row<'applications'>,
  | 'id'
  | 'client_id'
  | 'name'
  | 'type'
  | 'is_active'
  | 'auth_method'
  | 'grant_types'
  | 'redirect_uris'
  | 'allowed_origins'
  | 'id_token_signing_alg'
  | 'require_dpop'
  | 'access_token_seconds'
  | 'id_token_seconds'
  | 'refresh_idle_days'
  | 'jwks_url'
> & {
  /** Null unless it authenticates itself by assertions. */
  jwks: { keys: PublicKey[] } | null;
  /** By the database. */
  now: Date;
  secret_id: string | null;
  /** Whether `last_used_at` of the secret is older than this minute. */
  is_unnoted: boolean;
};

/** `secretHash`: null if it presents no secret. */
export type PresentedKey = { clientId: string; secretHash: Buffer | null };

// Arrays in subqueries and `offset 0`: as in modules/sessions/token-lookup.ts.
const statement = {
  name: 'presented-applications',
  text: `
    select wanted.ordinal, a.id, a.client_id, a.name, a.type, a.is_active, a.auth_method, a.grant_types, a.redirect_uris,
      a.allowed_origins, a.id_token_signing_alg, a.require_dpop, a.access_token_seconds, a.id_token_seconds,
      a.refresh_idle_days, a.jwks_url, case when a.auth_method = 'private_key_jwt' then a.jwks end as jwks,
      clock_timestamp() as now, k.id as secret_id,
      k.id is not null and (k.last_used_at is null or k.last_used_at < date_trunc('minute', now())) as is_unnoted
    from unnest((select $1::text[]), (select $2::bytea[])) with ordinality as wanted (client_id, secret_hash, ordinal)
    cross join lateral (select * from applications a where a.client_id = wanted.client_id offset 0) a
    left join lateral (select * from application_secrets k
      where k.secret_hash = wanted.secret_hash and k.application_id = a.id and k.revoked_at is null
        and (k.expires_at is null or k.expires_at > now()) offset 0) k on true`,
};

/** Returns the applications in the order of the keys; undefined for unknown ones. */
export async function findPresented(
  pool: Pool,
  keys: readonly PresentedKey[],
): Promise<(PresentedRow | undefined)[]> {
  const { rows } = await pool.query<PresentedRow & { ordinal: string }>({
    ...statement,
    values: [keys.map((one) => one.clientId), keys.map((one) => one.secretHash)],
  });
  return inOrder(rows, keys.length);
}

const noteStatement = {
  name: 'application-secrets-note-use',
  text: `
    with used as (
      select id from application_secrets
      where id = any($1::uuid[]) and (last_used_at is null or last_used_at < date_trunc('minute', now()))
      order by id for no key update skip locked
    )
    update application_secrets k set last_used_at = date_trunc('minute', now()) from used where k.id = used.id`,
};

/** Notes that these secrets were used in this minute. Skips rows that a change has locked. */
export async function noteSecretUse(pool: Pool, secretIds: readonly string[]): Promise<void> {
  await pool.query({ ...noteStatement, values: [secretIds] });
}
