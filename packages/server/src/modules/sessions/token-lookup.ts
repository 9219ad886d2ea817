// Looks up a token on the allowlist, with its user and their roles: the one statement of the hot path.
// Lookups of one tick share one round trip. It caches nothing, so a revocation counts at the next request.
import type { Pool } from 'pg';
import { createBatchedLookup, inOrder } from '../../platform/db/batched.ts';
import { type UserRow, userColumns } from '../../schema/user-record.ts';
import { isOfTrustedKey } from './revoked-keys.ts';

/** Includes the user's columns, so that the most common reads need no second statement. */
export type LiveToken = UserRow & { session_id: string };

export type TokenLookup = (userId: string, tokenHash: Buffer) => Promise<LiveToken | undefined>;

const statement = {
  name: 'live-access-tokens',
  text: `
    select k.ordinal, t.session_id, ${userColumns}
    from unnest($1::uuid[], $2::bytea[]) with ordinality as k (user_id, token_hash, ordinal)
    join session_tokens t on t.user_id = k.user_id and t.token_hash = k.token_hash
    join sessions s on s.id = t.session_id
    join users u on u.id = t.user_id
    where t.kind = 'access' and t.expires_at > now() and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active) and ${isOfTrustedKey}`,
};

export function createTokenLookup(pool: Pool): TokenLookup {
  const lookup = createBatchedLookup(
    async (keys: readonly { userId: string; tokenHash: Buffer }[]): Promise<(LiveToken | undefined)[]> => {
      const { rows } = await pool.query<LiveToken & { ordinal: string }>({
        ...statement,
        values: [keys.map((one) => one.userId), keys.map((one) => one.tokenHash)],
      });
      return inOrder(rows, keys.length);
    },
  );
  return (userId, tokenHash) => lookup({ userId, tokenHash });
}
