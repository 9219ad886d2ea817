// Deletes a role. What stands in the way is shown first, and removed in the same request: all of it or nothing. Only a role of
// a thousand holders and more takes several requests.

import type { Holder } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { type ChangedField, ChangedMeanwhile } from '../../../components/forms/ChangedMeanwhile.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { call, callPreview, type ReadState, readingVersioned } from '../../../data/api.ts';
import { allPermissions, fullRole } from '../../../data/catalogue.ts';
import { useCan, useMe } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import { DeleteMany } from './DeleteMany.tsx';
import { type DeletedRole, deleteWith, MOST_HOLDERS, readHolders } from './deletion.ts';
import { neededToDelete } from './needed-to-delete.ts';
import { useDeletion } from './use-deletion.ts';

type Props = {
  role: DeletedRole;
  /** Leaves what shows the role: only then everything is read again. */
  onDeleted: () => void | Promise<void>;
  onClose: () => void;
};

export function DeleteRoleDialog(props: Props): ReactElement {
  const { stored: role, fields, etag, isReady, reads } = useStoredRole(props.role);
  const shared = { ...props, role, fields, etag };
  const { can } = useMe();
  const maySee = can('access.explain');
  // Who may change users only must know of every service account among the holders, and the other way round.
  const most =
    can('user.update') && can('service_account.update') ? MOST_HOLDERS + 1 : Number.POSITIVE_INFINITY;
  const found = useQuery({
    queryKey: ['holders', role.id, 'all', most],
    queryFn: ({ signal }) => readHolders(role.id, most, signal),
    enabled: maySee,
    gcTime: 0,
  });
  const { holders = [], total = 0 } = found.data ?? {};
  // It stays so while their number falls.
  const [isMany, setMany] = useState(false);
  if (total > MOST_HOLDERS && !isMany) setMany(true);
  if (!isReady || (maySee && !found.data)) return <Waiting {...props} reads={[...reads, found]} />;
  if (isMany) return <DeleteMany {...shared} holders={holders} total={total} />;
  return total + role.permission_ids.length === 0 || !maySee ? (
    <DeleteFree {...shared} />
  ) : (
    <DeleteUsed {...shared} holders={holders} />
  );
}

type SharedProps = Props & { fields: readonly ChangedField[]; etag: string | null };

type WaitingProps = Props & { reads: readonly ReadState[] };

/** Until it is known what stands in the way. */
const Waiting = ({ role, reads, onClose }: WaitingProps): ReactElement => (
  <ConfirmDialog
    title={t.roles.remove.title(role.name)}
    confirmLabel={t.common.actions.delete}
    isDangerous
    isPending={!reads.some(({ error }) => error)}
    isDisabled
    error={null}
    onConfirm={() => {}}
    onClose={onClose}
  >
    <ReadErrors of={reads} />
  </ConfirmDialog>
);

/**
 * The role as stored when the dialog opened, and after each later change. The deletion names its version, so it is not ready while
 * a read has failed.
 */
function useStoredRole(seen: Props['role']) {
  const [before] = useState(seen);
  const read = useQuery({
    ...readingVersioned('GET /api/v1/roles/{role_id}', { path: { role_id: seen.id } }),
    refetchOnMount: 'always',
    retry: false,
  });
  const full = read.data?.result.data;
  const stored = full ? fullRole(full) : before;
  const isGone = before.permission_ids.some((id) => !stored.permission_ids.includes(id));
  const listed = useQuery({ ...allPermissions(), enabled: useCan('permission.read') && isGone });
  const names = new Map(
    [...(listed.data ?? []), ...(full?.permissions ?? [])].map(({ id, name }) => [id, name]),
  );
  const namesOf = ({ permission_ids }: Props['role']): string =>
    permission_ids
      .map((id) => names.get(id) ?? id)
      .toSorted()
      .join(', ');
  const fields = [
    { label: t.roles.name, seen: before.name, stored: stored.name },
    { label: t.roles.permissions, seen: namesOf(before), stored: namesOf(stored) },
  ].filter((one) => one.seen !== one.stored);
  const isReady = read.isFetchedAfterMount && !read.isError && !listed.isError;
  return { stored, fields, etag: read.data?.etag ?? null, isReady, reads: [read, listed] };
}

/** Nothing stands in the way, or the person may not see what does: then the preview tells it. */
function DeleteFree({ role, fields, etag, onDeleted, onClose }: SharedProps): ReactElement {
  const preview = usePreview(['delete-role', role.id], (signal, query) =>
    callPreview('DELETE /api/v1/roles/{role_id}', { path: { role_id: role.id }, query, signal }),
  );
  const deletion = useDeletion(
    () =>
      call('DELETE /api/v1/roles/{role_id}', {
        path: { role_id: role.id },
        ...(etag ? { headers: { 'if-match': etag } } : {}),
      }),
    role.name,
    onDeleted,
  );
  return (
    <ConfirmDialog
      title={t.roles.remove.title(role.name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={deletion.isPending}
      error={deletion.shownError}
      preview={preview}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
    >
      {preview.data?.would_be_refused === null && <p>{t.roles.remove.free}</p>}
      <ChangedMeanwhile fields={fields} isRefused={deletion.isStale} />
    </ConfirmDialog>
  );
}

/** Everything in one request: if somebody else gives the role to another person first, nothing changes. */
function DeleteUsed({
  role,
  fields,
  etag,
  holders,
  onDeleted,
  onClose,
}: SharedProps & { holders: Holder[] }): ReactElement {
  const { can } = useMe();
  const permissionIds = role.permission_ids;
  const changes = deleteWith(role, etag, holders);
  const missing = neededToDelete(role, holders).find((one) => !can(one));
  const preview = usePreview(
    ['unassign', role.id, changes],
    (signal, query) => callPreview('POST /api/v1/access/changes', { query, body: { changes }, signal }),
    missing === undefined,
  );
  const deletion = useDeletion(
    () => call('POST /api/v1/access/changes', { body: { changes } }),
    role.name,
    onDeleted,
  );
  return (
    <ConfirmDialog
      title={t.roles.remove.title(role.name)}
      confirmLabel={t.roles.remove.unassign}
      isDangerous
      isPending={deletion.isPending}
      isDisabled={missing !== undefined}
      error={deletion.shownError}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
      {...(missing === undefined ? { preview } : {})}
    >
      <p>{t.roles.remove.blocked}</p>
      <ul className="reasons">
        {holders.length > 0 && <li>{t.roles.remove.users(holders.length)}</li>}
        {permissionIds.length > 0 && <li>{t.roles.remove.permissions(permissionIds.length)}</li>}
      </ul>
      <p>{t.roles.remove.together}</p>
      {missing && <p>{t.common.forbidden.reason(missing)}</p>}
      <ChangedMeanwhile fields={fields} isRefused={deletion.isStale} />
    </ConfirmDialog>
  );
}
