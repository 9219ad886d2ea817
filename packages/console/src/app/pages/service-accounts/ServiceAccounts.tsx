// The list of service accounts, and the pane of one.
import type { ServiceAccount } from '@castellan/sdk';
import { Button, TextInput, Tooltip } from '@mantine/core';
import { IconPlugConnected, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { useTypedText } from '../../components/lists/debounce.ts';
import { Pager } from '../../components/lists/Pager.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { Empty, ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { type Column, DataTable } from '../../components/table/DataTable.tsx';
import { RoleChips, StatusBadge } from '../../components/text/badges.tsx';
import { PlainAgo, PlainDay } from '../../components/text/time.tsx';
import { keepingRows, reading } from '../../data/api.ts';
import { useCan } from '../../data/me.tsx';
import { preferredSize } from '../../page-size.ts';
import { t } from '../../text.ts';
import { AccountPane } from './AccountPane.tsx';
import './service-accounts.css';

const CreateDialog = lazy(() =>
  import('./CreateDialog.tsx').then((loaded) => ({ default: loaded.CreateDialog })),
);

const route = getRouteApi('/service-accounts');

const titleColumn = (): Column<ServiceAccount> => ({
  key: 'name',
  header: t.serviceAccounts.columns.name,
  cell: (account) => (
    <span className="row-text">
      <span className="row-name" data-raw>
        {account.name}
      </span>
      {account.description && (
        <span className="row-note" data-raw>
          {account.description}
        </span>
      )}
    </span>
  ),
});

const otherColumns = (): Column<ServiceAccount>[] => [
  {
    key: 'status',
    header: t.serviceAccounts.columns.status,
    cell: (account) => <StatusBadge status={account.is_active ? 'active' : 'inactive'} />,
  },
  {
    key: 'roles',
    header: t.serviceAccounts.columns.roles,
    cell: (account) => <RoleChips roles={account.roles} />,
  },
  {
    key: 'used',
    header: t.serviceAccounts.columns.used,
    cell: (account) => <PlainAgo at={account.last_used_at} />,
  },
  {
    key: 'created',
    header: t.serviceAccounts.columns.created,
    cell: (account) => <PlainDay at={account.created_at} />,
    isWideOnly: true,
  },
];

export function ServiceAccounts(): ReactElement {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const mayCreate = useCan('service_account.create');
  const [isCreating, setCreating] = useState(false);
  const [title] = useState(titleColumn);
  const [columns] = useState(otherColumns);
  const { q, page = 1, size = preferredSize() } = search;
  const [typed, setTyped] = useTypedText(
    q ?? '',
    (text) =>
      void navigate({
        search: (all) => ({ ...all, q: text.trim() || undefined, page: undefined }),
        replace: true,
      }),
  );
  const query = useQuery({
    ...reading('GET /api/v1/service-accounts', { query: { page, size, ...(q ? { search: q } : {}) } }),
    ...keepingRows,
  });
  const rows = query.data?.data;
  const total = query.data?.pagination.total ?? 0;
  const isEmpty = rows?.length === 0;
  const create = (
    <CreateButton isAllowed={mayCreate} onClick={() => setCreating(true)} key="create">
      {t.serviceAccounts.create}
    </CreateButton>
  );
  return (
    <>
      <PageHeader
        title={t.serviceAccounts.title}
        note={rows && !q ? t.serviceAccounts.count(total) : null}
        actions={create}
      />
      {!(isEmpty && !q) && (
        <div className="filters">
          <TextInput
            type="search"
            className="grow"
            aria-label={t.serviceAccounts.search}
            placeholder={t.serviceAccounts.search}
            leftSection={<IconSearch size={16} aria-hidden />}
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        </div>
      )}
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {isEmpty && q && (
        <NoMatch
          onClear={() => {
            setTyped('');
            void navigate({ search: (all) => ({ ...all, q: undefined, page: undefined }) });
          }}
        />
      )}
      {isEmpty && !q && (
        <Empty
          icon={<IconPlugConnected size={32} aria-hidden />}
          title={t.serviceAccounts.empty}
          text={t.serviceAccounts.emptyText}
          action={mayCreate ? create : undefined}
        />
      )}
      {!isEmpty && (rows || !query.error) && (
        <div className="service-account-list">
          <DataTable
            label={t.serviceAccounts.title}
            rows={rows}
            title={title}
            columns={columns}
            nameOf={({ name }) => name}
            onOpen={(account) => void navigate({ search: (all) => ({ ...all, account }) })}
            activeId={search.account}
            isStale={query.isPlaceholderData}
          />
        </div>
      )}
      {rows && !isEmpty && (
        <Pager
          page={page}
          size={size}
          total={total}
          onPage={(next) => void navigate({ search: (all) => ({ ...all, page: next }) })}
          onSize={(next) => void navigate({ search: (all) => ({ ...all, size: next, page: undefined }) })}
        />
      )}
      {search.account && (
        <AccountPane
          key={search.account}
          id={search.account}
          tab={search.tab ?? 'keys'}
          onTab={(tab) => void navigate({ search: (all) => ({ ...all, tab }), replace: true })}
          onClose={() => navigate({ search: (all) => ({ ...all, account: undefined, tab: undefined }) })}
        />
      )}
      {isCreating && (
        <Suspense>
          <CreateDialog
            onClose={() => setCreating(false)}
            onCreated={(account) => {
              setCreating(false);
              void navigate({ search: (all) => ({ ...all, account, tab: 'keys' }) });
            }}
          />
        </Suspense>
      )}
    </>
  );
}

type CreateButtonProps = { isAllowed: boolean; onClick: () => void; children: string };

/** Without the permission, the button stays reachable and says what is missing. */
function CreateButton({ isAllowed, onClick, children }: CreateButtonProps): ReactElement {
  if (isAllowed) return <Button onClick={onClick}>{children}</Button>;
  return (
    <Tooltip label={t.common.forbidden.reason('service_account.create')}>
      <Button data-disabled aria-disabled onClick={(event) => event.preventDefault()}>
        {children}
      </Button>
    </Tooltip>
  );
}
