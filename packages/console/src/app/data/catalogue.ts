// All roles, permissions and groups, for the pages that show them at once: the matrix, trees, comparisons.
// It must not be used where a list of pages is enough.
import { versionIn } from '@castellan/contract/etags';
import type {
  ApiResource,
  Permission,
  PermissionGroup,
  Role,
  RoleGroup,
  SummarizedRole,
} from '@castellan/sdk';
import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { callInQuery, type ReadState, reading, readingVersioned } from './api.ts';
import { isCode } from './errors.ts';
import { useCan } from './me.tsx';

const MOST_PER_PAGE = 100;

type PageOf<T> = { data: T[]; pagination: { pages: number } };

/** Reads the first page, then all others at the same time. */
async function allPages<T>(
  read: (query: { page: number; size: number }) => Promise<PageOf<T>>,
): Promise<T[]> {
  const first = await read({ page: 1, size: MOST_PER_PAGE });
  const others = Array.from({ length: Math.max(0, first.pagination.pages - 1) }, (_, index) =>
    read({ page: index + 2, size: MOST_PER_PAGE }),
  );
  return [first, ...(await Promise.all(others))].flatMap(({ data }) => data);
}

/** A role as the pages about roles show it. */
export type CountedRole = SummarizedRole & { holders: number; permission_ids: readonly string[] };

/** With the records of its permissions. */
export type FullRole = Role & CountedRole;

export const fullRole = (role: Role): FullRole => ({
  ...role,
  holders: role.holders ?? 0,
  version: role.version ?? 0,
  permission_ids: role.permissions.map(({ id }) => id),
  permission_count: role.permissions.length,
});

export const countedRoles = (roles: readonly SummarizedRole[]): CountedRole[] =>
  roles.map((role) => ({ ...role, holders: role.holders ?? 0, permission_ids: role.permission_ids ?? [] }));

/** All roles with the ids of their permissions, sorted by name. */
export const allRoles: UseQueryOptions<SummarizedRole[], Error, CountedRole[]> = {
  queryKey: ['GET /api/v1/roles/summaries', 'counted'],
  queryFn: (context) =>
    allPages((page) => {
      const query = { ...page, include: ['permission_ids' as const, 'holders' as const] };
      return callInQuery(context, 'GET /api/v1/roles/summaries', { query });
    }),
  select: countedRoles,
};

/** All roles by name, without counts of holders. */
export const allRoleNames: UseQueryOptions<SummarizedRole[]> = {
  queryKey: ['GET /api/v1/roles/summaries', 'names'],
  queryFn: (context) =>
    allPages((page) => callInQuery(context, 'GET /api/v1/roles/summaries', { query: page })),
};

/** Reads one role. `role` is undefined until it is read, and the same object until it changes. */
export function useFullRole(id: string) {
  const query = useQuery(readingVersioned('GET /api/v1/roles/{role_id}', { path: { role_id: id } }));
  const role = useMemo(
    (): FullRole | undefined =>
      query.data && { ...fullRole(query.data.result.data), version: versionIn(query.data.etag) ?? 0 },
    [query.data],
  );
  return { role, query, isMissing: isCode(query.error, 'role_not_found', 'validation_failed') };
}

/** For those who must name permissions that they may not list. Many times larger than `allRoles`. */
export const fullRoles = {
  ...reading('GET /api/v1/roles/list', { query: { include: 'holders' } }),
  select: ({ data }: { data: Role[] }): FullRole[] => data.map(fullRole),
};

type PermissionFilter = { is_builtin?: boolean; roles?: 'none' };

/** Returns the options of a query for all permissions that match, sorted by name. */
export const allPermissions = (filter: PermissionFilter = {}): UseQueryOptions<Permission[]> => ({
  queryKey: ['GET /api/v1/permissions', 'all', filter],
  queryFn: (context) =>
    allPages((page) => callInQuery(context, 'GET /api/v1/permissions', { query: { ...page, ...filter } })),
});

export const allPermissionGroups: UseQueryOptions<PermissionGroup[]> = {
  queryKey: ['GET /api/v1/permission-groups', 'all'],
  queryFn: (context) =>
    allPages((page) => callInQuery(context, 'GET /api/v1/permission-groups', { query: page })),
};

/** All API resources, sorted by name. */
export const allApiResources: UseQueryOptions<ApiResource[]> = {
  queryKey: ['GET /api/v1/api-resources', 'all'],
  queryFn: (context) =>
    allPages((page) => callInQuery(context, 'GET /api/v1/api-resources', { query: page })),
};

export const allRoleGroups: UseQueryOptions<RoleGroup[]> = {
  queryKey: ['GET /api/v1/role-groups', 'all'],
  queryFn: (context) => allPages((page) => callInQuery(context, 'GET /api/v1/role-groups', { query: page })),
};

export type RoleGroupPaths = ReadonlyMap<string, readonly string[]>;

/**
 * Returns the path of every role group from its root, by id, and the query that reads them. `paths` is undefined while they are
 * read, and empty for people who may not read them, or if reading them failed.
 */
export function useRoleGroupPaths(): { paths: RoleGroupPaths | undefined; read: ReadState } {
  const groups = useQuery({ ...allRoleGroups, enabled: useCan('role_group.read') });
  if (groups.isLoading) return { paths: undefined, read: groups };
  const paths = new Map<string, readonly string[]>();
  const walk = (nodes: readonly RoleGroup[], above: readonly string[]): void => {
    for (const { id, name, children } of nodes) {
      const path = [...above, name];
      paths.set(id, path);
      walk(children, path);
    }
  };
  walk(groups.data ?? [], []);
  return { paths, read: groups };
}
