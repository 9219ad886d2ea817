// Deletes a user. Roles stand in the way: they are shown first and removed in the same reviewed step. These are two requests;
// if the second one fails, the dialog says so and gives the roles back.

import type { User } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { ChangedMeanwhile } from '../../../components/forms/ChangedMeanwhile.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { RoleChips } from '../../../components/text/badges.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { nameOf, useCan } from '../../../data/me.tsx';
import { t } from '../../../text.ts';
import {
  deleteUser,
  previewDeletion,
  previewRemoval,
  previewUser,
  removeRoles,
  useAddRoles,
  useStoredUser,
} from '../data.ts';
import { changedFields } from '../pane/changed-fields.ts';

type Props = { user: User; onClose: () => void; onRemoved?: () => void };

export function DeleteDialog({ user, onClose, onRemoved }: Props): ReactElement {
  const { before, stored, etag, isReady, read } = useStoredUser(user);
  const [taken, setTaken] = useState<User['roles'] | null>(null);
  const addRoles = useAddRoles();
  const roleIds = stored.roles.map(({ id }) => id);
  const hasRoles = roleIds.length > 0;
  const mayRemoveRoles = useCan('user.update');
  // With roles, the service refuses the deletion itself, so the preview is that of the first step. A superuser loses nothing by
  // that step: what the account loses is what it would lose by its deactivation.
  const preview = usePreview(['delete', user.id, user.is_superuser, ...roleIds], (signal, query) => {
    const asking = { signal, query };
    if (!hasRoles || !mayRemoveRoles) return previewDeletion(user.id, asking);
    if (user.is_superuser) return previewUser(user.id, { is_active: false }, asking);
    return previewRemoval(user.id, roleIds, asking);
  });
  const write = useWrite(
    async () => {
      const emptied = hasRoles ? await removeRoles(user.id, roleIds, etag) : null;
      if (emptied) setTaken(stored.roles);
      await deleteUser(user.id, emptied && etag ? emptied.etag : etag);
    },
    () => {
      onClose();
      onRemoved?.();
      notifyDone(t.users.done.remove(nameOf(user)));
    },
  );
  const giveBack = useWrite(
    (roles: User['roles']) =>
      addRoles(
        stored,
        roles.map(({ id }) => id),
      ),
    () => {
      onClose();
      notifyDone(t.users.remove.givenBack(nameOf(user)));
    },
  );
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={t.users.ask.remove(nameOf(user))}
      confirmLabel={hasRoles ? t.users.remove.rolesAndUser : t.common.actions.delete}
      isDangerous
      isPending={write.isPending}
      isDisabled={!isReady}
      error={isStale ? null : write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{t.users.explain.remove}</p>
      {hasRoles && (
        <div className="blockers">
          <strong>{t.users.remove.blocked(roleIds.length)}</strong>
          <RoleChips roles={stored.roles} />
          <p>{mayRemoveRoles ? t.users.remove.steps : t.common.forbidden.reason('user.update')}</p>
        </div>
      )}
      {taken && !write.isPending && (
        <div className="blockers" role="alert">
          <strong>{t.users.remove.half(taken.length)}</strong>
          <RoleChips roles={taken} />
          <Button
            variant="default"
            size="compact-sm"
            loading={giveBack.isPending}
            onClick={() => giveBack.run(taken)}
          >
            {t.users.remove.giveBack}
          </Button>
        </div>
      )}
      <ReadErrors of={[read]} />
      <ChangedMeanwhile fields={taken ? [] : changedFields(before, stored)} isRefused={isStale} />
    </ConfirmDialog>
  );
}
