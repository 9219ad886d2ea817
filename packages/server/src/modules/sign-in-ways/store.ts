// SQL of the ways to sign in that an account has.
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import type { Tx } from '../../schema/database.ts';

type Ways = { has_password: boolean; has_passkey: boolean; has_identity: boolean };

/** `rpIds`: of the passkeys that sign in alone here. An identity counts while its provider is active and takes the account. */
export async function readWays(
  tx: Tx,
  { userId, rpIds }: { userId: string; rpIds: readonly string[] },
): Promise<Ways> {
  const answer = await sql<Ways>`
    select u.password_hash is not null as has_password,
      exists (
        select from passkeys k
        where k.user_id = u.id and k.kind = 'passkey' and k.rp_id = any(${rpIds}::text[])) as has_passkey,
      exists (
        select from identities i join identity_providers p on p.id = i.provider_id
        where i.user_id = u.id and p.is_active and (p.allow_superusers or not u.is_superuser)) as has_identity
    from users u where u.id = ${userId}`.execute(tx);
  return onlyRow(answer);
}
