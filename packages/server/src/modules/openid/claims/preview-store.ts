// SQL of previews of claims. It must not write.
import { sql } from 'kysely';
import type { Db, Row } from '../../../schema/database.ts';
import { accountColumns, type KnownAccount } from './account-columns.ts';

/** An account as a token of an application that asked for everything would know it. */
export type PreviewedAccount = KnownAccount &
  Pick<Row<'users'>, 'is_active'> &
  Pick<Row<'applications'>, 'id_token_signing_alg'>;

/** Returns undefined for an unknown application or user. */
export async function findKnownAccount(
  db: Db,
  applicationId: string,
  userId: string,
): Promise<PreviewedAccount | undefined> {
  const { rows } = await sql<PreviewedAccount>`
    select ${sql.raw(accountColumns)}, u.is_active, a.id_token_signing_alg
    from applications a cross join users u cross join lateral (select a.scopes, null::jsonb as claims) g
    where a.id = ${applicationId} and u.id = ${userId}`.execute(db);
  return rows[0];
}

export async function hasApplication(db: Db, id: string): Promise<boolean> {
  const { rows } = await sql`select from applications where id = ${id}`.execute(db);
  return rows.length > 0;
}
