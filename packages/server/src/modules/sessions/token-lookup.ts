// The hot path's one statement: is this token on the allowlist, whose is it, and which roles has he?
// Look-ups that arrive in one tick share one round trip. It caches nothing: a revocation holds at the next request.
import type { Pool } from 'pg';

/** The user's own columns come along, so that the commonest reads need no second statement. */
export type LiveToken = {
  session_id: string;
  user_id: string;
  email: string;
  first_name: string;
  last_name: string;
  is_active: boolean;
  is_superuser: boolean;
  verified: boolean;
  created_at: Date;
  updated_at: Date;
  /** The user record's, for its ETag. */
  version: number;
  role_ids: string[];
  /** Version of the role → permission graph in the same snapshot. */
  authz_version: string;
};

export type TokenLookup = (userId: string, tokenHash: Buffer) => Promise<LiveToken | undefined>;

const statement = {
  name: 'live-access-tokens',
  text: `
    select k.ordinal, t.session_id, u.id as user_id, u.email, u.first_name, u.last_name, u.is_active, u.is_superuser,
           u.verified, u.created_at, u.updated_at, u.version,
           array(select r.role_id from user_roles r where r.user_id = u.id) as role_ids,
           (select version from authz_version) as authz_version
    from unnest($1::uuid[], $2::bytea[]) with ordinality as k (user_id, token_hash, ordinal)
    join session_tokens t on t.user_id = k.user_id and t.token_hash = k.token_hash
    join sessions s on s.id = t.session_id
    join users u on u.id = t.user_id
    where t.kind = 'access' and t.expires_at > now() and s.revoked_at is null and s.expires_at > now() and u.is_active`,
};

type Waiting = {
  userId: string;
  tokenHash: Buffer;
  resolve: (found: LiveToken | undefined) => void;
  reject: (error: unknown) => void;
};

// A statement carries at most this many look-ups, and this many statements run at once: enough to keep the
// server busy, few enough that the next tick's look-ups gather meanwhile (measured: bench/README.md).
const MAX_BATCH = 256;
const MAX_IN_FLIGHT = 3;

export function createTokenLookup(pool: Pool): TokenLookup {
  let waiting: Waiting[] = [];
  let inFlight = 0;
  let scheduled = false;

  async function run(batch: Waiting[]): Promise<void> {
    try {
      const { rows } = await pool.query<LiveToken & { ordinal: string }>({
        ...statement,
        values: [batch.map((one) => one.userId), batch.map((one) => one.tokenHash)],
      });
      const found = new Map(rows.map(({ ordinal, ...row }) => [Number(ordinal) - 1, row]));
      for (const [index, one] of batch.entries()) one.resolve(found.get(index));
    } catch (error) {
      for (const one of batch) one.reject(error);
    } finally {
      inFlight -= 1;
      flush();
    }
  }

  function flush(): void {
    scheduled = false;
    while (waiting.length > 0 && inFlight < MAX_IN_FLIGHT) {
      const batch = waiting.slice(0, MAX_BATCH);
      waiting = waiting.slice(MAX_BATCH);
      inFlight += 1;
      void run(batch);
    }
  }

  return (userId, tokenHash) => {
    const { promise, resolve, reject } = Promise.withResolvers<LiveToken | undefined>();
    waiting.push({ userId, tokenHash, resolve, reject });
    if (!scheduled) {
      scheduled = true;
      setImmediate(flush);
    }
    return promise;
  };
}
