// All roles, permissions and groups, for the pages that show them at once: the matrix, trees, comparisons.
// It must not be used where a list of pages is enough.
import type { Permission, PermissionGroup, Role, RoleGroup } from '@castellan/sdk';
import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { call, reading } from './api.ts';
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

/** A role of the list, with what the list adds on request. */
export type CountedRole = Role & { holders: number; version: number };

const counted = (role: Role): CountedRole => ({
  ...role,
  holders: role.holders ?? 0,
  version: role.version ?? 0,
});

export const allRoles = {
  ...reading('GET /api/v1/roles/list', { query: { include: 'holders' } }),
  select: ({ data }: { data: Role[] }): CountedRole[] => data.map(counted),
};

export const countedRoles = (roles: readonly Role[]): CountedRole[] => roles.map(counted);

type PermissionFilter = { is_builtin?: boolean; roles?: 'none' };

/** Returns the options of a query for all permissions that match, sorted by name. */
export const allPermissions = (filter: PermissionFilter = {}): UseQueryOptions<Permission[]> => ({
  queryKey: ['GET /api/v1/permissions', 'all', filter],
  queryFn: ({ signal }) =>
    allPages((page) => call('GET /api/v1/permissions', { query: { ...page, ...filter }, signal })),
});

export const allPermissionGroups: UseQueryOptions<PermissionGroup[]> = {
  queryKey: ['GET /api/v1/permission-groups', 'all'],
  queryFn: ({ signal }) => allPages((page) => call('GET /api/v1/permission-groups', { query: page, signal })),
};

export const allRoleGroups: UseQueryOptions<RoleGroup[]> = {
  queryKey: ['GET /api/v1/role-groups', 'all'],
  queryFn: ({ signal }) => allPages((page) => call('GET /api/v1/role-groups', { query: page, signal })),
};

/** Returns the path of every role group from its root, by id; empty for people who may not read role groups. */
export function useRoleGroupPaths(): ReadonlyMap<string, readonly string[]> {
  const groups = useQuery({ ...allRoleGroups, enabled: useCan('role_group.read') });
  const paths = new Map<string, readonly string[]>();
  const walk = (nodes: readonly RoleGroup[], above: readonly string[]): void => {
    for (const { id, name, children } of nodes) {
      const path = [...above, name];
      paths.set(id, path);
      walk(children, path);
    }
  };
  walk(groups.data ?? [], []);
  return paths;
}
