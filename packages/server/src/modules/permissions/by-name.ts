// Finds permissions by the names that a request gives.
// It must not say who may use them.
import { sql } from 'kysely';
import { AppError } from '../../platform/errors.ts';
import type { Tx } from '../../schema/database.ts';

/** Returns the ids of the permissions. Throws `permission_not_found`, which names the unknown ones. */
export async function requirePermissionIds(tx: Tx, names: readonly string[]): Promise<string[]> {
  const found = await findIds(
    tx,
    names.map((name) => name.trim().normalize('NFC')),
  );
  const unknown = new Set(found.flatMap(({ wanted, id }) => (id === null ? [wanted] : [])));
  if (unknown.size > 0) {
    const at = names.findIndex((name) => unknown.has(name.trim().normalize('NFC')));
    throw new AppError('permission_not_found', {
      detail: `permissions.${at} names a permission that does not exist.`,
      errors: [
        {
          field: `permissions.${at}`,
          code: 'unknown_name',
          message: 'names a permission that does not exist',
        },
      ],
    });
  }
  return found.flatMap(({ id }) => id ?? []);
}

/** Returns the ids of permissions by the name asked for; names are compared ignoring case. */
async function findIds(tx: Tx, names: readonly string[]): Promise<{ wanted: string; id: string | null }[]> {
  const { rows } = await sql<{ wanted: string; id: string | null }>`
    select distinct on (lower(wanted)) wanted, p.id
    from unnest(${names}::text[]) wanted left join permissions p on lower(p.name) = lower(wanted)
    where wanted is not null`.execute(tx);
  return rows;
}
