// The page Permissions: groups as a tree at the left, the permissions of the chosen group beside it.
import type { Permission, PermissionGroup } from '@castellan/sdk';
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconKey, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useMemo, useState } from 'react';
import { Tag } from '../../components/badges.tsx';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { useTypedText } from '../../components/debounce.ts';
import { pathTo } from '../../components/groups/tree.ts';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pager, preferredSize } from '../../components/Pager.tsx';
import { ReasonButton } from '../../components/ReasonButton.tsx';
import { Empty, ErrorAlert, NoMatch } from '../../components/states.tsx';
import { allPermissionGroups, allPermissions, allRoles, type CountedRole } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { GroupTree } from './GroupTree.tsx';
import './permissions.css';

const route = getRouteApi('/permissions');
const PermissionDialog = lazy(() =>
  import('./PermissionDialog.tsx').then((module) => ({ default: module.PermissionDialog })),
);
const PermissionPane = lazy(() =>
  import('./PermissionPane.tsx').then((module) => ({ default: module.PermissionPane })),
);

const groupsOf = ({ groups }: PermissionGroup): readonly PermissionGroup[] => groups;

/** A permission with what the list shows beside it. */
export type ListedPermission = Permission & { usedBy: readonly CountedRole[] | null; isBuiltin: boolean };

const idsIn = (group: PermissionGroup): string[] => [group.id, ...group.groups.flatMap(idsIn)];

export function Permissions(): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const [isCreating, setIsCreating] = useState(false);
  const groups = useQuery({ ...allPermissionGroups, enabled: can('permission_group.read') });
  const list = usePermissionList();
  const createReason = can('permission.create') ? null : t.common.forbidden.reason('permission.create');
  const open = list.all?.find(({ id }) => id === search.permission);
  const mayGroup = groups.data !== undefined;
  return (
    <>
      <PageHeader
        title={t.permissions.title}
        note={list.all && t.permissions.count(list.all.length)}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={createReason}
            onClick={() => setIsCreating(true)}
          >
            {t.permissions.newPermission}
          </ReasonButton>
        }
      />
      {groups.error && <ErrorAlert error={groups.error} onRetry={() => void groups.refetch()} />}
      <div className={mayGroup ? 'groups-layout permissions-layout' : undefined}>
        {groups.data && <GroupTree groups={groups.data} />}
        <List
          list={list}
          groups={groups.data ?? []}
          onCreate={createReason === null ? setIsCreating : null}
        />
      </div>
      <Suspense>
        {open && (
          <PermissionPane
            permission={open}
            onClose={() => navigate({ search: ({ permission: _permission, ...now }) => now })}
          />
        )}
        {isCreating && (
          <PermissionDialog
            groupId={search.group}
            onClose={() => setIsCreating(false)}
            onCreated={({ id }) => {
              setIsCreating(false);
              void navigate({ search: (now) => ({ ...now, permission: id }) });
            }}
          />
        )}
      </Suspense>
    </>
  );
}

type PermissionList = {
  all: readonly ListedPermission[] | undefined;
  unusedIds: ReadonlySet<string> | null;
  error: unknown;
  retry: () => void;
};

/** Reads all permissions, which of them are built-in, and which roles have them. */
function usePermissionList(): PermissionList {
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
      for (const { id } of role.permissions) usedBy.set(id, [...(usedBy.get(id) ?? []), role]);
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

type ListProps = {
  list: PermissionList;
  groups: readonly PermissionGroup[];
  onCreate: ((open: boolean) => void) | null;
};

function List({ list, groups, onCreate }: ListProps): ReactElement {
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const { q = '', page = 1, size = preferredSize() } = search;
  const [typed, setTyped] = useTypedText(
    q,
    (text) =>
      void navigate({ search: (now) => ({ ...now, q: text || undefined, page: undefined }), replace: true }),
  );
  const { title, columns } = useMemo(columnsOf, []);
  const rows = useShown(list, groups);
  const isFiltered = q !== '' || search.roles !== undefined || search.is_builtin !== undefined;
  const filter = search.roles
    ? 'unused'
    : search.is_builtin === undefined
      ? 'all'
      : search.is_builtin
        ? 'builtin'
        : 'own';
  return (
    <div className="permission-list">
      <div className="filters">
        <TextInput
          className="grow"
          type="search"
          aria-label={t.permissions.search}
          placeholder={t.permissions.search}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <NativeSelect
          aria-label={t.permissions.filter}
          value={filter}
          onChange={({ currentTarget: { value } }) =>
            void navigate({
              search: (now) => ({
                ...now,
                page: undefined,
                roles: value === 'unused' ? 'none' : undefined,
                is_builtin: value === 'builtin' ? true : value === 'own' ? false : undefined,
              }),
              replace: true,
            })
          }
          data={[
            { value: 'all', label: t.permissions.filters.all },
            { value: 'unused', label: t.permissions.filters.unused },
            { value: 'builtin', label: t.permissions.filters.builtin },
            { value: 'own', label: t.permissions.filters.own },
          ]}
        />
      </div>
      {Boolean(list.error) && <ErrorAlert error={list.error} onRetry={list.retry} />}
      {rows?.length === 0 && isFiltered && (
        <NoMatch
          onClear={() =>
            void navigate({
              search: ({ q: _q, roles: _roles, is_builtin: _builtin, page: _page, ...now }) => now,
              replace: true,
            })
          }
        />
      )}
      {rows?.length === 0 && !isFiltered && (
        <Empty
          icon={<IconKey size={32} aria-hidden />}
          title={t.permissions.emptyTitle}
          text={t.permissions.emptyText}
          action={onCreate && <Button onClick={() => onCreate(true)}>{t.permissions.newPermission}</Button>}
        />
      )}
      {(rows === undefined ? !list.error : rows.length > 0) && (
        <DataTable
          label={t.permissions.title}
          rows={rows?.slice((page - 1) * size, page * size)}
          title={title}
          columns={columns}
          nameOf={({ name }) => name}
          activeId={search.permission}
          onOpen={(id) => void navigate({ search: (now) => ({ ...now, permission: id }) })}
        />
      )}
      {rows && rows.length > 0 && (
        <Pager
          page={page}
          size={size}
          total={rows.length}
          onPage={(next) => void navigate({ search: (now) => ({ ...now, page: next }) })}
          onSize={(next) => void navigate({ search: (now) => ({ ...now, size: next, page: undefined }) })}
        />
      )}
    </div>
  );
}

/** Returns the permissions of the chosen group and the groups below it that match the filters. */
function useShown(
  { all, unusedIds }: PermissionList,
  groups: readonly PermissionGroup[],
): readonly ListedPermission[] | undefined {
  const { q = '', group, roles, is_builtin } = route.useSearch();
  return useMemo(() => {
    if (!all || (roles === 'none' && !unusedIds)) return undefined;
    const chosen = group === undefined ? undefined : pathTo(groups, group, groupsOf).at(-1);
    const ids = group === undefined ? null : new Set(chosen ? idsIn(chosen) : [group]);
    const wanted = q.trim().toLowerCase();
    return all.filter(
      (one) =>
        (ids === null || ids.has(one.group_id)) &&
        (roles !== 'none' || unusedIds?.has(one.id)) &&
        (is_builtin === undefined || one.isBuiltin === is_builtin) &&
        `${one.name}\n${one.description}`.toLowerCase().includes(wanted),
    );
  }, [all, unusedIds, groups, q, group, roles, is_builtin]);
}

function columnsOf(): { title: Column<ListedPermission>; columns: Column<ListedPermission>[] } {
  return {
    title: {
      key: 'name',
      header: t.permissions.name,
      cell: ({ name, description, isBuiltin }) => (
        <span className="role-title">
          <span className="row-name">
            <span className="mono">{name}</span> {isBuiltin && <Tag>{t.permissions.builtin}</Tag>}
          </span>
          {description && <span className="row-note">{description}</span>}
        </span>
      ),
    },
    columns: [
      {
        key: 'usedBy',
        header: t.permissions.usedBy,
        align: 'end',
        cell: ({ usedBy }) => {
          if (usedBy === null) return '–';
          // System roles have every permission.
          const count = usedBy.filter((role) => !role.is_system).length;
          return count === 0 ? (
            <span className="muted">{t.permissions.noRole}</span>
          ) : (
            t.permissions.roles(count)
          );
        },
      },
    ],
  };
}
