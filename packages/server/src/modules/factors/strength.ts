// How strongly an account can prove its second factor, whatever it proved this time.
import type { Acr } from '@castellan/contract/authentication';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Db } from '../../schema/database.ts';

/**
 * Returns the level that the factors of the account reach; null for none. A suspended app and passkeys of other RP IDs than
 * `rpIds` count for nothing, but the recovery codes do.
 */
export async function strongestFactor(db: Db, userId: string, rpIds: readonly string[]): Promise<Acr | null> {
  const answer = await sql<{ passkey: boolean; code: boolean }>`
    select exists (select from passkeys where user_id = ${userId} and rp_id = any(${rpIds}::text[])) as passkey,
      exists (select from totp_factors where user_id = ${userId} and suspended_at is null)
        or exists (select from recovery_codes where user_id = ${userId} and used_at is null) as code`.execute(
    db,
  );
  const { passkey, code } = onlyRow(answer);
  if (passkey) return 'phr';
  return code ? 'aal2' : null;
}
