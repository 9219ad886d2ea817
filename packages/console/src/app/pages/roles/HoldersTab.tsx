// Who has a role: people and service accounts, page by page; the role is given and taken here, with a preview.
import type { AccessChange, Holder, ListedUser } from '@castellan/sdk';
import { Button, Modal, TextInput } from '@mantine/core';
import { IconDownload, IconUserMinus, IconUserPlus, IconUsers } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { client } from '../../../common/client.ts';
import { StatusBadge, Tag } from '../../components/badges.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { saveFile } from '../../components/csv.ts';
import { type Column, DataTable } from '../../components/DataTable.tsx';
import { useTypedText } from '../../components/debounce.ts';
import { usePreview } from '../../components/impact.tsx';
import { notifyFailure, notifyUndo } from '../../components/notify.tsx';
import { ReasonButton } from '../../components/ReasonButton.tsx';
import { Empty, ErrorAlert } from '../../components/states.tsx';
import { call, keepingRows, readAgain, reading, useWrite } from '../../data/api.ts';
import type { CountedRole } from '../../data/catalogue.ts';
import { nameOf, useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

const PAGE_SIZE = 50;

type Subject = Pick<Holder, 'type' | 'id' | 'name'>;
type Wanted = { subject: Subject; isGiven: boolean };

const changeOf = ({ subject: { type, id }, isGiven }: Wanted, roleId: string): AccessChange => ({
  ...(type === 'user' ? { user_id: id } : { service_account_id: id }),
  ...(isGiven ? { add_role_ids: [roleId] } : { remove_role_ids: [roleId] }),
});

const save = (wanted: Wanted, roleId: string) =>
  call('POST /api/v1/access/changes', { body: { changes: [changeOf(wanted, roleId)] } });

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
        <FindPerson
          role={role}
          onClose={() => setIsAssigning(false)}
          onFound={(subject) => {
            setIsAssigning(false);
            setWanted({ subject, isGiven: true });
          }}
        />
      )}
      {wanted && <ChangeDialog role={role} wanted={wanted} onClose={() => setWanted(null)} />}
    </>
  );
}

async function exportHolders({ id, name }: CountedRole): Promise<void> {
  const response = await client.get('/api/v1/roles/{role_id}/holders/export', {
    path: { role_id: id },
    headers: { accept: 'text/csv' },
  });
  saveFile(`${name}.csv`, await response.text());
}

function columnsOf(): { title: Column<Holder>; columns: Column<Holder>[] } {
  return {
    title: {
      key: 'name',
      header: t.roles.name,
      cell: ({ name, email }) => (
        <span>
          <span className="row-name">{name}</span>
          {email && <span className="row-note">{email}</span>}
        </span>
      ),
    },
    columns: [
      {
        key: 'kind',
        header: t.roles.holdersTab.kind,
        cell: ({ type }) => (type === 'user' ? t.roles.holdersTab.person : t.roles.holdersTab.account),
      },
      {
        key: 'status',
        header: t.roles.holdersTab.status,
        cell: ({ is_active, superuser }) => (
          <span className="chips">
            <StatusBadge status={is_active ? 'active' : 'inactive'} />
            {superuser && <Tag>{t.common.status.superuser}</Tag>}
          </span>
        ),
      },
    ],
  };
}

type ChangeProps = { role: CountedRole; wanted: Wanted; onClose: () => void };

function ChangeDialog({ role, wanted, onClose }: ChangeProps): ReactElement {
  const { subject, isGiven } = wanted;
  const preview = usePreview(['holder', role.id, wanted], (signal) =>
    client.post('/api/v1/access/changes', {
      query: { dry_run: true },
      body: { changes: [changeOf(wanted, role.id)] },
      signal,
    }),
  );
  const saving = useWrite(
    () => save(wanted, role.id),
    () => {
      const done = isGiven ? t.roles.holdersTab.assigned : t.roles.holdersTab.removed;
      notifyUndo(done(subject.name, role.name), async () => {
        await save({ subject, isGiven: !isGiven }, role.id);
        await readAgain();
      });
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={
        isGiven
          ? t.roles.holdersTab.giveTitle(subject.name, role.name)
          : t.roles.holdersTab.removeTitle(subject.name, role.name)
      }
      confirmLabel={isGiven ? t.roles.holdersTab.give : t.roles.holdersTab.remove}
      isDangerous={!isGiven}
      isPending={saving.isPending}
      error={saving.error}
      preview={preview}
      onConfirm={() => saving.run(undefined)}
      onClose={onClose}
    />
  );
}

const MOST_FOUND = 8;
type FindProps = { role: CountedRole; onFound: (subject: Subject) => void; onClose: () => void };

function FindPerson({ role, onFound, onClose }: FindProps): ReactElement {
  const [stored, store] = useState('');
  const [typed, setTyped] = useTypedText(stored, store);
  const { can } = useMe();
  const input = { query: { search: stored.trim(), size: MOST_FOUND } };
  const found = useQuery({
    ...(can('user.read') ? reading('GET /api/v1/users', input) : reading('GET /api/v1/users/list', input)),
    ...keepingRows,
    enabled: stored.trim() !== '',
  });
  const people: readonly ListedUser[] = found.data?.data.items ?? [];
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roles.holdersTab.assignTitle(role.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <TextInput
        data-autofocus
        type="search"
        label={t.roles.holdersTab.find}
        autoComplete="off"
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
      />
      {found.error && <ErrorAlert error={found.error} onRetry={() => void found.refetch()} />}
      <ul className="people" aria-busy={found.isFetching}>
        {stored.trim() !== '' &&
          people.map((user) => {
            const hasIt = user.roles.some(({ id }) => id === role.id);
            return (
              <li key={user.id}>
                <button
                  type="button"
                  disabled={hasIt}
                  onClick={() => onFound({ type: 'user', id: user.id, name: nameOf(user) })}
                >
                  <span className="row-name">{nameOf(user)}</span>
                  <span className="row-note">
                    {user.email}
                    {hasIt && ` · ${t.roles.holdersTab.has}`}
                  </span>
                </button>
              </li>
            );
          })}
      </ul>
      {found.data && stored.trim() !== '' && people.length === 0 && (
        <p className="muted" role="status">
          {t.roles.holdersTab.nobodyFound}
        </p>
      )}
    </Modal>
  );
}
