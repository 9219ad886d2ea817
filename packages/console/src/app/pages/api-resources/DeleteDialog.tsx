// Deletes an API resource. While an application names it, the service refuses.
import type { ApiResource } from '@castellan/sdk';
import type { ReactElement } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { call, useWrite } from '../../data/api.ts';
import { later, t } from '../../text.ts';

type Props = { resource: ApiResource; onClose: () => void };

export function DeleteDialog({ resource: { id, name }, onClose }: Props): ReactElement {
  const texts = later.apiResources;
  const write = useWrite(
    () => call('DELETE /api/v1/api-resources/{api_resource_id}', { path: { api_resource_id: id } }),
    () => {
      notifyDone(texts.deleted(name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.deleteTitle(name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.deleteText}</p>
    </ConfirmDialog>
  );
}
