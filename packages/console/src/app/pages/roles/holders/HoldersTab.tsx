// Who has a role: people and service accounts, page by page; the role is given and taken here, with a preview.
import type { Holder } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconDownload, IconUserMinus, IconUserPlus, IconUsers } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { saveBlob } from '../../../../common/save-blob.ts';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { notifyFailure } from '../../../components/page/notify.tsx';
import { Empty, ErrorAlert } from '../../../components/page/states.tsx';
import { DataTable } from '../../../components/table/DataTable.tsx';
import { call } from '../../../data/api.ts';
import type { CountedRole } from '../../../data/catalogue.ts';
import { readStream, withMark } from '../../../data/download.ts';
import { useMe } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import { FindPersonDialog } from './FindPersonDialog.tsx';
import { HolderChangeDialog } from './HolderChangeDialog.tsx';
import type { Wanted } from './holder-change.ts';
import { columnsOf } from './holder-columns.tsx';

const PAGE_SIZE = 50;

const permissionFor = (type: Holder['type']): string =>
  type === 'user' ? 'user.update' : 'service_account.update';

export function HoldersTab({ role }: { role: CountedRole }): ReactElement {
  const { can } = useMe();
  const navigate = useNavigate();
  const [wanted, setWanted] = useState<Wanted | null>(null);
  const [isAssigning, setIsAssigning] = useState(false);
  const holders = useInfiniteQuery({
    queryKey: ['GET /api/v1/roles/{role_id}/holders', role.id],
    queryFn: ({ pageParam, signal }) =>
      call('GET /api/v1/roles/{role_id}/holders', {
        path: { role_id: role.id },
        query: { size: PAGE_SIZE, ...(pageParam === '' ? {} : { cursor: pageParam }) },
        signal,
      }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
  });
  const rows = useMemo(() => holders.data?.pages.flatMap(({ data }) => data), [holders.data]);
  const total = holders.data?.pages.at(0)?.total ?? 0;
  const { title, columns } = useMemo(columnsOf, []);
  const missing = (type: Holder['type']): string | null => {
    const name = ['access.change', permissionFor(type)].find((one) => !can(one));
    return name ? t.common.forbidden.reason(name) : null;
  };
  const mayFind = can('user.read') || can('users.read');
  const assignReason = missing('user') ?? (mayFind ? null : t.common.forbidden.reason('user.read'));
  const assign = (
    <ReasonButton
      leftSection={<IconUserPlus size={16} aria-hidden />}
      reason={assignReason}
      onClick={() => setIsAssigning(true)}
    >
      {t.roles.holdersTab.assign}
    </ReasonButton>
  );
  return (
    <>
      {rows && rows.length > 0 && (
        <div className="filters">
          <span className="muted grow">{t.roles.holdersTab.total(total)}</span>
          <Button
            variant="default"
            leftSection={<IconDownload size={16} aria-hidden />}
            onClick={() => void exportHolders(role).catch(notifyFailure)}
          >
            {t.roles.holdersTab.export}
          </Button>
          {assign}
        </div>
      )}
      {holders.error && <ErrorAlert error={holders.error} onRetry={() => void holders.refetch()} />}
      {rows?.length === 0 && (
        <Empty
          icon={<IconUsers size={32} aria-hidden />}
          title={t.roles.holdersTab.none}
          text={t.roles.holdersTab.noneText}
          action={assign}
        />
      )}
      {(rows === undefined ? !holders.error : rows.length > 0) && (
        <DataTable
          label={t.roles.holdersTab.label}
          rows={rows}
          title={title}
          columns={columns}
          nameOf={({ name }) => name}
          skeletonRows={4}
          onOpen={(id) => {
            const isPerson = rows?.find((one) => one.id === id)?.type === 'user';
            void (isPerson
              ? navigate({ to: '/users', search: { user: id } })
              : navigate({ to: '/service-accounts', search: { account: id } }));
          }}
          actionsOf={(holder) => [
            {
              label: t.roles.holdersTab.remove,
              icon: <IconUserMinus size={16} aria-hidden />,
              isDangerous: true,
              disabledReason: missing(holder.type),
              run: () => setWanted({ subject: holder, isGiven: false }),
            },
          ]}
        />
      )}
      {holders.hasNextPage && (
        <Button
          variant="default"
          loading={holders.isFetchingNextPage}
          onClick={() => void holders.fetchNextPage()}
        >
          {t.roles.holdersTab.more}
        </Button>
      )}
      {isAssigning && (
        <FindPersonDialog
          role={role}
          onClose={() => setIsAssigning(false)}
          onFound={(subject) => {
            setIsAssigning(false);
            setWanted({ subject, isGiven: true });
          }}
        />
      )}
      {wanted && <HolderChangeDialog role={role} wanted={wanted} onClose={() => setWanted(null)} />}
    </>
  );
}

async function exportHolders({ id, name }: CountedRole): Promise<void> {
  const response = await call('GET /api/v1/roles/{role_id}/holders/export', {
    path: { role_id: id },
    query: withMark,
    headers: { accept: 'text/csv' },
  });
  saveBlob(await readStream(response), `${name}.csv`);
}
