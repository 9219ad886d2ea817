// SQL of what ends with a provider: the identities that are connected by it, and what began by these. Sessions themselves
// end in ends.ts.
import type { ProviderImpact } from '@castellan/contract/identity-providers';
import { sql } from 'kysely';
import { onlyRow } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import type { Db, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export async function hasIdentities(tx: Tx, providerId: string): Promise<boolean> {
  const { rows } = await sql`select from identities where provider_id = ${providerId} limit 1`.execute(tx);
  return rows.length > 0;
}

/** Deletes the sign-ins that were begun at the provider and are not finished. */
export async function deleteUnfinished({ tx }: Entitled, providerId: string): Promise<void> {
  await sql`delete from provider_sign_ins where provider_id = ${providerId}`.execute(tx);
  await sql`
    delete from pending_sign_ins where identity_id in (select id from identities where provider_id = ${providerId})`.execute(
    tx,
  );
}

/** Returns the ids of the first `limit` identities of the provider after `after`, in their order. */
export async function nextIdentities(
  tx: Tx,
  providerId: string,
  { after, limit }: { after: string; limit: number },
): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`${plannedForValues}
    select id from identities where provider_id = ${providerId} and id > ${after} order by id limit ${limit}`.execute(
    tx,
  );
  return rows.map(({ id }) => id);
}

/** Returns the ids of the sessions that began by the identities and were not ended one by one. */
export async function findSessionsOf(tx: Tx, identityIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    select s.id from identities i join sessions s on s.user_id = i.user_id and s.identity_id = i.id
    where i.id = any(${identityIds}::uuid[]) and s.revoked_at is null order by s.id`.execute(tx);
  return rows.map(({ id }) => id);
}

export async function deleteIdentities({ tx }: Entitled, ids: readonly string[]): Promise<void> {
  await sql`delete from identities where id = any(${ids}::uuid[])`.execute(tx);
}

/**
 * Counts the identities of a provider, the live sessions that began by them, and the people who have no other way to sign in. Three
 * statements, so that each is done before the time limit of one, with a million identities.
 */
export async function countImpact(db: Db, providerId: string): Promise<ProviderImpact> {
  const identities = await sql<{ count: number }>`
    select count(*)::integer as count from identities where provider_id = ${providerId}`.execute(db);
  const sessions = await sql<{ count: number }>`
    select count(*)::integer as count from identities i join users u on u.id = i.user_id
    join sessions s on s.user_id = i.user_id and s.identity_id = i.id
    where i.provider_id = ${providerId}
      and is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)`.execute(db);
  const leftWithout = await sql<{ count: number }>`
    select count(distinct u.id)::integer as count from identities i join users u on u.id = i.user_id
    where i.provider_id = ${providerId} and u.is_active and u.password_hash is null
      and not exists (select from passkeys k where k.user_id = u.id and k.kind = 'passkey')
      and not exists (
        select from identities other join identity_providers p on p.id = other.provider_id
        where other.user_id = u.id and p.id <> ${providerId} and p.is_active)`.execute(db);
  return {
    identities: onlyRow(identities).count,
    sessions: onlyRow(sessions).count,
    left_without: onlyRow(leftWithout).count,
  };
}
