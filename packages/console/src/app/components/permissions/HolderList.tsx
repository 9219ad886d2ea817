// Everybody who holds a permission, and through which roles. Others follow on request.
import type { Holder } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconPlugConnected } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useMemo } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { call } from '../../data/api.ts';
import { withMark } from '../../data/download.ts';
import { t } from '../../text.ts';
import { ExportMenu } from '../lists/ExportMenu.tsx';
import { Empty, ErrorAlert } from '../page/states.tsx';
import { type Column, DataTable } from '../table/DataTable.tsx';
import { RoleChips, StatusBadge, Tag } from '../text/badges.tsx';
import './holders.css';

type ListProps = { id: string; name: string; withSuperusers: boolean };

export function HolderList({ id, name, withSuperusers }: ListProps): ReactElement {
  const navigate = useNavigate();
  const include = withSuperusers ? { include: 'superusers' as const } : {};
  const query = useInfiniteQuery({
    queryKey: ['GET /api/v1/permissions/{permission_id}/holders', id, withSuperusers],
    queryFn: ({ pageParam, signal }) =>
      call('GET /api/v1/permissions/{permission_id}/holders', {
        path: { permission_id: id },
        query: { ...include, ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const rows = query.data?.pages.flatMap(({ data }) => data);
  const total = query.data?.pages[0]?.total ?? 0;
  const [title, columns] = useMemo(columnsOf, []);
  const open = (holderId: string): void => {
    const holder = rows?.find((one) => one.id === holderId);
    if (holder?.type === 'service_account')
      void navigate({ to: '/service-accounts', search: { account: holderId, tab: 'access' } });
    else void navigate({ to: '/access', search: { user: holderId, permission: name } });
  };
  return (
    <section className="holders">
      <div className="holders-head">
        <h2 className="section-title" aria-live="polite">
          {query.data ? t.access.holders.count(total, name) : t.common.list.loading}
        </h2>
        <ExportMenu
          fileName={`holders-${name}`}
          start={(options) =>
            call('GET /api/v1/permissions/{permission_id}/holders/export', {
              path: { permission_id: id },
              query: { ...include, ...withMark },
              ...options,
            })
          }
        />
      </div>
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {rows?.length === 0 && <Empty title={t.access.holders.none} text={t.access.holders.noneHelp} />}
      {(!rows || rows.length > 0) && !(query.error && !rows) && (
        <DataTable
          label={t.access.views.holders}
          rows={rows}
          title={title}
          columns={columns}
          nameOf={(holder) => holder.name}
          onOpen={open}
        />
      )}
      {query.hasNextPage && (
        <Button
          variant="default"
          className="timeline-more"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
        >
          {t.access.holders.more(formatNumber(rows?.length ?? 0), formatNumber(total))}
        </Button>
      )}
    </section>
  );
}

const columnsOf = (): [Column<Holder>, Column<Holder>[]] => [
  {
    key: 'name',
    header: t.access.holders.name,
    cell: ({ name, email, type }) => (
      <span>
        <span className="row-name" data-raw>
          {name}
        </span>
        <span className="row-note" data-raw={type === 'user' || undefined}>
          {type === 'user' ? (
            email
          ) : (
            <>
              <IconPlugConnected size={12} aria-hidden /> {t.access.holders.serviceAccount}
            </>
          )}
        </span>
      </span>
    ),
  },
  [
    {
      key: 'status',
      header: t.access.holders.status,
      cell: ({ is_active }) => <StatusBadge status={is_active ? 'active' : 'inactive'} />,
    },
    {
      key: 'roles',
      header: t.access.holders.through,
      cell: ({ roles, superuser }) => (
        <span className="chips">
          {superuser && <Tag tone="accent">{t.common.status.superuser}</Tag>}
          {(roles.length > 0 || !superuser) && <RoleChips roles={roles} />}
        </span>
      ),
    },
  ],
];
