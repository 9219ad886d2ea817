// The matrix as CSV: a line for each permission, a column for each role.
import type { Permission } from '@castellan/sdk';
import { toCsv } from '../../components/lists/csv.ts';
import type { CountedRole } from '../../data/catalogue.ts';

export function csvOf(
  held: ReadonlyMap<string, ReadonlySet<string>>,
  columns: readonly CountedRole[],
  permissions: readonly Permission[],
): string {
  return toCsv([
    ['permission', ...columns.map(({ name }) => name)],
    ...permissions.map(({ id, name }) => [
      name,
      ...columns.map((role) => (held.get(role.id)?.has(id) ? 'x' : '')),
    ]),
  ]);
}
