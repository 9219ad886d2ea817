// The page Roles: the list, and the comparison of two roles.
import { Button, NativeSelect, TextInput } from '@mantine/core';
import {
  IconArrowsLeftRight,
  IconCopy,
  IconPlus,
  IconSearch,
  IconShield,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { Tag } from '../../components/badges.tsx';
import { type Column, DataTable, type RowAction } from '../../components/DataTable.tsx';
import { useTypedText } from '../../components/debounce.ts';
import { PageHeader } from '../../components/PageHeader.tsx';
import { Pager, preferredSize } from '../../components/Pager.tsx';
import { ReasonButton } from '../../components/ReasonButton.tsx';
import { Empty, ErrorAlert, NoMatch } from '../../components/states.tsx';
import { keepingRows, reading } from '../../data/api.ts';
import { allRoles, type CountedRole, countedRoles, useRoleGroupPaths } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { usePageActions } from '../../shell/page-actions.ts';
import { t } from '../../text.ts';
import { Compare } from './Compare.tsx';
import { DeleteRoleDialog } from './DeleteRoleDialog.tsx';
import { sameSets } from './duplicates.ts';
import { RoleDialog } from './RoleDialog.tsx';
import './roles.css';

const route = getRouteApi('/roles');

/** Characters that are left of a pattern: `*` stands for any text. */
const patternOf = (q: string): string => `*${q.trim().slice(0, 200)}*`;

type Dialog = { kind: 'create' } | { kind: 'clone' | 'delete'; role: CountedRole };

export function Roles(): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { compare } = route.useSearch();
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const mayCreate = can('role.create');
  const [one, other] = compare?.split(',') ?? [];
  usePageActions(mayCreate ? [{ label: t.roles.newRole, run: () => setDialog({ kind: 'create' }) }] : []);
  return (
    <>
      <PageHeader
        title={t.roles.title}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={mayCreate ? null : t.common.forbidden.reason('role.create')}
            onClick={() => setDialog({ kind: 'create' })}
          >
            {t.roles.newRole}
          </ReasonButton>
        }
      />
      {one && other ? (
        <Compare one={one} other={other} />
      ) : (
        <List onDialog={setDialog} mayCreate={mayCreate} />
      )}
      {dialog && dialog.kind !== 'delete' && (
        <RoleDialog
          {...(dialog.kind === 'clone' ? { original: dialog.role } : {})}
          onClose={() => setDialog(null)}
          onCreated={({ id }) => void navigate({ to: '/roles/$id', params: { id } })}
        />
      )}
      {dialog?.kind === 'delete' && (
        <DeleteRoleDialog
          role={dialog.role}
          onClose={() => setDialog(null)}
          onDeleted={() => setDialog(null)}
        />
      )}
    </>
  );
}

type ListProps = { onDialog: (dialog: Dialog) => void; mayCreate: boolean };

function List({ onDialog, mayCreate }: ListProps): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { q = '', page = 1, size = preferredSize(), holders, permissions } = route.useSearch();
  const query = {
    page,
    size,
    include: 'holders' as const,
    ...(q.trim() === '' ? {} : { name_pattern: patternOf(q) }),
    ...(holders ? { holders } : {}),
    ...(permissions ? { permissions } : {}),
  };
  const list = useQuery({ ...reading('GET /api/v1/roles', { query }), ...keepingRows });
  const [typed, setTyped] = useTypedText(
    q,
    (text) =>
      void navigate({ search: (now) => ({ ...now, q: text || undefined, page: undefined }), replace: true }),
  );
  const [selection, setSelection] = useState<ReadonlySet<string>>(new Set());
  const rows = useMemo(() => list.data && countedRoles(list.data.data), [list.data]);
  const { title, columns } = useColumns(rows);
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
        <ReasonButton
          variant="default"
          leftSection={<IconArrowsLeftRight size={16} aria-hidden />}
          reason={chosen.length === 2 ? null : t.roles.compare.pick}
          onClick={() => void navigate({ search: (now) => ({ ...now, compare: chosen.join(',') }) })}
        >
          {t.roles.compare.action}
        </ReasonButton>
      </div>
      {list.error && <ErrorAlert error={list.error} onRetry={() => void list.refetch()} />}
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
      {list.data && list.data.pagination.total > 0 && (
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

function useColumns(rows: readonly CountedRole[] | undefined): {
  title: Column<CountedRole>;
  columns: Column<CountedRole>[];
} {
  const paths = useRoleGroupPaths();
  // Not needed for the list itself: it says later which roles are alike.
  const all = useQuery({ ...allRoles, enabled: rows !== undefined });
  const alike = useMemo(() => sameSets(all.data ?? []), [all.data]);
  const pathsKey = [...paths.values()].join('|');
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
          <span className="muted">{(role_group_id && paths.get(role_group_id)?.join(' / ')) || '–'}</span>
        ),
      },
      {
        key: 'permissions',
        header: t.roles.permissions,
        align: 'end',
        cell: ({ permissions }) => formatNumber(permissions.length),
      },
      { key: 'holders', header: t.roles.holders, align: 'end', cell: ({ holders }) => formatNumber(holders) },
    ],
    [pathsKey],
  );
  return { title, columns };
}
