// SQL of identities, and of the accounts that a provider vouches for. Times come from the database.
// The unique key of identities decides races. A transaction that adds one must hold the lock of the user's row.
import { administrativePermissions } from '@castellan/contract/permissions';
import { sql } from 'kysely';
import { isInvitationOpen } from '../../schema/attention.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';

type Identity = Row<'identities'>;
export type IdentityKey = Pick<Identity, 'provider_id' | 'issuer' | 'subject'>;

export async function findIdentity(
  db: Db,
  { provider_id, issuer, subject }: IdentityKey,
): Promise<Pick<Identity, 'id' | 'user_id'> | undefined> {
  const { rows } = await sql<Pick<Identity, 'id' | 'user_id'>>`
    select id, user_id from identities
    where provider_id = ${provider_id} and issuer = ${issuer} and subject = ${subject}`.execute(db);
  return rows[0];
}

/** Throws `identities_provider_id_issuer_subject_key` if the identity is connected to any account. */
export async function insertIdentity(
  tx: Tx,
  identity: IdentityKey & Pick<Identity, 'id' | 'user_id' | 'email' | 'display_name'>,
  { isUsed }: { isUsed: boolean },
): Promise<void> {
  await sql`
    insert into identities (id, user_id, provider_id, issuer, subject, email, display_name, last_used_at)
    values (${identity.id}, ${identity.user_id}, ${identity.provider_id}, ${identity.issuer}, ${identity.subject},
      ${identity.email}, ${identity.display_name}, case when ${isUsed}::boolean then now() end)`.execute(tx);
}

/** Notes a use of the identity, and what the provider said. What it did not say stays. */
export async function noteUse(
  tx: Tx,
  { id, email, display_name }: Pick<Identity, 'id' | 'email' | 'display_name'>,
): Promise<void> {
  await sql`
    update identities set last_used_at = now(), email = coalesce(${email}, email),
      display_name = coalesce(${display_name}, display_name)
    where id = ${id}`.execute(tx);
}

export async function deleteIdentitiesOf(tx: Tx, userId: string): Promise<void> {
  await sql`delete from identities where user_id = ${userId}`.execute(tx);
}

export type Account = Pick<Row<'users'>, 'is_superuser' | 'first_name' | 'last_name' | 'invited_at'> & {
  is_invitation_open: boolean;
};

/** Call it with the lock of the user's row. */
export async function readAccount(tx: Tx, userId: string): Promise<Account | undefined> {
  const { rows } = await sql<Account>`
    select u.is_superuser, u.first_name, u.last_name, u.invited_at,
      (${isInvitationOpen}) is true as is_invitation_open
    from users u where u.id = ${userId}`.execute(tx);
  return rows[0];
}

export async function findUserIdByEmail(db: Db, email: string): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`select id from users where email = ${email}`.execute(db);
  return rows[0]?.id;
}

/** Returns whether the account holds a built-in permission beyond those of its own account. Superusers hold all of them. */
export async function isAdministrative(tx: Tx, userId: string): Promise<boolean> {
  const { rows } = await sql`
    select from users u where u.id = ${userId} and (u.is_superuser or exists (
      select from held_user_roles held join role_permissions through on through.role_id = held.role_id
      join permissions p on p.id = through.permission_id
      where held.user_id = u.id and p.name = any(${administrativePermissions}::text[])))`.execute(tx);
  return rows.length > 0;
}
