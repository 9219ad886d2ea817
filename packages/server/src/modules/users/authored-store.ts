// SQL of the records that a user created, which stay without an author when the user is deleted. The deletion locks
// them first, in the usual order: groups, then the user, then roles and permissions. It must not change them.
import { sql } from 'kysely';
import type { Tx } from '../../schema/database.ts';

export async function hasCreatedRecords(tx: Tx, userId: string): Promise<boolean> {
  const { rows } = await sql<{ has_created: boolean }>`
    select exists (select from role_groups where created_by_id = ${userId})
      or exists (select from permission_groups where created_by_id = ${userId})
      or exists (select from roles where created_by_id = ${userId})
      or exists (select from permissions where created_by_id = ${userId})
      or exists (select from service_accounts where created_by_id = ${userId})
      or exists (select from user_attributes where created_by_id = ${userId})
      or exists (select from api_resources where created_by_id = ${userId})
      or exists (select from identity_providers where created_by_id = ${userId})
      or exists (select from webhooks where created_by_id = ${userId})
      or exists (select from applications where created_by_id = ${userId}) as has_created`.execute(tx);
  return rows[0]?.has_created ?? false;
}

/**
 * Locks the user's role groups and permission groups. Call it under the locks of both trees, before locking the user.
 */
export async function lockGroupsCreatedBy(tx: Tx, userId: string): Promise<void> {
  await sql`select from role_groups where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
  await sql`select from permission_groups where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
}

/**
 * Locks the service accounts, applications, user attributes, API resources, identity providers, webhooks, roles and permissions that the
 * user created. Call it after locking the user's row. `roleIds`: roles that the transaction takes away from the user, which are locked in one
 * statement with those that the user created.
 */
export async function lockGrantsCreatedBy(
  tx: Tx,
  userId: string,
  roleIds: readonly string[] = [],
): Promise<void> {
  await sql`select from service_accounts where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
  await sql`select from applications where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
  await sql`select from user_attributes where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
  await sql`select from api_resources where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
  await sql`select from identity_providers where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
  await sql`select from webhooks where created_by_id = ${userId} order by id for no key update`.execute(tx);
  await sql`
    select from roles where created_by_id = ${userId} or id = any(${roleIds}::uuid[])
    order by id for no key update`.execute(tx);
  await sql`select from permissions where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
}
