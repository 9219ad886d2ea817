// The pane of one permission: which roles have it, who holds it, and its deletion.
import type { Permission } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconDownload, IconRoute, IconTrash } from '@tabler/icons-react';
import { useInfiniteQuery, useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { client } from '../../../common/client.ts';
import { Tag } from '../../components/badges.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { saveFile } from '../../components/csv.ts';
import { notifyDone, notifyFailure } from '../../components/notify.tsx';
import { ReasonButton } from '../../components/ReasonButton.tsx';
import { SidePane } from '../../components/SidePane.tsx';
import { ErrorAlert } from '../../components/states.tsx';
import { call, readAgain } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import type { ListedPermission } from './Permissions.tsx';

const PAGE_SIZE = 50;
const MOST_NAMED = 5;

type Props = { permission: ListedPermission; onClose: () => void | Promise<void> };

export function PermissionPane({ permission, onClose }: Props): ReactElement {
  const { can } = useMe();
  const [isDeleting, setIsDeleting] = useState(false);
  const { name, description, isBuiltin, usedBy } = permission;
  // System roles have every permission: they do not keep one from being deleted.
  const blockers = (usedBy ?? []).filter((role) => !role.is_system);
  const names = blockers.slice(0, MOST_NAMED).map((role) => role.name);
  const rest = blockers.length - names.length;
  const reason = isBuiltin
    ? t.permissions.builtinDelete
    : !can('permission.delete')
      ? t.common.forbidden.reason('permission.delete')
      : names.length > 0
        ? t.permissions.usedDelete([...names, ...(rest > 0 ? [t.common.list.more(rest)] : [])].join(', '))
        : null;
  return (
    <SidePane
      label={t.permissions.pane}
      onClose={onClose}
      header={
        <>
          <h2 className="mono permission-name">{name}</h2>
          {isBuiltin && <Tag>{t.permissions.builtin}</Tag>}
        </>
      }
    >
      {description && <p>{description}</p>}
      <div className="page-actions">
        <Button
          renderRoot={(props) => <Link to="/access" search={{ permission: name }} {...props} />}
          variant="default"
          leftSection={<IconRoute size={16} aria-hidden />}
        >
          {t.permissions.explain}
        </Button>
        <ReasonButton
          variant="default"
          leftSection={<IconTrash size={16} aria-hidden />}
          reason={reason}
          onClick={() => setIsDeleting(true)}
        >
          {t.common.actions.delete}
        </ReasonButton>
      </div>
      {reason && <p className="muted">{reason}</p>}
      {usedBy && (
        <section>
          <h3 className="section-title">{t.permissions.inRoles}</h3>
          {usedBy.length === 0 ? (
            <p className="muted">{t.permissions.inNoRole}</p>
          ) : (
            <p className="chips permission-roles">
              {usedBy.map((role) => (
                <Link key={role.id} to="/roles/$id" params={{ id: role.id }} className="chip">
                  {role.name}
                </Link>
              ))}
            </p>
          )}
        </section>
      )}
      {can('access.explain') && <Holders permission={permission} />}
      {isDeleting && (
        <DeleteDialog permission={permission} onClose={() => setIsDeleting(false)} onDeleted={onClose} />
      )}
    </SidePane>
  );
}

function Holders({ permission: { id, name } }: { permission: Permission }): ReactElement {
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
    const response = await client.get('/api/v1/permissions/{permission_id}/holders/export', {
      path: { permission_id: id },
      query: { include: 'superusers' },
      headers: { accept: 'text/csv' },
    });
    saveFile(`${name}.csv`, await response.text());
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

type DeleteProps = { permission: Permission; onDeleted: () => void | Promise<void>; onClose: () => void };

function DeleteDialog({ permission: { id, name }, onDeleted, onClose }: DeleteProps): ReactElement {
  const deletion = useMutation({
    mutationFn: () => call('DELETE /api/v1/permissions/{permission_id}', { path: { permission_id: id } }),
    onSuccess: async () => {
      notifyDone(t.permissions.deleted(name));
      await onDeleted();
      // The pane is gone by then: reading its holders again would be a 404.
      setTimeout(() => void readAgain());
    },
    onError: () => void readAgain(),
  });
  return (
    <ConfirmDialog
      title={t.permissions.deleteTitle(name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
    >
      <p>{t.permissions.deleteText}</p>
    </ConfirmDialog>
  );
}
