// SQL of the secrets of applications. A secret counts until it is revoked or expires.
import { sql } from 'kysely';
import type { Db, Row, Tx } from '../../schema/database.ts';
import type { Entitled } from '../authz/change.ts';

export type SecretRow = Pick<
  Row<'application_secrets'>,
  'id' | 'name' | 'prefix' | 'created_at' | 'expires_at' | 'last_used_at'
>;

const columns = sql`id, name, prefix, created_at, expires_at, last_used_at`;

/** Returns the secrets of an application that are not revoked, newest first. */
export async function findSecretsOf(db: Db, applicationId: string): Promise<SecretRow[]> {
  const { rows } = await sql<SecretRow>`
    select ${columns} from application_secrets where application_id = ${applicationId} and revoked_at is null
    order by created_at desc, id desc`.execute(db);
  return rows;
}

/** Counts the live secrets of an application. */
export async function countLiveSecrets(tx: Tx, applicationId: string): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*)::integer as total from application_secrets
    where application_id = ${applicationId} and revoked_at is null
      and (expires_at is null or expires_at > statement_timestamp())`.execute(tx);
  return rows[0]?.total ?? 0;
}

export async function insertSecret(
  { tx }: Entitled,
  secret: Pick<
    Row<'application_secrets'>,
    'id' | 'application_id' | 'name' | 'prefix' | 'secret_hash' | 'expires_at'
  >,
): Promise<SecretRow> {
  return tx
    .insertInto('application_secrets')
    .values(secret)
    .returning(['id', 'name', 'prefix', 'created_at', 'expires_at', 'last_used_at'])
    .executeTakeFirstOrThrow();
}

/** Revokes a secret of the application. Returns it; undefined if the application has no such secret, or a revoked one. */
export async function revokeSecretRow(
  { tx }: Entitled,
  applicationId: string,
  id: string,
): Promise<SecretRow | undefined> {
  const { rows } = await sql<SecretRow>`
    update application_secrets set revoked_at = now()
    where application_id = ${applicationId} and id = ${id} and revoked_at is null
    returning ${columns}`.execute(tx);
  return rows[0];
}

/** Deletes secrets that ended more than `keepDays` ago. Returns their number. */
export async function deleteEndedSecrets(db: Db, keepDays: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`
    delete from application_secrets where least(revoked_at, expires_at) < now() - make_interval(days => ${keepDays})`.execute(
    db,
  );
  return Number(numAffectedRows);
}
