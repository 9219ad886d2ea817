// Finds the roles that would give a permission to a subject and little else. It has no side effects.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Graph, RoleNode } from '../authz/graph/graph.ts';

type Candidate = {
  role: RoleNode;
  /** Names of the permissions, besides the wanted one, that the subject does not have yet, sorted. */
  adds: string[];
};

const MAX_ROLES = 10;
// Counting takes less than a millisecond for this many roles of 200 permissions.
const ROLES_AT_ONCE = 250;

/**
 * Returns up to 10 roles that hold the permission; those that add the fewest others to the permissions that the subject
 * has come first, then by name. Lets other requests run in between: there may be tens of thousands of roles.
 */
export async function findNearestRoles(
  graph: Graph,
  permissionId: string,
  held: ReadonlySet<string>,
): Promise<Candidate[]> {
  let best: { role: RoleNode; added: number }[] = [];
  let seen = 0;
  for (const role of graph.roles.values()) {
    seen += 1;
    if (seen % ROLES_AT_ONCE === 0) await nextTurn();
    if (!role.holdsId(permissionId)) continue;
    const worst = best.length < MAX_ROLES ? Number.POSITIVE_INFINITY : (best.at(-1)?.added ?? 0);
    const added = countUpTo(worst, addedBy(role, permissionId, held));
    if (added > worst) continue;
    best = [...best, { role, added }].sort(byAdded).slice(0, MAX_ROLES);
  }
  return best.map(({ role }) => ({
    role,
    adds: graph.permissions.namesOf(addedBy(role, permissionId, held)),
  }));
}

function* addedBy(role: RoleNode, permissionId: string, held: ReadonlySet<string>): Generator<string, void> {
  for (const id of role.permissionIds) if (id !== permissionId && !held.has(id)) yield id;
}

/** Counts the ids, and stops at one more than `limit`. */
function countUpTo(limit: number, ids: Iterable<string>): number {
  let count = 0;
  for (const _ of ids) {
    count += 1;
    if (count > limit) break;
  }
  return count;
}

const byAdded = (a: { role: RoleNode; added: number }, b: { role: RoleNode; added: number }): number =>
  a.added - b.added || (a.role.name < b.role.name ? -1 : 1);
