// The permissions of the chosen group, with their filters and pages.
import type { PermissionGroup } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo } from 'react';
import { Pager } from '../../components/lists/Pager.tsx';
import { Empty, ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { type Column, DataTable } from '../../components/table/DataTable.tsx';
import { Tag } from '../../components/text/badges.tsx';
import { preferredSize } from '../../page-size.ts';
import { t } from '../../text.ts';
import { type PermissionList as Listed, type ListedPermission, useShown } from './permission-list.ts';

const route = getRouteApi('/permissions');

type Props = {
  list: Listed;
  groups: readonly PermissionGroup[];
  onCreate: ((open: boolean) => void) | null;
};

export function PermissionList({ list, groups, onCreate }: Props): ReactElement {
  const navigate = route.useNavigate();
  const search = route.useSearch();
  const { q = '', page = 1, size = preferredSize() } = search;
  const { title, columns } = useMemo(columnsOf, []);
  const rows = useShown(list, groups);
  const isFiltered = q !== '' || search.roles !== undefined || search.is_builtin !== undefined;
  return (
    <div className="permission-list">
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
          if (count > 0) return t.permissions.roles(count);
          const system = usedBy.map((role) => role.name).join(', ');
          return (
            <span className="muted">{system ? t.permissions.onlyRole(system) : t.permissions.noRole}</span>
          );
        },
      },
    ],
  };
}
