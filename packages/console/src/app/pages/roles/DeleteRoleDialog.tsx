// Deletes a role. What stands in the way is shown first, and removed in the same reviewed step.
import type { AccessChange, Holder, Role } from '@castellan/sdk';
import { useMutation, useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { client } from '../../../common/client.ts';
import { formatNumber } from '../../../common/format.ts';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { usePreview } from '../../components/impact.tsx';
import { notifyDone } from '../../components/notify.tsx';
import { call, readAgain } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
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
  role: Pick<Role, 'id' | 'name' | 'permissions'>;
  /** Leaves what shows the role: only then everything is read again. */
  onDeleted: () => void | Promise<void>;
  onClose: () => void;
};

export function DeleteRoleDialog(props: Props): ReactElement {
  const { role, onClose } = props;
  const maySee = useMe().can('access.explain');
  const found = useQuery({
    queryKey: ['holders', role.id, 'all'],
    queryFn: ({ signal }) => holdersOf(role.id, signal),
    enabled: maySee,
    gcTime: 0,
  });
  const { holders = [], total = 0 } = found.data ?? {};
  if (maySee && !found.data)
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
  return total + role.permissions.length === 0 || !maySee ? (
    <DeleteFree {...props} />
  ) : (
    <DeleteUsed {...props} holders={holders} />
  );
}

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
  return useMutation({
    mutationFn: work,
    onSuccess: async () => {
      notifyDone(t.roles.remove.deleted(name));
      await onDeleted();
      // What showed the role is unmounted by then: reading it again would be a 404.
      setTimeout(() => void readAgain());
    },
    onError: () => void readAgain(),
  });
}

const deleteRole = (id: string) => call('DELETE /api/v1/roles/{role_id}', { path: { role_id: id } });

/** Nothing stands in the way, or the person may not see what does: then the preview tells it. */
function DeleteFree({ role, onDeleted, onClose }: Props): ReactElement {
  const preview = usePreview(['delete-role', role.id], (signal) =>
    client.delete('/api/v1/roles/{role_id}', {
      path: { role_id: role.id },
      query: { dry_run: true },
      signal,
    }),
  );
  const deletion = useDeletion(() => deleteRole(role.id), role.name, onDeleted);
  return (
    <ConfirmDialog
      title={t.roles.remove.title(role.name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={deletion.isPending}
      error={deletion.error}
      preview={preview}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
    >
      {preview.data?.would_be_refused === null && <p>{t.roles.remove.free}</p>}
    </ConfirmDialog>
  );
}

function DeleteUsed({ role, holders, onDeleted, onClose }: Props & { holders: Holder[] }): ReactElement {
  const { can } = useMe();
  const changes: AccessChange[] = [
    ...(role.permissions.length > 0
      ? [{ role_id: role.id, remove_permission_ids: role.permissions.map(({ id }) => id) }]
      : []),
    ...holders.map((holder) => takeRole(holder, role.id)),
  ];
  const needed = [
    'access.change',
    'role.update',
    ...(holders.some(({ type }) => type === 'user') ? ['user.update'] : []),
    ...(holders.some(({ type }) => type === 'service_account') ? ['service_account.update'] : []),
  ];
  const missing = needed.find((one) => !can(one));
  const preview = usePreview(
    ['unassign', role.id, changes],
    (signal) =>
      client.post('/api/v1/access/changes', { query: { dry_run: true }, body: { changes }, signal }),
    missing === undefined,
  );
  const deletion = useDeletion(
    async () => {
      await call('POST /api/v1/access/changes', { body: { changes } });
      await deleteRole(role.id);
    },
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
      error={deletion.error}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
      {...(missing === undefined ? { preview } : {})}
    >
      <p>{t.roles.remove.blocked}</p>
      <ul className="reasons">
        {holders.length > 0 && <li>{t.roles.remove.users(holders.length)}</li>}
        {role.permissions.length > 0 && <li>{t.roles.remove.permissions(role.permissions.length)}</li>}
      </ul>
      {missing && <p>{t.common.forbidden.reason(missing)}</p>}
    </ConfirmDialog>
  );
}
