// Finds access tokens of applications on the allowlist, with what their grant may tell. Lookups of one tick share a statement.
// It caches no answer, so that a revocation takes effect at the next request.
import type { Pool } from 'pg';
import { createBatchedLookup, inOrder } from '../../../platform/db/batched.ts';
import { secretTextHash } from '../../../platform/security/secret-text.ts';
import type { Row } from '../../../schema/database.ts';
import { type GrantedAccess, grantColumns, grantTables, isLiveGrant } from './grant-columns.ts';

export const ACCESS_MARK = 'cas_at_';

/** `token_scopes`: of the token, a part of those of its grant. */
export type LiveApplicationToken = GrantedAccess &
  Pick<Row<'application_tokens'>, 'jti' | 'dpop_jkt' | 'issued_at' | 'expires_at'> & {
    token_scopes: string[];
  };

/** Returns undefined for a text that is no live access token of an application. The access rule is not judged. */
export type ApplicationTokenLookup = (text: string) => Promise<LiveApplicationToken | undefined>;

// Arrays in subqueries and `offset 0`: as in modules/sessions/token-lookup.ts.
const statement = {
  name: 'live-application-tokens',
  text: `
    select wanted.ordinal, t.jti, t.dpop_jkt, t.issued_at, t.expires_at, t.scopes as token_scopes, ${grantColumns}
    from unnest((select $1::bytea[])) with ordinality as wanted (token_hash, ordinal)
    cross join lateral (select * from application_tokens t where t.token_hash = wanted.token_hash offset 0) t
    cross join lateral (select * from access_grants g where g.id = t.grant_id offset 0) g ${grantTables}
    where t.expires_at > now() and t.aud is null and ${isLiveGrant}`,
};

export function createApplicationTokenLookup(pool: Pool): ApplicationTokenLookup {
  const lookup = createBatchedLookup(pool.options.max, async (hashes: readonly Buffer[]) => {
    const { rows } = await pool.query<LiveApplicationToken & { ordinal: string }>({
      ...statement,
      values: [hashes],
    });
    return inOrder(rows, hashes.length);
  });
  return async (text) => {
    const found = secretTextHash(ACCESS_MARK, text);
    return found && lookup(found);
  };
}
