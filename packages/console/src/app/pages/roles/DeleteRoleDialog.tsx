// Deletes a role. What stands in the way is shown first, and removed in the same request: all of it or nothing.
import type { AccessChange, Holder } from '@castellan/sdk';
import { useMutation, useQuery } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { client } from '../../../common/client.ts';
import { formatNumber } from '../../../common/format.ts';
import { type ChangedField, ChangedMeanwhile } from '../../components/ChangedMeanwhile.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { usePreview } from '../../components/impact.tsx';
import { notifyDone } from '../../components/notify.tsx';
import { call, readAgain, readingVersioned } from '../../data/api.ts';
import { allPermissions, type CountedRole, fullRole } from '../../data/catalogue.ts';
import { isCode } from '../../data/errors.ts';
import { useCan, useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

/** One request takes up to 1,000 records; one of them is the role. */
const MOST_HOLDERS = 999;
const MOST_PER_PAGE = 100;

async function holdersOf(roleId: string, signal: AbortSignal): Promise<{ holders: Holder[]; total: number }> {
  const holders: Holder[] = [];
  let total = 0;
  const input = { path: { role_id: roleId }, query: { size: MOST_PER_PAGE }, signal };
  for await (const page of client.pages('/api/v1/roles/{role_id}/holders', input)) {
    holders.push(...page.items);
    total = page.total ?? holders.length;
    if (total > MOST_HOLDERS) break;
  }
  return { holders, total };
}

const takeRole = ({ type, id }: Pick<Holder, 'type' | 'id'>, roleId: string): AccessChange => ({
  ...(type === 'user' ? { user_id: id } : { service_account_id: id }),
  remove_role_ids: [roleId],
});

type Props = {
  role: Pick<CountedRole, 'id' | 'name' | 'permission_ids'>;
  /** Leaves what shows the role: only then everything is read again. */
  onDeleted: () => void | Promise<void>;
  onClose: () => void;
};

export function DeleteRoleDialog(props: Props): ReactElement {
  const { onClose } = props;
  const { stored: role, fields, etag, isReady } = useStoredRole(props.role);
  const shared = { ...props, role, fields, etag };
  const maySee = useMe().can('access.explain');
  const found = useQuery({
    queryKey: ['holders', role.id, 'all'],
    queryFn: ({ signal }) => holdersOf(role.id, signal),
    enabled: maySee,
    gcTime: 0,
  });
  const { holders = [], total = 0 } = found.data ?? {};
  if (!isReady || (maySee && !found.data))
    return <Waiting {...props} error={found.error} onRetry={() => void found.refetch()} />;
  if (total > MOST_HOLDERS)
    return (
      <ConfirmDialog
        title={t.roles.remove.title(role.name)}
        confirmLabel={t.common.actions.close}
        isPending={false}
        error={null}
        onConfirm={onClose}
        onClose={onClose}
      >
        <p>{t.roles.remove.tooMany(formatNumber(MOST_HOLDERS))}</p>
      </ConfirmDialog>
    );
  return total + role.permission_ids.length === 0 || !maySee ? (
    <DeleteFree {...shared} />
  ) : (
    <DeleteUsed {...shared} holders={holders} />
  );
}

type SharedProps = Props & { fields: readonly ChangedField[]; etag: string | null };

/** Returns the number in an ETag; null without one. */
const versionOf = (etag: string | null): number | null => {
  const digits = /"(\d+)"/.exec(etag ?? '')?.[1];
  return digits === undefined ? null : Number(digits);
};

type WaitingProps = Props & { error: unknown; onRetry: () => void };

/** Until it is known what stands in the way. */
const Waiting = ({ role, error, onRetry, onClose }: WaitingProps): ReactElement => (
  <ConfirmDialog
    title={t.roles.remove.title(role.name)}
    confirmLabel={error ? t.common.actions.retry : t.common.actions.delete}
    isPending={!error}
    error={error}
    onConfirm={onRetry}
    onClose={onClose}
  />
);

function useDeletion(work: () => Promise<unknown>, name: string, onDeleted: Props['onDeleted']) {
  const deletion = useMutation({
    mutationFn: work,
    onSuccess: async () => {
      notifyDone(t.roles.remove.deleted(name));
      await onDeleted();
      // What showed the role is unmounted by then: reading it again would be a 404.
      setTimeout(() => void readAgain());
    },
    onError: () => void readAgain(),
  });
  // Somebody else has changed the role, or given it to others: what stands in the way is read again and shown anew.
  const isStale = isCode(deletion.error, 'precondition_failed', 'role_in_use');
  return { ...deletion, isStale, shownError: isStale ? null : deletion.error };
}

/** The role as stored when the dialog opened, and after each later change. The deletion names its version. */
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
  return { stored, fields, etag: read.data?.etag ?? null, isReady: read.isFetchedAfterMount };
}

/** Nothing stands in the way, or the person may not see what does: then the preview tells it. */
function DeleteFree({ role, fields, etag, onDeleted, onClose }: SharedProps): ReactElement {
  const preview = usePreview(['delete-role', role.id], (signal, query) =>
    client.delete('/api/v1/roles/{role_id}', { path: { role_id: role.id }, query, signal }),
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

/** Everything in one request: if somebody else gives the role to another person meanwhile, nothing changes. */
function DeleteUsed({
  role,
  fields,
  etag,
  holders,
  onDeleted,
  onClose,
}: SharedProps & { holders: Holder[] }): ReactElement {
  const { can } = useMe();
  const version = versionOf(etag);
  const permissionIds = [...role.permission_ids];
  const changes: AccessChange[] = [
    {
      role_id: role.id,
      delete: true,
      ...(permissionIds.length > 0 ? { remove_permission_ids: permissionIds } : {}),
      ...(version === null ? {} : { version }),
    },
    ...holders.map((holder) => takeRole(holder, role.id)),
  ];
  const needed = [
    'access.change',
    'role.delete',
    ...(permissionIds.length > 0 ? ['role.update'] : []),
    ...(holders.some(({ type }) => type === 'user') ? ['user.update'] : []),
    ...(holders.some(({ type }) => type === 'service_account') ? ['service_account.update'] : []),
  ];
  const missing = needed.find((one) => !can(one));
  const preview = usePreview(
    ['unassign', role.id, changes],
    (signal, query) => client.post('/api/v1/access/changes', { query, body: { changes }, signal }),
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
