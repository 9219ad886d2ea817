// The list of roles, with its filters and pages, and the selection of two roles to compare.
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconArrowsLeftRight, IconCopy, IconSearch, IconShield, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { useTypedText } from '../../components/lists/debounce.ts';
import { FilterFold } from '../../components/lists/FilterFold.tsx';
import { Pager } from '../../components/lists/Pager.tsx';
import { Empty, NoMatch, ReadErrors } from '../../components/page/states.tsx';
import { DataTable, type RowAction } from '../../components/table/DataTable.tsx';
import { keepingRows, reading } from '../../data/api.ts';
import { type CountedRole, countedRoles, useRoleGroupPaths } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { preferredSize } from '../../page-size.ts';
import { t } from '../../text.ts';
import { useRoleColumns } from './role-columns.tsx';

const route = getRouteApi('/roles');

/** Characters that are left of a pattern: `*` stands for any text. */
const patternOf = (q: string): string => `*${q.trim().slice(0, 200)}*`;

export type RoleListDialog = { kind: 'create' } | { kind: 'clone' | 'delete'; role: CountedRole };

type Props = { onDialog: (dialog: RoleListDialog) => void; mayCreate: boolean };

export function RoleList({ onDialog, mayCreate }: Props): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { q = '', page = 1, size = preferredSize(), holders, permissions } = route.useSearch();
  const query = {
    page,
    size,
    include: ['holders' as const, 'permission_ids' as const],
    ...(q.trim() === '' ? {} : { name_pattern: patternOf(q) }),
    ...(holders ? { holders } : {}),
    ...(permissions ? { permissions } : {}),
  };
  const list = useQuery({ ...reading('GET /api/v1/roles/summaries', { query }), ...keepingRows });
  const [typed, setTyped] = useTypedText(
    q,
    (text) =>
      void navigate({ search: (now) => ({ ...now, q: text || undefined, page: undefined }), replace: true }),
  );
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const { paths, read: readGroups } = useRoleGroupPaths();
  // A path may take two lines, so the rows wait for it.
  const hasPaths = paths !== undefined;
  const rows = useMemo(
    () => (hasPaths ? list.data && countedRoles(list.data.data) : undefined),
    [list.data, hasPaths],
  );
  const { title, columns, read: readAlike } = useRoleColumns(rows, paths);
  const isFiltered = q !== '' || holders !== undefined || permissions !== undefined;
  const clear = (): void => void navigate({ search: {}, replace: true });
  const chosen = [...selection];
  const actionsOf = (role: CountedRole): RowAction[] => [
    {
      label: t.roles.clone,
      icon: <IconCopy size={16} aria-hidden />,
      disabledReason: mayCreate ? null : t.common.forbidden.reason('role.create'),
      run: () => onDialog({ kind: 'clone', role }),
    },
    {
      label: t.common.actions.delete,
      icon: <IconTrash size={16} aria-hidden />,
      isDangerous: true,
      disabledReason: role.is_system
        ? t.roles.page.systemDelete
        : can('role.delete')
          ? null
          : t.common.forbidden.reason('role.delete'),
      run: () => onDialog({ kind: 'delete', role }),
    },
  ];
  return (
    <>
      <div className="filters">
        <TextInput
          className="grow"
          type="search"
          aria-label={t.roles.search}
          placeholder={t.roles.search}
          leftSection={<IconSearch size={16} aria-hidden />}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <FilterFold count={Number(holders !== undefined || permissions !== undefined)}>
          <NativeSelect
            aria-label={t.roles.filters.label}
            value={holders ? 'holders' : permissions ? 'permissions' : ''}
            onChange={({ currentTarget: { value } }) =>
              void navigate({
                search: (now) => ({
                  ...now,
                  page: undefined,
                  holders: value === 'holders' ? 'none' : undefined,
                  permissions: value === 'permissions' ? 'none' : undefined,
                }),
                replace: true,
              })
            }
            data={[
              { value: '', label: t.roles.filters.all },
              { value: 'holders', label: t.roles.filters.noHolders },
              { value: 'permissions', label: t.roles.filters.noPermissions },
            ]}
          />
        </FilterFold>
        <ReasonButton
          variant="default"
          leftSection={<IconArrowsLeftRight size={16} aria-hidden />}
          reason={chosen.length === 2 ? null : t.roles.compare.pick}
          onClick={() => void navigate({ search: (now) => ({ ...now, compare: chosen.join(',') }) })}
        >
          {t.roles.compare.action}
        </ReasonButton>
      </div>
      <ReadErrors of={[list, readGroups, readAlike]} />
      {rows?.length === 0 && !isFiltered && (
        <Empty
          icon={<IconShield size={32} aria-hidden />}
          title={t.roles.emptyTitle}
          text={t.roles.emptyText}
          action={
            mayCreate && <Button onClick={() => onDialog({ kind: 'create' })}>{t.roles.newRole}</Button>
          }
        />
      )}
      {rows?.length === 0 && isFiltered && <NoMatch onClear={clear} />}
      {(rows === undefined ? !list.error : rows.length > 0) && (
        <DataTable
          label={t.roles.title}
          rows={rows}
          title={title}
          columns={columns}
          nameOf={({ name }) => name}
          selection={selection}
          onSelect={setSelection}
          onOpen={(id) => void navigate({ to: '/roles/$id', params: { id } })}
          actionsOf={actionsOf}
          isStale={list.isPlaceholderData}
        />
      )}
      {rows && list.data && list.data.pagination.total > 0 && (
        <Pager
          page={page}
          size={size}
          total={list.data.pagination.total}
          onPage={(next) => void navigate({ search: (now) => ({ ...now, page: next }) })}
          onSize={(next) => void navigate({ search: (now) => ({ ...now, size: next, page: undefined }) })}
        />
      )}
    </>
  );
}
