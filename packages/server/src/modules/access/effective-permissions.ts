// Lists the permissions of a user or a service account, each with the roles that it comes from.
// It must not decide: the list has exactly the permissions that `decide` grants, or would grant to an inactive subject.
import type { EffectivePermission, EffectivePermissions } from '@castellan/contract/explanations';
import { AppError } from '../../platform/errors.ts';
import type { Db } from '../../schema/database.ts';
import type { Caller, Principal } from '../authz/caller.ts';
import { allSourcesOf } from '../authz/effective.ts';
import type { Graph, RoleNode } from '../authz/graph/graph.ts';
import { everywhere } from '../authz/scope.ts';
import { asAskedBy, type KnownSubject, type SubjectSource } from '../authz/subjects.ts';
import { presenterOf } from './sources.ts';
import { findPermissionDetails, type PermissionDetails } from './sources-store.ts';

export type EffectivePermissionsDeps = { db: Db; subjectSource: SubjectSource };

/**
 * Returns the effective permissions of a subject. A service account that asks about itself with a narrowed API key sees
 * what this key may do. Throws `user_not_found` or `service_account_not_found`.
 */
export async function effectivePermissionsOf(
  deps: EffectivePermissionsDeps,
  { principal }: Caller,
  { type, id }: Pick<Principal, 'type' | 'id'>,
): Promise<EffectivePermissions> {
  const { subjects, graph } = await deps.subjectSource.load([{ type, id }]);
  const [found] = subjects;
  const details = found && (await deps.subjectSource.detailsOf(found));
  if (!details) throw new AppError(type === 'user' ? 'user_not_found' : 'service_account_not_found');
  const subject = asAskedBy(principal, found);
  return {
    subject: { type, id: subject.id, name: details.name },
    is_superuser: subject.is_superuser,
    blocked: subject.is_active ? null : 'inactive',
    notices: details.notices,
    permissions: await present(deps.db, graph, subject, allSourcesOf(graph, everywhere(subject))),
  };
}

/** Leaves out permissions that were deleted after the graph was read. */
async function present(
  db: Db,
  graph: Graph,
  { is_superuser, role_ids }: KnownSubject,
  sources: ReadonlyMap<string, readonly RoleNode[]>,
): Promise<EffectivePermission[]> {
  const sourceOf = await presenterOf(db, role_ids);
  const details = await findPermissionDetails(db, [...sources.keys()]);
  return details.sort(byName).map(({ id, name, description, group_id, group_name }) => ({
    name,
    description,
    group: { id: group_id, name: group_name },
    ...(is_superuser ? { superuser: true } : {}),
    ...permissionAuthentication(graph, id),
    sources: (sources.get(id) ?? []).map(sourceOf),
  }));
}

function permissionAuthentication(graph: Graph, id: string): Pick<EffectivePermission, 'authentication'> {
  const need = graph.permissions.needOf(id);
  return need ? { authentication: { required_acr: need.acr, max_auth_age: need.maxAgeSeconds } } : {};
}

// As `permissions` of a user is sorted.
const byName = (a: PermissionDetails, b: PermissionDetails): number => (a.name < b.name ? -1 : 1);
