// SQL of the records that a user made: they lose their author with him, so whoever deletes him locks them, in the order
// of everybody else: groups, then the user, then roles and permissions. It must not change them.
import { sql } from 'kysely';
import type { Tx } from '../../database.ts';

export async function hasMadeRecords(tx: Tx, userId: string): Promise<boolean> {
  const { rows } = await sql<{ made: boolean }>`
    select exists (select from role_groups where created_by_id = ${userId})
      or exists (select from permission_groups where created_by_id = ${userId})
      or exists (select from roles where created_by_id = ${userId})
      or exists (select from permissions where created_by_id = ${userId}) as made`.execute(tx);
  return rows[0]?.made ?? false;
}

/** Under the locks of both trees, before the user's row. */
export async function lockGroupsMadeBy(tx: Tx, userId: string): Promise<void> {
  await sql`select from role_groups where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
  await sql`select from permission_groups where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
}

/** After the user's row. */
export async function lockGrantsMadeBy(tx: Tx, userId: string): Promise<void> {
  await sql`select from roles where created_by_id = ${userId} order by id for no key update`.execute(tx);
  await sql`select from permissions where created_by_id = ${userId} order by id for no key update`.execute(
    tx,
  );
}
