// What can be done with a service account: edit, activate, deactivate, delete. Each change names the version that was read.
import { type ReactElement, useState } from 'react';
import { client } from '../../../common/client.ts';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { usePreview } from '../../components/impact.tsx';
import { notifyDone, notifyUndo } from '../../components/notify.tsx';
import { call, readAgain, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Act } from './Act.tsx';
import type { Read } from './changes.ts';
import { ifMatch, update } from './changes.ts';
import { EditDialog } from './EditDialog.tsx';

type Props = { read: Read; onDeleted: () => void };

export function AccountActions({ read: { account, etag }, onDeleted }: Props): ReactElement {
  const texts = t.serviceAccounts;
  const mayUpdate = useCan('service_account.update');
  const mayDelete = useCan('service_account.delete');
  const [open, setOpen] = useState<'edit' | 'deactivate' | 'delete' | null>(null);
  const activate = useWrite(
    () => update(account.id, { is_active: true }, etag),
    () => notifyDone(texts.activated(account.name)),
  );
  const close = (): void => setOpen(null);
  return (
    <div className="account-actions">
      <Act
        label={t.common.actions.edit}
        missing={mayUpdate ? null : 'service_account.update'}
        onClick={() => setOpen('edit')}
      />
      <Act
        label={account.is_active ? texts.deactivate : texts.activate}
        missing={mayUpdate ? null : 'service_account.update'}
        isPending={activate.isPending}
        onClick={() => (account.is_active ? setOpen('deactivate') : activate.run(undefined))}
      />
      <Act
        label={t.common.actions.delete}
        missing={mayDelete ? null : 'service_account.delete'}
        onClick={() => setOpen('delete')}
      />
      {activate.error && <Stale error={activate.error} />}
      {open === 'edit' && <EditDialog read={{ account, etag }} onClose={close} />}
      {open === 'deactivate' && <Deactivate read={{ account, etag }} onClose={close} />}
      {open === 'delete' && <Delete read={{ account, etag }} onClose={close} onDeleted={onDeleted} />}
    </div>
  );
}

/** The change was refused because the record has changed. It has been read again; the person decides anew. */
const Stale = ({ error }: { error: unknown }): ReactElement => (
  <p role="alert" className="banner">
    {isCode(error, 'precondition_failed')
      ? t.serviceAccounts.conflict.again
      : error instanceof Error
        ? error.message
        : t.common.errors.unexpected}
  </p>
);

type DialogProps = { read: Read; onClose: () => void };

function Deactivate({ read: { account, etag }, onClose }: DialogProps): ReactElement {
  const texts = t.serviceAccounts;
  const body = { is_active: false };
  const preview = usePreview(['service account', account.id, body], (signal) =>
    client.put('/api/v1/service-accounts/{service_account_id}', {
      path: { service_account_id: account.id },
      query: { dry_run: true },
      body,
      signal,
    }),
  );
  const write = useWrite(
    () => update(account.id, body, etag),
    () => {
      onClose();
      notifyUndo(texts.deactivated(account.name), async () => {
        await update(account.id, { is_active: true }, null);
        await readAgain();
      });
    },
  );
  return (
    <ConfirmDialog
      title={texts.deactivateTitle(account.name)}
      confirmLabel={texts.deactivate}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.deactivateText}</p>
    </ConfirmDialog>
  );
}

function Delete({ read: { account, etag }, onClose, onDeleted }: DialogProps & { onDeleted: () => void }) {
  const texts = t.serviceAccounts;
  const path = { service_account_id: account.id };
  const preview = usePreview(['service account', account.id, 'delete'], (signal) =>
    client.delete('/api/v1/service-accounts/{service_account_id}', {
      path,
      query: { dry_run: true },
      signal,
    }),
  );
  const write = useWrite(
    () => call('DELETE /api/v1/service-accounts/{service_account_id}', { path, headers: ifMatch(etag) }),
    () => {
      notifyDone(texts.deleted(account.name));
      onDeleted();
    },
  );
  return (
    <ConfirmDialog
      title={texts.deleteTitle(account.name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <p>{texts.deleteText}</p>
    </ConfirmDialog>
  );
}
