// Pauses or deletes a webhook, the version that the person saw, and says before what happens to its events.
import { useMutation } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { readAgain, useWrite } from '../../../data/api.ts';
import { deleteWebhook, type ReadWebhook, updateWebhook } from '../../../data/webhooks/webhooks.ts';
import { later, t } from '../../../text.ts';
import { countText } from '../counts.ts';

type Props = { read: ReadWebhook; onClose: () => void };

export function PauseDialog({ read, onClose }: Props): ReactElement {
  const texts = later.webhooks;
  const [begun] = useState(read);
  const { name } = begun.webhook;
  const write = useWrite(
    () => updateWebhook(begun, { status: 'paused' }),
    () => {
      notifyDone(texts.paused(name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.pauseTitle(name)}
      confirmLabel={texts.pause}
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.pauseText}</p>
    </ConfirmDialog>
  );
}

export function DeleteDialog({
  read,
  onClose,
  onDeleted,
}: Props & { onDeleted: () => Promise<void> }): ReactElement {
  const texts = later.webhooks;
  const [begun] = useState(read);
  const { name } = begun.webhook;
  // What waits changes by itself: the number is the latest.
  const { waiting } = read.webhook;
  const write = useMutation({
    mutationFn: () => deleteWebhook(begun),
    onSuccess: async () => {
      notifyDone(texts.deleted(name));
      await onDeleted();
      // What showed the webhook is unmounted by then: reading it again would be a 404.
      setTimeout(() => void readAgain());
    },
  });
  return (
    <ConfirmDialog
      title={texts.deleteTitle(name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.mutate()}
      onClose={onClose}
    >
      <p>{waiting === 0 ? texts.dropsNothing : texts.drops(countText(waiting))}</p>
      <p>{texts.deleteText}</p>
    </ConfirmDialog>
  );
}
