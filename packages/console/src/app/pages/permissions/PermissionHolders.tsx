// Who holds a permission, page by page, and through which roles.
import type { Permission } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconDownload } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { saveBlob } from '../../../common/save-blob.ts';
import { notifyFailure } from '../../components/page/notify.tsx';
import { ErrorAlert } from '../../components/page/states.tsx';
import { Tag } from '../../components/text/badges.tsx';
import { call } from '../../data/api.ts';
import { readStream, withMark } from '../../data/download.ts';
import { t } from '../../text.ts';

const PAGE_SIZE = 50;

export function PermissionHolders({ permission: { id, name } }: { permission: Permission }): ReactElement {
  const holders = useInfiniteQuery({
    queryKey: ['GET /api/v1/permissions/{permission_id}/holders', id],
    queryFn: ({ pageParam, signal }) =>
      call('GET /api/v1/permissions/{permission_id}/holders', {
        path: { permission_id: id },
        query: { size: PAGE_SIZE, include: 'superusers', ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const rows = holders.data?.pages.flatMap(({ data }) => data) ?? [];
  const save = async (): Promise<void> => {
    const response = await call('GET /api/v1/permissions/{permission_id}/holders/export', {
      path: { permission_id: id },
      query: { include: 'superusers', ...withMark },
      headers: { accept: 'text/csv' },
    });
    saveBlob(await readStream(response), `${name}.csv`);
  };
  return (
    <section aria-busy={holders.isFetching}>
      <div className="group-head">
        <h3 className="section-title">{t.permissions.holders}</h3>
        {rows.length > 0 && (
          <Button
            size="compact-sm"
            variant="default"
            leftSection={<IconDownload size={15} aria-hidden />}
            onClick={() => void save().catch(notifyFailure)}
          >
            {t.permissions.export}
          </Button>
        )}
      </div>
      {holders.error && <ErrorAlert error={holders.error} onRetry={() => void holders.refetch()} />}
      {holders.data && (
        <p className="muted" role="status">
          {rows.length === 0
            ? t.permissions.nobody
            : t.permissions.holdersTotal(holders.data.pages[0]?.total ?? rows.length)}
        </p>
      )}
      <ul className="group-roles">
        {rows.map((holder) => (
          <li key={holder.id}>
            <span>
              {holder.type === 'user' ? (
                <Link to="/users" search={{ user: holder.id }}>
                  {holder.name}
                </Link>
              ) : (
                <Link to="/service-accounts" search={{ account: holder.id }}>
                  {holder.name}
                </Link>
              )}
              <span className="row-note">
                {holder.roles.length > 0
                  ? t.permissions.through(holder.roles.map((role) => role.name).join(', '))
                  : holder.email}
              </span>
            </span>
            <span className="chips">
              {!holder.is_active && <Tag>{t.common.status.inactive}</Tag>}
              {holder.superuser && <Tag tone="accent">{t.common.status.superuser}</Tag>}
            </span>
          </li>
        ))}
      </ul>
      {holders.hasNextPage && (
        <Button
          variant="default"
          loading={holders.isFetchingNextPage}
          onClick={() => void holders.fetchNextPage()}
        >
          {t.permissions.more}
        </Button>
      )}
    </section>
  );
}
