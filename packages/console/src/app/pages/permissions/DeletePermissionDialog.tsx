// Deletes a permission that no role has.
import type { Permission } from '@castellan/sdk';
import { useMutation } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { call, readAgain } from '../../data/api.ts';
import { t } from '../../text.ts';

type Props = { permission: Permission; onDeleted: () => void | Promise<void>; onClose: () => void };

export function DeletePermissionDialog({
  permission: { id, name },
  onDeleted,
  onClose,
}: Props): ReactElement {
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
