// Deactivates or deletes a provider, the version that the person saw, and says before whom it concerns.
import { Checkbox } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { readAgain, useWrite } from '../../../data/api.ts';
import { deleteProvider, type ReadProvider, updateProvider } from '../../../data/identities/providers.ts';
import { later, t } from '../../../text.ts';
import { ImpactText, useForeseen } from './ForeseenImpact.tsx';

type Props = { read: ReadProvider; onClose: () => void };

const inactive = { is_active: false };

export function DeactivateDialog({ read, onClose }: Props): ReactElement {
  const texts = later.identityProviders;
  const [begun] = useState(read);
  const { id, name } = begun.provider;
  const [endsSessions, setEndsSessions] = useState(false);
  const foreseen = useForeseen(id, inactive);
  const write = useWrite(
    () => updateProvider(begun, inactive, { end_sessions: endsSessions }),
    () => {
      notifyDone(texts.deactivated(name));
      onClose();
    },
  );
  return (
    <ConfirmDialog
      title={texts.deactivateTitle(name)}
      confirmLabel={texts.deactivate}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
      isDisabled={!foreseen.data?.impact}
    >
      <p>{texts.deactivateText}</p>
      <ImpactText query={foreseen} />
      <Checkbox
        label={texts.endSessions}
        checked={endsSessions}
        onChange={(event) => setEndsSessions(event.currentTarget.checked)}
      />
    </ConfirmDialog>
  );
}

/** With accounts that are connected, the person says that they are meant, too. */
export function DeleteDialog({
  read,
  onClose,
  onDeleted,
}: Props & { onDeleted: () => Promise<void> }): ReactElement {
  const texts = later.identityProviders;
  const [begun] = useState(read);
  const { id, name } = begun.provider;
  const [isForced, setForced] = useState(false);
  const foreseen = useForeseen(id, null);
  const impact = foreseen.data?.impact;
  const write = useMutation({
    mutationFn: () => deleteProvider(begun, { force: isForced, end_sessions: true }),
    onSuccess: async () => {
      notifyDone(texts.deleted(name));
      await onDeleted();
      // What showed the provider is unmounted by then: reading it again would be a 404.
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
      isDisabled={!impact || (impact.identities > 0 && !isForced)}
    >
      <p>{texts.deleteText}</p>
      <ImpactText query={foreseen} />
      {impact && impact.identities > 0 && (
        <Checkbox
          label={texts.force(impact.identities)}
          checked={isForced}
          onChange={(event) => setForced(event.currentTarget.checked)}
        />
      )}
    </ConfirmDialog>
  );
}
