// SQL of the records of personal access tokens. Authenticating with one is in the module api-keys.
import { sql } from 'kysely';
import type { Db, Row, Tx } from '../../schema/database.ts';
import { isPersonalTokenLive } from '../../schema/live/personal-tokens.ts';

export type TokenRecord = Pick<
  Row<'personal_tokens'>,
  'id' | 'name' | 'prefix' | 'expires_at' | 'last_used_at' | 'created_at'
> & {
  /** Names of the permissions to which the token is narrowed, sorted; null if it is not. */
  permissions: string[] | null;
  narrowed_by: 'maker' | null;
};

const tokenColumns = sql`
  t.id, t.name, t.prefix, t.expires_at, t.last_used_at, t.created_at,
  case when t.is_narrowed then array(
    select p.name from personal_token_permissions n join permissions p on p.id = n.permission_id
    where n.personal_token_id = t.id order by p.name collate "C") end as permissions,
  case when t.is_narrowed_by_maker then 'maker' end as narrowed_by`;

const isLive = sql.raw(isPersonalTokenLive('statement_timestamp()'));

/** SQL condition on a token `t` and its owner `u`: nothing but its time has ended it. */
const isNotEnded = sql`t.revoked_at is null and t.user_epoch = u.session_epoch and u.is_active`;

/** Returns the tokens of a user that nobody has ended, also those that have expired, newest first. */
export async function findTokensOf(db: Db, userId: string): Promise<TokenRecord[]> {
  const { rows } = await sql<TokenRecord>`
    select ${tokenColumns} from personal_tokens t join users u on u.id = t.user_id
    where t.user_id = ${userId} and ${isNotEnded} order by t.created_at desc, t.id desc`.execute(db);
  return rows;
}

export async function readToken(tx: Tx, id: string): Promise<TokenRecord | undefined> {
  const { rows } =
    await sql<TokenRecord>`select ${tokenColumns} from personal_tokens t where t.id = ${id}`.execute(tx);
  return rows[0];
}

/** Counts the live tokens of a user. */
export async function countLiveTokens(tx: Tx, userId: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from personal_tokens t join users u on u.id = t.user_id
    where t.user_id = ${userId} and ${isLive}`.execute(tx);
  return rows[0]?.total ?? 0;
}

type NewToken = Pick<
  Row<'personal_tokens'>,
  'id' | 'user_id' | 'name' | 'prefix' | 'secret_hash' | 'user_epoch' | 'acr' | 'is_narrowed_by_maker'
> & { expires_at: Date; permissionIds: readonly string[] | null };

export async function insertToken(tx: Tx, { permissionIds, ...token }: NewToken): Promise<void> {
  await tx
    .insertInto('personal_tokens')
    .values({ ...token, is_narrowed: permissionIds !== null })
    .execute();
  if (permissionIds === null || permissionIds.length === 0) return;
  await sql`
    insert into personal_token_permissions (personal_token_id, permission_id)
    select ${token.id}, unnest(${permissionIds}::uuid[])`.execute(tx);
}

/** Deletes the tokens of a user that are no longer live, except the newest `keep`. */
export async function deleteOlderEndedTokens(tx: Tx, userId: string, keep: number): Promise<void> {
  await sql`
    delete from personal_tokens where id in (
      select t.id from personal_tokens t join users u on u.id = t.user_id
      where t.user_id = ${userId} and not ${isLive}
      order by t.created_at desc, t.id offset ${keep})`.execute(tx);
}

export type EndedToken = Pick<Row<'personal_tokens'>, 'id' | 'name' | 'prefix'>;

/** Ends a token of the user, also one that has expired. Returns it; undefined if there is none that nobody has ended. */
export async function endToken(tx: Tx, userId: string, id: string): Promise<EndedToken | undefined> {
  const { rows } = await sql<EndedToken>`
    update personal_tokens t set revoked_at = now() from users u
    where t.id = ${id} and t.user_id = ${userId} and u.id = t.user_id and ${isNotEnded}
    returning t.id, t.name, t.prefix`.execute(tx);
  return rows[0];
}

/** Deletes tokens that ended more than `keepDays` ago. Those that ended with all sessions go when their time is over. Returns their number. */
export async function deleteEndedTokens(db: Db, keepDays: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from personal_tokens
    where least(expires_at, revoked_at) < now() - make_interval(days => ${keepDays})`.execute(db);
  return Number(numAffectedRows);
}
