// The columns of the list of roles.

import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { formatNumber } from '../../../common/format.ts';
import type { Column } from '../../components/table/DataTable.tsx';
import { Tag } from '../../components/text/badges.tsx';
import type { ReadState } from '../../data/api.ts';
import { allRoles, type CountedRole, type RoleGroupPaths } from '../../data/catalogue.ts';
import { t } from '../../text.ts';
import { sameSets } from './duplicates.ts';

export function useRoleColumns(
  rows: readonly CountedRole[] | undefined,
  paths: RoleGroupPaths | undefined,
): {
  title: Column<CountedRole>;
  columns: Column<CountedRole>[];
  /** Reads which roles are alike. */
  read: ReadState;
} {
  // Not needed for the list itself: it says later which roles are alike.
  const all = useQuery({ ...allRoles, enabled: rows !== undefined });
  const alike = useMemo(() => sameSets(all.data ?? []), [all.data]);
  const pathsKey = [...(paths?.values() ?? [])].join('|');
  const title = useMemo(
    (): Column<CountedRole> => ({
      key: 'name',
      header: t.roles.name,
      cell: ({ id, name, description, is_system }) => (
        <span className="role-title">
          <span className="row-name">
            {name} {is_system && <Tag>{t.common.status.system}</Tag>}
          </span>
          {description && <span className="row-note">{description}</span>}
          {alike.has(id) && (
            <span className="row-note role-alike">
              {t.roles.sameSet((alike.get(id) ?? []).slice(0, 3).join(', '))}
            </span>
          )}
        </span>
      ),
    }),
    [alike],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the paths are made again at each render
  const columns = useMemo(
    (): Column<CountedRole>[] => [
      {
        key: 'group',
        header: t.roles.group,
        cell: ({ role_group_id }) => (
          <span className="muted">{(role_group_id && paths?.get(role_group_id)?.join(' / ')) || '–'}</span>
        ),
      },
      {
        key: 'permissions',
        header: t.roles.permissions,
        align: 'end',
        cell: ({ permission_count }) => formatNumber(permission_count),
      },
      { key: 'holders', header: t.roles.holders, align: 'end', cell: ({ holders }) => formatNumber(holders) },
    ],
    [pathsKey],
  );
  return { title, columns, read: all };
}
