// Deletes a user. Roles stand in the way: they are shown first and removed in the same reviewed step.
import type { User } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { RoleChips } from '../../components/badges.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { usePreview } from '../../components/impact.tsx';
import { notifyDone } from '../../components/notify.tsx';
import { useWrite } from '../../data/api.ts';
import { nameOf, useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { deleteUser, previewDeletion, previewRemoval, previewUser, removeRoles } from './data.ts';

type Props = { user: User; onClose: () => void; onRemoved?: () => void };

export function DeleteDialog({ user, onClose, onRemoved }: Props): ReactElement {
  const roleIds = user.roles.map(({ id }) => id);
  const hasRoles = roleIds.length > 0;
  const mayRemoveRoles = useCan('user.update');
  // With roles, the service refuses the deletion itself, so the preview is that of the first step. A superuser loses nothing by
  // that step: what the account loses is what it would lose by its deactivation.
  const preview = usePreview(['delete', user.id, user.is_superuser, ...roleIds], (signal) => {
    if (!hasRoles || !mayRemoveRoles) return previewDeletion(user.id, signal);
    if (user.is_superuser) return previewUser(user.id, { is_active: false }, signal);
    return previewRemoval(user.id, roleIds, signal);
  });
  const write = useWrite(
    async () => {
      if (hasRoles) await removeRoles(user.id, roleIds);
      await deleteUser(user.id);
    },
    () => {
      onClose();
      onRemoved?.();
      notifyDone(t.users.done.remove(nameOf(user)));
    },
  );
  return (
    <ConfirmDialog
      title={t.users.ask.remove(nameOf(user))}
      confirmLabel={hasRoles ? t.users.remove.rolesAndUser : t.common.actions.delete}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{t.users.explain.remove}</p>
      {hasRoles && (
        <div className="blockers">
          <strong>{t.users.remove.blocked(roleIds.length)}</strong>
          <RoleChips roles={user.roles} />
          <p>{mayRemoveRoles ? t.users.remove.steps : t.common.forbidden.reason('user.update')}</p>
        </div>
      )}
    </ConfirmDialog>
  );
}
