// SQL that finds personal access tokens with their owners, and notes when they are used.
// Their records are written by the module personal-tokens.
import type { Pool } from 'pg';
import { inOrder } from '../../platform/db/batched.ts';
import { isPersonalTokenLive } from '../../schema/live/personal-tokens.ts';
import { type UserRow, userColumns } from '../../schema/user-record.ts';

/** A personal access token with the record of its owner. A token is `live`, or the reason why it is not. */
export type PersonalTokenRow = UserRow & {
  token_id: string;
  /** How its owner had signed in when they made it. */
  acr: string;
  /** Ids of the permissions to which the token is narrowed; null if it is not. */
  narrowed_to: string[] | null;
  token_created_at: Date;
  token_expires_at: Date;
  /** Whether `last_used_at` of the token is older than this minute. */
  is_unnoted: boolean;
  state: 'live' | 'revoked' | 'expired';
};

// Arrays in subqueries and `offset 0`: as in modules/sessions/token-lookup.ts.
const tokensStatement = {
  name: 'personal-tokens-by-hash',
  text: `
    select wanted.ordinal, t.id as token_id, t.acr, t.created_at as token_created_at, t.expires_at as token_expires_at,
      case when t.is_narrowed then array(
        select n.permission_id from personal_token_permissions n where n.personal_token_id = t.id) end as narrowed_to,
      t.last_used_at is null or t.last_used_at < date_trunc('minute', now()) as is_unnoted,
      case when ${isPersonalTokenLive('now()')} then 'live'
           when t.revoked_at is null and t.expires_at <= now() then 'expired' else 'revoked' end as state,
      ${userColumns}
    from unnest((select $1::bytea[])) with ordinality as wanted (secret_hash, ordinal)
    cross join lateral (select * from personal_tokens t where t.secret_hash = wanted.secret_hash offset 0) t
    cross join lateral (select * from users u where u.id = t.user_id offset 0) u`,
};

/** Returns the tokens with these hashes, in their order; undefined for unknown ones. */
export async function findPersonalTokens(
  pool: Pool,
  hashes: readonly Buffer[],
): Promise<(PersonalTokenRow | undefined)[]> {
  const { rows } = await pool.query<PersonalTokenRow & { ordinal: string }>({
    ...tokensStatement,
    values: [hashes],
  });
  return inOrder(rows, hashes.length);
}

const noteStatement = {
  name: 'personal-tokens-note-use',
  text: `
    with used as (
      select id from personal_tokens
      where id = any($1::uuid[]) and (last_used_at is null or last_used_at < date_trunc('minute', now()))
      order by id for no key update skip locked
    )
    update personal_tokens t set last_used_at = date_trunc('minute', now()) from used where t.id = used.id`,
};

/** Notes that these tokens were used in this minute. Skips rows that a change has locked. */
export async function notePersonalUse(pool: Pool, ids: readonly string[]): Promise<void> {
  await pool.query({ ...noteStatement, values: [ids] });
}
