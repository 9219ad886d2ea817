// What a user may do, computed from his roles. Pure.
import type { Graph, RoleNode } from './graph.ts';

export type Subject = { is_superuser: boolean; role_ids: readonly string[] };

export function mayDo(graph: Graph, subject: Subject, permission: string): boolean {
  if (subject.is_superuser) return true;
  return subject.role_ids.some((id) => graph.roles.get(id)?.permissions.includes(permission) ?? false);
}

/** Sorted, unique. A superuser's list holds every permission there is. */
export function permissionsOf(graph: Graph, subject: Subject): readonly string[] {
  if (subject.is_superuser) return graph.allPermissions;
  const names = subject.role_ids.flatMap((id) => graph.roles.get(id)?.permissions ?? []);
  return [...new Set(names)].sort();
}

/** By name. */
export function rolesOf(graph: Graph, subject: Subject): RoleNode[] {
  return subject.role_ids
    .map((id) => graph.roles.get(id))
    .filter((role): role is RoleNode => role !== undefined)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A superuser, or a holder of the system role `Admin` (whose name nobody can change). */
export const isAdministrator = (graph: Graph, subject: Subject): boolean =>
  subject.is_superuser || rolesOf(graph, subject).some((role) => role.is_system && role.name === 'Admin');
