// Roles that hold exactly the same permissions.
import type { CountedRole } from '../../data/catalogue.ts';

/** Returns the names of the other roles with the same permissions, by id; roles without permissions are left out. */
export function sameSets(roles: readonly CountedRole[]): ReadonlyMap<string, readonly string[]> {
  const byContent = Map.groupBy(
    roles.filter(({ permission_count }) => permission_count > 0),
    ({ permission_ids }) => permission_ids.toSorted().join(),
  );
  const found = new Map<string, readonly string[]>();
  for (const alike of byContent.values())
    if (alike.length > 1)
      for (const role of alike)
        found.set(
          role.id,
          alike.filter((other) => other !== role).map(({ name }) => name),
        );
  return found;
}
