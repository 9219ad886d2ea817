// Deletes an application, the version that the person saw, and says before who loses access.
import { useMutation } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { call, readAgain } from '../../../data/api.ts';
import type { ReadApplication } from '../../../data/applications.ts';
import { later, t } from '../../../text.ts';
import { AccessEnds } from './AccessEnds.tsx';

type Props = { read: ReadApplication; onClose: () => void; onDeleted: () => Promise<void> };

export function DeleteDialog({ read, onClose, onDeleted }: Props): ReactElement {
  const texts = later.applications.page;
  const [{ application, etag }] = useState(read);
  const write = useMutation({
    mutationFn: () =>
      call('DELETE /api/v1/applications/{application_id}', {
        path: { application_id: application.id },
        ...(etag === null ? {} : { headers: { 'if-match': etag } }),
      }),
    onSuccess: async () => {
      notifyDone(texts.deleted(application.name));
      await onDeleted();
      // What showed the application is unmounted by then: reading it again would be a 404.
      setTimeout(() => void readAgain());
    },
  });
  return (
    <ConfirmDialog
      title={texts.deleteTitle(application.name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.mutate()}
      onClose={onClose}
    >
      <p>{texts.deleteText}</p>
      <AccessEnds id={application.id} change="delete" />
    </ConfirmDialog>
  );
}
