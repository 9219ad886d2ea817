// SQL of service accounts.
import type { PageQuery } from '@castellan/contract/common';
import { type RawBuilder, sql } from 'kysely';
import { lockUntilCommit } from '../../platform/db/sql.ts';
import { plannedForValues } from '../../platform/db/statement-names.ts';
import { containsWord, wordsOf } from '../../platform/db/text-search.ts';
import { offsetOf } from '../../platform/pages.ts';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export type AccountRow = Pick<
  Row<'service_accounts'>,
  | 'id'
  | 'name'
  | 'description'
  | 'is_active'
  | 'external_id'
  | 'last_used_at'
  | 'created_at'
  | 'updated_at'
  | 'created_by_id'
  | 'version'
> & {
  role_ids: Row<'roles'>['id'][];
  /** Stamp of the role → permission graph in the same snapshot. */
  authz_stamp: Row<'authz_version'>['stamp'];
};

const accountColumns = sql`
  a.id, a.name, a.description, a.is_active, a.external_id, a.last_used_at, a.created_at, a.updated_at, a.created_by_id, a.version,
  array(select r.role_id from held_account_roles r where r.service_account_id = a.id) as role_ids,
  (select stamp from authz_version) as authz_stamp`;

export async function findAccount(db: Db, id: string): Promise<AccountRow | undefined> {
  const { rows } = await sql<AccountRow>`
    select ${accountColumns} from service_accounts a where a.id = ${id}`.execute(db);
  return rows[0];
}

/** Returns the accounts in no particular order. Leaves out unknown ids. */
export async function findAccounts(tx: Tx, ids: readonly string[]): Promise<AccountRow[]> {
  const { rows } = await sql<AccountRow>`
    select ${accountColumns} from service_accounts a where a.id = any(${ids}::uuid[])`.execute(tx);
  return rows;
}

/** Returns an account that the transaction has locked or created. */
export async function readAccount(tx: Tx, id: string): Promise<AccountRow> {
  const account = await findAccount(tx, id);
  if (!account) throw new Error('a service account that this transaction has locked is missing');
  return account;
}

function matching(search: string | null): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`];
  for (const word of wordsOf(search ?? '')) conditions.push(containsWord(sql`lower(a.name)`, word, false));
  return sql.join(conditions, sql` and `);
}

export async function countAccounts(db: Db, search: string | null): Promise<number> {
  const { rows } = await sql<{ total: number }>`${plannedForValues}
    select count(*)::integer as total from service_accounts a where ${matching(search)}`.execute(db);
  return rows[0]?.total ?? 0;
}

/** Returns one page of accounts, sorted by name. */
export async function listAccounts(db: Db, search: string | null, page: PageQuery): Promise<AccountRow[]> {
  const { rows } = await sql<AccountRow>`${plannedForValues}
    select ${accountColumns} from service_accounts a where ${matching(search)}
    order by lower(a.name), a.id limit ${page.size} offset ${offsetOf(page)}`.execute(db);
  return rows;
}

export async function insertAccount(
  { tx }: Entitled,
  account: Pick<
    Row<'service_accounts'>,
    'id' | 'name' | 'description' | 'is_active' | 'external_id' | 'created_by_id'
  >,
): Promise<void> {
  await tx.insertInto('service_accounts').values(account).execute();
}

/** Updates an account whose row is locked. Its version rises even if only its roles changed. */
export async function updateAccount(
  { tx }: Entitled,
  id: string,
  fields: Pick<Row<'service_accounts'>, 'name' | 'description' | 'is_active' | 'external_id'>,
): Promise<void> {
  const { name, description, is_active, external_id } = fields;
  await sql`
    update service_accounts
    set name = ${name}, description = ${description}, is_active = ${is_active}, external_id = ${external_id},
      updated_at = now()
    where id = ${id}`.execute(tx);
}

/** Deletes an account with its roles and API keys. Its access tokens end with the keys. */
/**
 * Returns which of the two another account has as the other: decisions would find one account by the name of the other. Parallel changes
 * of names and external ids wait for each other from then on. Reads all accounts, which are few and rarely renamed.
 */
export async function findAmbiguous(
  { tx }: Entitled,
  { id, name, external_id }: Pick<Row<'service_accounts'>, 'id' | 'name' | 'external_id'>,
): Promise<'name' | 'external_id' | undefined> {
  await lockUntilCommit('service_accounts.names').execute(tx);
  const { rows } = await sql<{ is_name: boolean }>`
    select lower(external_id) is not distinct from lower(${name}) as is_name from service_accounts
    where id <> ${id} and (lower(external_id) = lower(${name}) or lower(name) = lower(${external_id}::text))
    limit 1`.execute(tx);
  const [found] = rows;
  return found && (found.is_name ? 'name' : 'external_id');
}

export async function deleteAccountRow({ tx }: Entitled, id: string): Promise<void> {
  await sql`delete from service_accounts where id = ${id}`.execute(tx);
}

/** Marks accounts as changed, because their roles changed. */
export async function touchAccounts({ tx }: Entitled, ids: readonly string[]): Promise<void> {
  await sql`update service_accounts set updated_at = now() where id = any(${ids}::uuid[])`.execute(tx);
}
