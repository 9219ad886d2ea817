// The permissions with what the list shows beside them, and which of them match the filters of the address.

import type { Permission, PermissionGroup } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { pathTo } from '../../components/groups/tree.ts';
import { allPermissions, allRoles, type CountedRole } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { searchFor } from '../../text-search.ts';

const route = getRouteApi('/permissions');

/** A permission with what the list shows beside it. */
export type ListedPermission = Permission & { usedBy: readonly CountedRole[] | null; isBuiltin: boolean };

export type PermissionList = {
  all: readonly ListedPermission[] | undefined;
  unusedIds: ReadonlySet<string> | null;
  error: unknown;
  retry: () => void;
};

/** Reads all permissions, which of them are built-in, and which roles have them. */
export function usePermissionList(): PermissionList {
  const { can } = useMe();
  const search = route.useSearch();
  const all = useQuery(allPermissions());
  const builtin = useQuery(allPermissions({ is_builtin: true }));
  const unused = useQuery({ ...allPermissions({ roles: 'none' }), enabled: search.roles === 'none' });
  const roles = useQuery({ ...allRoles, enabled: can('role.read') });
  const rows = useMemo(() => {
    if (!all.data || !builtin.data) return undefined;
    const builtinIds = new Set(builtin.data.map(({ id }) => id));
    const usedBy = new Map<string, CountedRole[]>();
    for (const role of roles.data ?? [])
      for (const id of role.permission_ids) usedBy.set(id, [...(usedBy.get(id) ?? []), role]);
    return all.data.map((one) => ({
      ...one,
      isBuiltin: builtinIds.has(one.id),
      usedBy: roles.data ? (usedBy.get(one.id) ?? []) : null,
    }));
  }, [all.data, builtin.data, roles.data]);
  return {
    all: rows,
    unusedIds: unused.data ? new Set(unused.data.map(({ id }) => id)) : null,
    error: all.error ?? builtin.error ?? unused.error ?? roles.error,
    retry: () => {
      for (const one of [all, builtin, roles]) if (one.error) void one.refetch();
      if (unused.error) void unused.refetch();
    },
  };
}

const groupsOf = ({ groups }: PermissionGroup): readonly PermissionGroup[] => groups;

const idsIn = (group: PermissionGroup): string[] => [group.id, ...group.groups.flatMap(idsIn)];

/** Returns the permissions of the chosen group and the groups below it that match the filters. */
export function useShown(
  { all, unusedIds }: PermissionList,
  groups: readonly PermissionGroup[],
): readonly ListedPermission[] | undefined {
  const { q = '', group, roles, is_builtin } = route.useSearch();
  return useMemo(() => {
    if (!all || (roles === 'none' && !unusedIds)) return undefined;
    const chosen = group === undefined ? undefined : pathTo(groups, group, groupsOf).at(-1);
    const ids = group === undefined ? null : new Set(chosen ? idsIn(chosen) : [group]);
    const isFound = searchFor(q);
    return all.filter(
      (one) =>
        (ids === null || ids.has(one.group_id)) &&
        (roles !== 'none' || unusedIds?.has(one.id)) &&
        (is_builtin === undefined || one.isBuiltin === is_builtin) &&
        isFound(`${one.name}\n${one.description}`),
    );
  }, [all, unusedIds, groups, q, group, roles, is_builtin]);
}
