// The page Users: list, filters, selection, and the pane of one user beside it.
import type { ListedUser } from '@castellan/sdk';
import { Button, Menu } from '@mantine/core';
import { IconChevronDown, IconMail, IconPlus, IconUsers } from '@tabler/icons-react';
import { Link, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useDeferredValue, useMemo, useState } from 'react';
import { ReasonItem } from '../../components/forms/ReasonItem.tsx';
import { useSingleKeys } from '../../components/keyboard/keys.ts';
import { Pager } from '../../components/lists/Pager.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Empty, ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { DataTable } from '../../components/table/DataTable.tsx';
import { useKeptRows } from '../../data/api.ts';
import { nameOf, useMe } from '../../data/me.tsx';
import { t, withLaterTexts } from '../../text.ts';
import { type BulkAction, BulkBar } from './bulk/BulkBar.tsx';
import { useSelection } from './bulk/selection.ts';
import { useColumns } from './columns.tsx';
import { useUserPage } from './data.ts';
import { FilterChips, Filters } from './Filters.tsx';
import { useRowActions } from './row-actions.tsx';
import { filterOf, hasFilters, noFilters, queryOf, useUserSearch } from './search.ts';
import './users.css';

const BulkDialog = lazy(() =>
  withLaterTexts(import('./bulk/BulkDialog.tsx')).then((file) => ({ default: file.BulkDialog })),
);
const ExportDialog = lazy(() =>
  import('./dialogs/ExportDialog.tsx').then((file) => ({ default: file.ExportDialog })),
);
const ImportDialog = lazy(() =>
  withLaterTexts(import('./import/ImportDialog.tsx')).then((file) => ({ default: file.ImportDialog })),
);

const UserPane = lazy(() => import('./pane/UserPane.tsx').then((file) => ({ default: file.UserPane })));

const InviteDialog = lazy(() =>
  withLaterTexts(import('./invite/InviteDialog.tsx')).then((file) => ({ default: file.InviteDialog })),
);

type OpenDialog = BulkAction | 'exportAll' | 'import' | 'invite' | null;

export function Users(): ReactElement {
  const { user: self, can } = useMe();
  const { search, filter, go } = useUserSearch();
  const query = queryOf(search);
  const list = useUserPage(query);
  const kept = useKeptRows(list);
  const rows = kept?.data.items;
  const total = kept?.data.total ?? 0;
  const selection = useSelection(rows, JSON.stringify(filterOf(search)));
  const [dialog, setDialog] = useState<OpenDialog>(null);
  // The row is marked at once; the pane follows in a render that input can interrupt.
  const paneUser = useDeferredValue(search.user);
  const { title, columns, shown, toggle } = useColumns(self.id, paneUser !== undefined);
  const actions = useRowActions((user, tab) => go({ user, tab }));
  const open = (user: string): void => go({ user });
  useRowKeys(rows, search.user, open);
  const navigate = useNavigate();
  const opened = rows?.find(({ id }) => id === search.user);
  usePageActions([
    ...(opened ? actions.of(opened) : [])
      .filter(({ disabledReason }) => !disabledReason)
      .map(({ label, run }) => ({ label: `${label} · ${opened ? nameOf(opened) : ''}`, run })),
    ...(can('users.create')
      ? [
          { label: t.users.create, run: () => void navigate({ to: '/users/new' }) },
          { label: t.users.invite, run: () => setDialog('invite') },
        ]
      : []),
    { label: t.common.actions.exportCsv, run: () => setDialog('exportAll') },
  ]);
  // A selected row must not render the filters and the pane again: they are most of the page's cost.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the functions use nothing else that changes
  const filters = useMemo(
    () => <Filters search={search} onChange={filter} shown={shown} onToggle={toggle} />,
    [search, shown],
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: `go` uses nothing that changes
  const pane = useMemo(
    () =>
      paneUser && (
        <UserPane
          key={paneUser}
          id={paneUser}
          tab={search.tab ?? 'profile'}
          onTab={(tab) => go({ tab })}
          onClose={() => go({ user: undefined, tab: undefined })}
        />
      ),
    [paneUser, search.tab],
  );
  const isSelecting = can('users.update') || can('access.change');
  const isEmpty = rows?.length === 0;
  return (
    <>
      <PageHeader
        title={t.users.title}
        note={kept && !kept.data.total_is_estimate ? t.users.count(total, hasFilters(search)) : null}
        actions={
          <HeaderActions
            onExport={() => setDialog('exportAll')}
            onImport={() => setDialog('import')}
            onInvite={() => setDialog('invite')}
          />
        }
      />
      {filters}
      <FilterChips search={search} onChange={filter} />
      {list.error && <ErrorAlert error={list.error} onRetry={() => void list.refetch()} />}
      {isEmpty && hasFilters(search) && <NoMatch onClear={() => filter(noFilters)} />}
      {isEmpty && !hasFilters(search) && query.page > 1 && (
        <Empty
          title={t.common.list.noMatch}
          action={
            <Button variant="default" onClick={() => filter({})}>
              {t.users.firstPage}
            </Button>
          }
        />
      )}
      {isEmpty && !hasFilters(search) && query.page === 1 && (
        <Empty icon={<IconUsers size={32} aria-hidden />} title={t.users.empty} action={<CreateButton />} />
      )}
      {!isEmpty && (rows || !list.error) && (
        <div className="users-list">
          <DataTable
            label={t.users.title}
            rows={rows}
            title={title}
            columns={columns}
            nameOf={nameOf}
            sort={query.sort}
            onSort={(sort) => filter({ sort: sortOf(sort) })}
            onOpen={open}
            activeId={search.user}
            actionsOf={actions.of}
            isStale={list.isPlaceholderData || list.data === undefined}
            {...(isSelecting ? { selection: selection.ids, onSelect: selection.select } : {})}
          />
        </div>
      )}
      {total > 0 && (
        <Pager
          page={query.page}
          size={query.size}
          total={total}
          isAtLeast={kept?.data.total_is_estimate === true}
          onPage={(page) => go({ page })}
          onSize={(size) => filter({ size })}
        />
      )}
      {selection.count > 0 && (
        <BulkBar selection={selection} total={total} onAction={setDialog} isOverlaid={dialog !== null} />
      )}
      <Suspense>{pane}</Suspense>
      {actions.dialog}
      <Suspense>
        {dialog === 'exportAll' && (
          <ExportDialog
            filter={filterOf(search)}
            shown={shown}
            total={total}
            onClose={() => setDialog(null)}
          />
        )}
        {dialog === 'import' && <ImportDialog onClose={() => setDialog(null)} />}
        {dialog === 'invite' && <InviteDialog onClose={() => setDialog(null)} />}
        {dialog !== null && dialog !== 'exportAll' && dialog !== 'import' && dialog !== 'invite' && (
          <BulkDialog
            action={dialog}
            selection={selection}
            filter={filterOf(search)}
            shown={shown}
            total={total}
            onClose={() => setDialog(null)}
          />
        )}
      </Suspense>
    </>
  );
}

const sorts = ['created_at', '-created_at', 'last_name', '-last_name', 'email', '-email'] as const;
const sortOf = (text: string) => sorts.find((one) => one === text);

function CreateButton(): ReactElement | null {
  const { can } = useMe();
  if (!can('users.create')) return <span className="muted">{t.common.forbidden.reason('users.create')}</span>;
  return (
    <Button component={Link} to="/users/new" leftSection={<IconPlus size={16} aria-hidden />}>
      {t.users.create}
    </Button>
  );
}

type HeaderProps = { onExport: () => void; onImport: () => void; onInvite: () => void };

function HeaderActions({ onExport, onImport, onInvite }: HeaderProps): ReactElement {
  const { can } = useMe();
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" rightSection={<IconChevronDown size={14} aria-hidden />}>
            {t.users.importExport}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={onExport}>{t.common.actions.exportCsv}</Menu.Item>
          <ReasonItem
            onClick={onImport}
            reason={can('users.create') ? null : t.common.forbidden.reason('users.create')}
          >
            {t.users.importCsv}
          </ReasonItem>
        </Menu.Dropdown>
      </Menu>
      {can('users.create') && (
        <Button variant="default" leftSection={<IconMail size={16} aria-hidden />} onClick={onInvite}>
          {t.users.invite}
        </Button>
      )}
      <CreateButton />
    </>
  );
}

/** `j` and `k` open the next and the previous row, from anywhere on the page. */
function useRowKeys(
  rows: readonly ListedUser[] | undefined,
  current: string | undefined,
  open: (id: string) => void,
): void {
  const openAt = (step: 1 | -1): boolean => {
    const at = rows?.findIndex(({ id }) => id === current) ?? -1;
    const next = rows?.[at === -1 ? 0 : at + step];
    if (!next) return false;
    open(next.id);
    document.querySelector<HTMLElement>(`[data-row="${next.id}"] [data-open]`)?.focus();
    return true;
  };
  useSingleKeys([{ keys: ['j', 'k'], does: 'nextUser', run: ({ key }) => openAt(key === 'j' ? 1 : -1) }]);
}
