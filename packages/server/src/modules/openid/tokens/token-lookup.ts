// Finds access tokens of applications on the allowlist, with what their grant may tell. Lookups of one tick share a statement.
// It caches no answer, so that a revocation takes effect at the next request.
import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { createBatchedLookup, inOrder } from '../../../platform/db/batched.ts';
import { secretTextHash } from '../../../platform/security/secret-text.ts';
import { isObject } from '../../../platform/unknown-values.ts';
import type { Row } from '../../../schema/database.ts';
import { isLiveGrant } from '../../../schema/live/grants.ts';
import { type GrantedAccess, grantColumns, grantTables } from './grant-columns.ts';

export const ACCESS_MARK = 'cas_at_';

/** `token_scopes`: of the token, a part of those of its grant. */
export type LiveApplicationToken = GrantedAccess &
  Pick<Row<'application_tokens'>, 'aud' | 'jti' | 'dpop_jkt' | 'issued_at' | 'expires_at'> & {
    token_scopes: string[];
    /** By the database. */
    now: Date;
  };

/** Longest JWT that is looked at, in characters. */
export const MAX_JWT_LENGTH = 16_384;

/** Returns whether the text has the header of an access token for an API resource. Nothing of it is verified. */
export function looksLikeResourceToken(text: string): boolean {
  const [header = '', , , ...rest] = text.length > MAX_JWT_LENGTH ? [] : text.split('.', 4);
  if (rest.length > 0) return false;
  try {
    const parsed: unknown = JSON.parse(Buffer.from(header, 'base64url').toString());
    return isObject(parsed) && parsed.typ === 'at+jwt' && (parsed.alg === 'RS256' || parsed.alg === 'ES256');
  } catch {
    return false;
  }
}

/**
 * Returns the key on the allowlist of what may be an access token of an application; undefined for every other text. A hit proves that
 * this service made these bytes.
 */
export const accessTokenHash = (text: string): Buffer | undefined =>
  secretTextHash(ACCESS_MARK, text) ??
  (looksLikeResourceToken(text) ? hash('sha256', text, 'buffer') : undefined);

/** Returns undefined for a text that is no live access token of an application. The access rule is not judged. */
export type ApplicationTokenLookup = (text: string) => Promise<LiveApplicationToken | undefined>;

// Arrays in subqueries and `offset 0`: as in modules/sessions/token-lookup.ts.
const statement = {
  name: 'live-application-tokens',
  text: `
    select wanted.ordinal, t.aud, t.jti, t.dpop_jkt, t.issued_at, t.expires_at, t.scopes as token_scopes,
      clock_timestamp() as now, ${grantColumns}
    from unnest((select $1::bytea[])) with ordinality as hashes (token_hash, ordinal)
    cross join lateral (select * from application_tokens t where t.token_hash = hashes.token_hash offset 0) t
    cross join lateral (select hashes.ordinal, t.aud as resource) wanted
    cross join lateral (select * from access_grants g where g.id = t.grant_id offset 0) g ${grantTables}
    where t.expires_at > now() and (t.aud is null or target.id is not null) and ${isLiveGrant}
      and (t.key_id is null or exists (select from application_keys k where k.key_id = t.key_id))`,
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
    const found = accessTokenHash(text);
    return found && lookup(found);
  };
}
