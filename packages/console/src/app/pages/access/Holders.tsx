// "Who can do it?": everybody who holds a permission, and through which roles.

import type { Holder } from '@castellan/sdk';
import { Button, Switch } from '@mantine/core';
import { IconPlugConnected, IconUsersGroup } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { ExportMenu } from '../../components/lists/ExportMenu.tsx';
import { Empty, ErrorAlert } from '../../components/page/states.tsx';
import { type Column, DataTable } from '../../components/table/DataTable.tsx';
import { RoleChips, StatusBadge, Tag } from '../../components/text/badges.tsx';
import { call } from '../../data/api.ts';
import { withMark } from '../../data/download.ts';
import { usePermissionNames } from '../../data/permissions/permission-names.ts';
import { t } from '../../text.ts';
import { PermissionPicker } from './PermissionPicker.tsx';

type Props = {
  permission: string | undefined;
  onChange: (part: { permission?: string | undefined }) => void;
};

export function Holders({ permission, onChange }: Props): ReactElement {
  const [withSuperusers, setWithSuperusers] = useState(true);
  const { permissions, mayRead } = usePermissionNames();
  const wanted = permission?.toLocaleLowerCase();
  const found = permissions?.find(({ name }) => name.toLocaleLowerCase() === wanted);
  return (
    <>
      <div className="access-question">
        <PermissionPicker value={permission} onChange={(name) => onChange({ permission: name })} />
        <Switch
          label={t.access.holders.superusers}
          checked={withSuperusers}
          onChange={(event) => setWithSuperusers(event.currentTarget.checked)}
        />
      </div>
      {!mayRead && <p className="muted">{t.common.forbidden.reason('permission.read')}</p>}
      {!permission && (
        <Empty
          icon={<IconUsersGroup size={32} aria-hidden />}
          title={t.access.holders.ask}
          text={t.access.holders.askHelp}
        />
      )}
      {permission && mayRead && permissions && !found && (
        <Empty title={t.access.reasons.unknown_permission} text={permission} />
      )}
      {found && <HolderList id={found.id} name={found.name} withSuperusers={withSuperusers} />}
    </>
  );
}

type ListProps = { id: string; name: string; withSuperusers: boolean };

function HolderList({ id, name, withSuperusers }: ListProps): ReactElement {
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
