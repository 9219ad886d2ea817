// Computes the permissions of a user or a service account from their roles. It has no side effects.
import type { Graph, RoleNode } from './graph/graph.ts';
import { everywhere, type Scoped } from './scope.ts';

/** Who asks for access: the roles, and for a narrowed key or token the ids of the only permissions that it may use. */
export type Subject = {
  is_superuser: boolean;
  role_ids: readonly string[];
  narrowed_to?: readonly string[] | null;
};

/** Returns whether the subject holds the permission. Names are compared ignoring case; an unknown one is held by nobody. */
export function mayDo(graph: Graph, who: Scoped<Subject>, permission: string): boolean {
  const id = graph.permissions.idOf(permission);
  return id !== undefined && grantOf(graph, who, id) !== null;
}

/**
 * Returns why the subject holds the permission with this id: as a superuser, or by a role; null if it does not. This is
 * the only place that decides it.
 */
export function grantOf(
  graph: Graph,
  { subject }: Scoped<Subject>,
  permissionId: string,
): 'superuser' | 'granted' | null {
  if (!mayUse(subject, permissionId)) return null;
  if (subject.is_superuser) return 'superuser';
  const isGranted = subject.role_ids.some((role) => graph.roles.get(role)?.holdsId(permissionId) ?? false);
  return isGranted ? 'granted' : null;
}

/** Returns whether the key or token of the subject, if there is one, is not narrowed to other permissions. */
const mayUse = ({ narrowed_to }: Subject, permissionId: string): boolean =>
  !narrowed_to || narrowed_to.includes(permissionId);

/**
 * Returns the roles through which the subject holds the permission with this id, sorted by name. A superuser may have
 * none. For everybody else the list is empty exactly if `grantOf` returns null.
 */
export const sourcesOf = (graph: Graph, { subject }: Scoped<Subject>, permissionId: string): RoleNode[] =>
  mayUse(subject, permissionId) ? rolesOf(graph, subject).filter((role) => role.holdsId(permissionId)) : [];

/**
 * Returns the ids of all permissions for which `grantOf` does not return null, each with what `sourcesOf` returns.
 */
export function allSourcesOf(graph: Graph, { subject }: Scoped<Subject>): Map<string, RoleNode[]> {
  const roles = rolesOf(graph, subject);
  const ids = subject.is_superuser ? graph.permissions.ids : roles.flatMap((role) => [...role.permissionIds]);
  const narrowed = subject.narrowed_to ? new Set(subject.narrowed_to) : null;
  const sources = new Map<string, RoleNode[]>();
  for (const id of ids) if (!narrowed || narrowed.has(id)) sources.set(id, []);
  for (const role of roles) for (const id of role.permissionIds) sources.get(id)?.push(role);
  return sources;
}

/** Returns the names of the subject's permissions, sorted and unique; all permissions for a superuser without a narrowed token. */
export function permissionsOf(graph: Graph, { subject }: Scoped<Subject>): readonly string[] {
  const { narrowed_to = null } = subject;
  if (subject.is_superuser)
    return narrowed_to === null ? graph.allPermissions : graph.permissions.namesOf(narrowed_to);
  const names = new Set(subject.role_ids.flatMap((id) => graph.roles.get(id)?.permissions ?? []));
  if (narrowed_to === null) return [...names].sort();
  return graph.permissions.namesOf(narrowed_to).filter((name) => names.has(name));
}

/** Returns the subject's roles, sorted by name. Leaves out roles that are not in the graph. */
export function rolesOf(graph: Graph, subject: Subject): RoleNode[] {
  return subject.role_ids
    .map((id) => graph.roles.get(id))
    .filter((role) => role !== undefined)
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Returns whether the subject is a superuser or has the system role `Admin`, whose name cannot be changed. A narrowed
 * key or token is no administrator.
 */
export const isAdministrator = (graph: Graph, subject: Subject): boolean =>
  !subject.narrowed_to &&
  (subject.is_superuser || rolesOf(graph, subject).some((role) => role.is_system && role.name === 'Admin'));

/**
 * Returns whether the actor may act as the target: with the permission for it, holding every permission of the target, and as a
 * superuser if the target is one. What concerns only the target's own account gives no power, and nobody who acts may do it.
 */
export function mayActAs(graph: Graph, actor: Subject, target: Subject): boolean {
  if (actor.is_superuser) return true;
  if (target.is_superuser || !mayDo(graph, everywhere(actor), 'users.act_as')) return false;
  const held = allSourcesOf(graph, everywhere(actor));
  const own = graph.permissions.idOf('self.update_profile');
  return rolesOf(graph, target).every((role) =>
    [...role.permissionIds].every((id) => id === own || held.has(id)),
  );
}
