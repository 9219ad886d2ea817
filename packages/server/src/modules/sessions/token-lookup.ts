// Looks up a token on the allowlist, with its user and their roles: the one statement of the hot path.
// Lookups of one tick share round trips. It caches no answer, so a revocation takes effect at the next request.
import type { Pool } from 'pg';
import { createBatchedLookup } from '../../platform/db/batched.ts';
import { createRowMemo } from '../../platform/db/row-memo.ts';
import { textRowsOf } from '../../platform/db/text-rows.ts';
import { type Actor, actorColumn, isActorLive } from '../../schema/live/session-actor.ts';
import { type UserRow, userColumns } from '../../schema/user-record.ts';
import { isOfTrustedKey } from './keys/revoked.ts';

/** Includes the user's columns, so that the most common reads need no second statement. */
export type LiveUser = Readonly<UserRow> & {
  readonly session_id: string;
  /** See `Context`. Null: by a password. */
  readonly acr: string | null;
  readonly amr: readonly string[] | null;
  /** When its user, or who acts as the user, last proved who they are for this token. */
  readonly auth_time: Date;
};
export type LiveToken = LiveUser & {
  /** Who acts as the user; null for the user. */
  readonly actor: Actor | null;
  /** When the session ends unless it is refreshed. The token may be to end later. */
  readonly session_expires_at: Date;
};

export type { Actor };

/** `tokenHash`: as `tokenHashText` writes it. The same object as before means that nothing in it has changed. */
export type TokenLookup = (userId: string, tokenHash: string) => Promise<LiveToken | undefined>;

// The arrays are in subqueries, so that PostgreSQL expects the same number of keys in a custom plan as in the generic one.
// Otherwise the custom plan looks cheaper for one key, and PostgreSQL plans at every execution, which costs several times as
// much as the lookup (bench/README.md).
// The ordinal, the session and the time of the proof come first: row-memo.ts finds rows by them. A session has tokens of several
// proofs at a time, and requests with them alternate.
// `offset 0` makes PostgreSQL look up each token, then its session, then its user, each by its primary key. Without it,
// each connection may plan while the tables are nearly empty, keep that plan for its lifetime, and later read every token of
// a user, or every session.
const statement = {
  name: 'live-access-tokens',
  text: `
    select k.ordinal, t.session_id, coalesce(t.auth_time, s.created_at) as auth_time, t.acr, t.amr, ${userColumns},
      ${actorColumn}, s.expires_at as session_expires_at
    from unnest((select $1::uuid[]), (select $2::text[])) with ordinality as k (user_id, token_hash, ordinal)
    cross join lateral (select * from session_tokens t
      where t.user_id = k.user_id and t.token_hash = decode(k.token_hash, 'hex') offset 0) t
    cross join lateral (select * from sessions s where s.id = t.session_id offset 0) s
    cross join lateral (select * from users u where u.id = t.user_id offset 0) u
    where s.user_id = t.user_id and t.kind in ('access', 'acting') and t.expires_at > now() and ${isActorLive}
      and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) and ${isOfTrustedKey}`,
};

export function createTokenLookup(pool: Pool): TokenLookup {
  const texts = textRowsOf(pool);
  const inOrder = createRowMemo<LiveToken>();
  const lookup = createBatchedLookup(
    pool.options.max,
    async (keys: readonly { userId: string; tokenHash: string }[]): Promise<(LiveToken | undefined)[]> =>
      inOrder(
        await texts.query<LiveToken & { ordinal: string }>({
          ...statement,
          values: [keys.map((one) => one.userId), keys.map((one) => one.tokenHash)],
        }),
        keys.length,
      ),
  );
  return (userId, tokenHash) => lookup({ userId, tokenHash });
}
