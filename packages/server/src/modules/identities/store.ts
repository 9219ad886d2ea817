// SQL of identities as people and administrators see and end them. The sign-in by one is in modules/provider-sign-in.
// What ends an identity must hold the lock of its user's row, so that of two ends at once the second sees the first.
import { sql } from 'kysely';
import type { Db, Row, Tx } from '../../schema/database.ts';

type Identity = Row<'identities'>;
type Provider = Row<'identity_providers'>;

export type IdentityRow = Pick<
  Identity,
  'id' | 'subject' | 'email' | 'display_name' | 'created_at' | 'last_used_at'
> & { slug: string; name: string };

/** Returns the identities of an account, oldest first. */
export async function listIdentities(db: Db, userId: string): Promise<IdentityRow[]> {
  const { rows } = await sql<IdentityRow>`
    select i.id, i.subject, i.email, i.display_name, i.created_at, i.last_used_at, p.slug, p.name
    from identities i join identity_providers p on p.id = i.provider_id
    where i.user_id = ${userId} order by i.created_at, i.id`.execute(db);
  return rows;
}

/** Returns the providers of the sign-in page that the account has no identity of. */
export async function listConnectable(
  db: Db,
  userId: string,
): Promise<Pick<Provider, 'slug' | 'name' | 'kind'>[]> {
  const { rows } = await sql<Pick<Provider, 'slug' | 'name' | 'kind'>>`
    select slug, name, kind from identity_providers p
    where is_active and is_shown
      and not exists (select from identities i where i.user_id = ${userId} and i.provider_id = p.id)
    order by position, slug`.execute(db);
  return rows;
}

/** `now`: the transaction's time. */
type KeptIdentity = Pick<Identity, 'id' | 'subject'> & { slug: string; name: string; now: Date };

/**
 * Returns an identity of this account, and keeps its provider as it is until the transaction ends: what ends at a provider
 * locks its sessions and identities in another order. Call it with the lock of the user's row.
 */
export async function keepIdentity(tx: Tx, userId: string, id: string): Promise<KeptIdentity | undefined> {
  const { rows } = await sql<KeptIdentity>`
    select i.id, i.subject, p.slug, p.name, now() as now
    from identities i join identity_providers p on p.id = i.provider_id
    where i.id = ${id} and i.user_id = ${userId} for share of p`.execute(tx);
  return rows[0];
}

/** Returns the ids of the sessions that began with the identity and were not ended one by one. */
export async function findSessionsOf(
  tx: Tx,
  { userId, identityId }: { userId: string; identityId: string },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select id from sessions where user_id = ${userId} and identity_id = ${identityId} and revoked_at is null
    order by id`.execute(tx);
  return rows.map(({ id }) => id);
}

/** Deletes the identity, and the sign-ins that wait for a second factor after it. */
export async function deleteIdentity(tx: Tx, id: string): Promise<void> {
  await sql`delete from pending_sign_ins where identity_id = ${id}`.execute(tx);
  await sql`delete from identities where id = ${id}`.execute(tx);
}
