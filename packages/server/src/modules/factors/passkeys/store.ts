// SQL of passkeys and security keys, and of the challenges that were used up. Times come from the database.
// It must run under the lock of the user's row where it takes a `Tx`, so that counters and limits hold.
import { sql } from 'kysely';
import { onlyRow } from '../../../platform/db/sql.ts';
import type { Db, Row, Tx } from '../../../schema/database.ts';

type Columns = Row<'passkeys'>;

/** A passkey as its owner sees it, with what a browser needs to find it. */
export type PasskeyRow = Pick<
  Columns,
  | 'id'
  | 'credential_id'
  | 'kind'
  | 'name'
  | 'rp_id'
  | 'transports'
  | 'backed_up'
  | 'created_at'
  | 'last_used_at'
>;

const shownColumns = 'id, credential_id, kind, name, rp_id, transports, backed_up, created_at, last_used_at';

/** Returns the passkeys and security keys of the account, oldest first. */
export async function listPasskeys(db: Db, userId: string): Promise<PasskeyRow[]> {
  const { rows } = await sql<PasskeyRow>`
    select ${sql.raw(shownColumns)} from passkeys where user_id = ${userId} order by created_at, id`.execute(
    db,
  );
  return rows;
}

/** What verifies an assertion. */
export type StoredCredential = Pick<
  Columns,
  'id' | 'user_id' | 'credential_id' | 'public_key' | 'kind' | 'rp_id'
>;

export async function findCredential(db: Db, credentialId: Buffer): Promise<StoredCredential | undefined> {
  const { rows } = await sql<StoredCredential>`
    select id, user_id, credential_id, public_key, kind, rp_id from passkeys
    where sha256(credential_id) = sha256(${credentialId}::bytea) and credential_id = ${credentialId}::bytea`.execute(
    db,
  );
  return rows[0];
}

export type NewPasskey = Pick<
  Columns,
  | 'id'
  | 'user_id'
  | 'credential_id'
  | 'public_key'
  | 'kind'
  | 'name'
  | 'rp_id'
  | 'transports'
  | 'aaguid'
  | 'backup_eligible'
  | 'backed_up'
> & { sign_count: number };

/** Returns undefined if the credential is somebody's already. */
export async function insertPasskey(tx: Tx, passkey: NewPasskey): Promise<PasskeyRow | undefined> {
  const { rows } = await sql<PasskeyRow>`
    insert into passkeys (id, user_id, credential_id, public_key, kind, name, rp_id, sign_count, transports, aaguid,
      backup_eligible, backed_up)
    values (${passkey.id}, ${passkey.user_id}, ${passkey.credential_id}, ${passkey.public_key}, ${passkey.kind},
      ${passkey.name}, ${passkey.rp_id}, ${passkey.sign_count}, ${passkey.transports}::text[], ${passkey.aaguid}::uuid,
      ${passkey.backup_eligible}, ${passkey.backed_up})
    on conflict (sha256(credential_id)) do nothing
    returning ${sql.raw(shownColumns)}`.execute(tx);
  return rows[0];
}

export async function countPasskeys(db: Db, userId: string): Promise<number> {
  const answer = await sql<{ total: number }>`
    select count(*)::integer as total from passkeys where user_id = ${userId}`.execute(db);
  return onlyRow(answer).total;
}

/** Returns the passkey under its new name, and the former one; undefined if the account has no such passkey. */
export async function renamePasskey(
  tx: Tx,
  { user_id, id, name }: Pick<Columns, 'user_id' | 'id' | 'name'>,
): Promise<{ passkey: PasskeyRow; before: string } | undefined> {
  const passkey = (await listPasskeys(tx, user_id)).find((one) => one.id === id);
  if (!passkey) return undefined;
  await sql`update passkeys set name = ${name} where id = ${id} and user_id = ${user_id}`.execute(tx);
  return { passkey: { ...passkey, name }, before: passkey.name };
}

/** Returns what was removed; undefined if the account has no such passkey. */
export async function deletePasskey(
  tx: Tx,
  userId: string,
  id: string,
): Promise<Pick<Columns, 'name' | 'kind' | 'rp_id'> | undefined> {
  const { rows } = await sql<Pick<Columns, 'name' | 'kind' | 'rp_id'>>`
    delete from passkeys where id = ${id} and user_id = ${userId} returning name, kind, rp_id`.execute(tx);
  return rows[0];
}

/** What its last use left. */
export type PasskeyUse = Pick<Columns, 'name' | 'sign_count' | 'backup_eligible' | 'backed_up'>;

export async function readPasskeyUse(tx: Tx, userId: string, id: string): Promise<PasskeyUse | undefined> {
  const { rows } = await sql<PasskeyUse>`
    select name, sign_count, backup_eligible, backed_up from passkeys
    where id = ${id} and user_id = ${userId}`.execute(tx);
  return rows[0];
}

/** Records a use. A counter that did not rise is not stored. */
export async function savePasskeyUse(
  tx: Tx,
  id: string,
  use: { signCount: number; backupEligible: boolean; backedUp: boolean },
): Promise<void> {
  await sql`
    update passkeys set sign_count = greatest(sign_count, ${use.signCount}::bigint),
      backup_eligible = ${use.backupEligible}, backed_up = ${use.backedUp}, last_used_at = now()
    where id = ${id}`.execute(tx);
}

/** Uses up a challenge. Returns whether nothing used it before. */
export async function useChallenge(
  tx: Tx,
  { hash, expiresAt }: { hash: Buffer; expiresAt: Date },
): Promise<boolean> {
  // Kept for an hour more, because the clocks of the database and of the instances differ.
  const { numAffectedRows } = await sql`
    insert into used_challenges (challenge_hash, expires_at)
    values (${hash}, ${expiresAt}::timestamptz + interval '1 hour') on conflict do nothing`.execute(tx);
  return numAffectedRows === 1n;
}

/** Returns how many passkeys belong to each RP ID but this one. */
export async function countOtherRpIds(db: Db, rpId: string): Promise<{ rp_id: string; passkeys: number }[]> {
  const { rows } = await sql<{ rp_id: string; passkeys: number }>`
    select rp_id, count(*)::integer as passkeys from passkeys where rp_id <> ${rpId}
    group by rp_id order by rp_id`.execute(db);
  return rows;
}
