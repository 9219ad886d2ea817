// What can be done with a service account: edit, activate, deactivate, delete. Each change names the version that is shown.

import { useMutation } from '@tanstack/react-query';
import { type ReactElement, useState } from 'react';
import { useAuditAction } from '../../components/audit/use-audit-action.ts';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../components/dialogs/impact.tsx';
import { ChangedMeanwhile } from '../../components/forms/ChangedMeanwhile.tsx';
import { notifyDone, notifyUndo } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { call, callPreview, readAgain, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Act } from './Act.tsx';
import { changedFields, ifMatch, previewUpdate, type Read, update, useStoredAccount } from './changes.ts';
import { EditDialog } from './EditDialog.tsx';

type Props = { read: Read; onDeleted: () => void | Promise<void> };
type Open = 'edit' | 'activate' | 'deactivate' | 'delete';

export function AccountActions({ read, onDeleted }: Props): ReactElement {
  const texts = t.serviceAccounts;
  const mayUpdate = useCan('service_account.update');
  const mayDelete = useCan('service_account.delete');
  const [open, setOpen] = useState<Open | null>(null);
  useAuditAction(read.account);
  const close = (): void => setOpen(null);
  const toggle = read.account.is_active ? 'deactivate' : 'activate';
  return (
    <div className="account-actions">
      <Act
        label={t.common.actions.edit}
        missing={mayUpdate ? null : 'service_account.update'}
        onClick={() => setOpen('edit')}
      />
      <Act
        label={texts[toggle]}
        missing={mayUpdate ? null : 'service_account.update'}
        onClick={() => setOpen(toggle)}
      />
      <Act
        label={t.common.actions.delete}
        missing={mayDelete ? null : 'service_account.delete'}
        onClick={() => setOpen('delete')}
      />
      {open === 'edit' && <EditDialog read={read} onClose={close} />}
      {(open === 'activate' || open === 'deactivate') && <Toggle act={open} read={read} onClose={close} />}
      {open === 'delete' && <Delete read={read} onClose={close} onDeleted={onDeleted} />}
    </div>
  );
}

type DialogProps = { read: Read; onClose: () => void };

function Toggle({ act, read, onClose }: DialogProps & { act: 'activate' | 'deactivate' }): ReactElement {
  const { before, stored, etag, isReady, read: reread } = useStoredAccount(read);
  const texts = {
    activate: {
      title: t.serviceAccounts.activateTitle,
      text: t.serviceAccounts.activateText,
      done: t.serviceAccounts.activated,
    },
    deactivate: {
      title: t.serviceAccounts.deactivateTitle,
      text: t.serviceAccounts.deactivateText,
      done: t.serviceAccounts.deactivated,
    },
  }[act];
  const body = { is_active: act === 'activate' };
  const preview = usePreview(['service account', stored.id, body, etag], (signal, query) =>
    previewUpdate(stored.id, body, { signal, query }),
  );
  const write = useWrite(
    () => update(stored.id, body, etag),
    (changed) => {
      onClose();
      notifyUndo(texts.done(stored.name), async () => {
        await update(stored.id, { is_active: !body.is_active }, changed.etag);
        await readAgain();
      });
    },
  );
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={texts.title(stored.name)}
      confirmLabel={t.serviceAccounts[act]}
      isDangerous={act === 'deactivate'}
      isPending={write.isPending}
      isDisabled={!isReady}
      error={isStale ? null : write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.text}</p>
      <ReadErrors of={[reread]} />
      <ChangedMeanwhile fields={changedFields(before, stored)} isRefused={isStale} />
    </ConfirmDialog>
  );
}

function Delete({ read, onClose, onDeleted }: DialogProps & Pick<Props, 'onDeleted'>): ReactElement {
  const texts = t.serviceAccounts;
  const { before, stored, etag, isReady, read: reread } = useStoredAccount(read);
  const path = { service_account_id: stored.id };
  const preview = usePreview(['service account', stored.id, 'delete'], (signal, query) =>
    callPreview('DELETE /api/v1/service-accounts/{service_account_id}', { path, query, signal }),
  );
  const write = useMutation({
    mutationFn: () =>
      call('DELETE /api/v1/service-accounts/{service_account_id}', { path, headers: ifMatch(etag) }),
    onSuccess: async () => {
      notifyDone(texts.deleted(stored.name));
      await onDeleted();
      // What showed the account is unmounted by then: reading it again would be a 404.
      setTimeout(() => void readAgain());
    },
    onError: () => void readAgain(),
  });
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={texts.deleteTitle(stored.name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={write.isPending}
      isDisabled={!isReady}
      error={isStale ? null : write.error}
      preview={preview}
      onConfirm={() => write.mutate()}
      onClose={onClose}
    >
      <p>{texts.deleteText}</p>
      <ReadErrors of={[reread]} />
      <ChangedMeanwhile fields={changedFields(before, stored)} isRefused={isStale} />
    </ConfirmDialog>
  );
}
