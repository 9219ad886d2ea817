// Deletes an attribute. If users have values of it, the service says how many, and the person confirms again to lose them.
import type { UserAttribute } from '@castellan/sdk';
import { Alert } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import type { ReactElement } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../components/page/notify.tsx';
import { call, useWrite } from '../../data/api.ts';
import { later, t } from '../../text.ts';
import { usersInTheWay } from './in-use.ts';

type Props = { attribute: UserAttribute; onClose: () => void };

export function DeleteDialog({ attribute: { id, label }, onClose }: Props): ReactElement {
  const texts = later.userAttributes;
  const write = useWrite(
    (force: boolean) =>
      call('DELETE /api/v1/user-attributes/{attribute_id}', {
        path: { attribute_id: id },
        ...(force ? { query: { force } } : {}),
      }),
    () => {
      notifyDone(texts.deleted(label));
      onClose();
    },
  );
  const users = usersInTheWay(write.error);
  return (
    <ConfirmDialog
      title={texts.deleteTitle(label)}
      confirmLabel={users === null ? t.common.actions.delete : texts.deleteWithValues(users)}
      isDangerous
      isPending={write.isPending}
      error={users === null ? write.error : null}
      onConfirm={() => write.run(users !== null)}
      onClose={onClose}
    >
      <p>{texts.deleteText}</p>
      {users !== null && (
        <Alert color="red" variant="light" icon={<IconAlertTriangle aria-hidden />} role="alert">
          {texts.deleteInUse(users)}
        </Alert>
      )}
    </ConfirmDialog>
  );
}
