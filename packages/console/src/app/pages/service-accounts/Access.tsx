// What a service account may do, and its roles. A change of roles shows first who gains and loses what.
import { type ReactElement, useState } from 'react';
import { client } from '../../../common/client.ts';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { EffectivePermissionList } from '../../components/EffectivePermissionList.tsx';
import { usePreview } from '../../components/impact.tsx';
import { notifyUndo } from '../../components/notify.tsx';
import { RolePicker } from '../../components/RolePicker.tsx';
import { readAgain, useWrite } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Act } from './Act.tsx';
import { type Read, update } from './changes.ts';

export function Access({ read }: { read: Read }): ReactElement {
  const { can } = useMe();
  const { account } = read;
  const [isOpen, setOpen] = useState(false);
  const missing = ['service_account.update', 'role.read'].find((permission) => !can(permission)) ?? null;
  return (
    <>
      <div className="account-actions">
        <span className="chips">
          {account.roles.map(({ id, name }) => (
            <span key={id} className="chip" data-raw>
              {name}
            </span>
          ))}
        </span>
        <Act label={t.serviceAccounts.changeRoles} missing={missing} onClick={() => setOpen(true)} />
      </div>
      <h3 className="section-title access-title">{t.serviceAccounts.mayDo}</h3>
      <EffectivePermissionList subject={{ type: 'service_account', id: account.id }} />
      {isOpen && <RolesDialog read={read} onClose={() => setOpen(false)} />}
    </>
  );
}

function RolesDialog({ read, onClose }: { read: Read; onClose: () => void }): ReactElement {
  const { account, etag } = read;
  const texts = t.serviceAccounts;
  const [begun] = useState(() => ({ etag, ids: account.roles.map(({ id }) => id) }));
  const [ids, setIds] = useState<string[]>(begun.ids);
  const body = { role_ids: ids };
  const preview = usePreview(['service account', account.id, ids], (signal) =>
    client.put('/api/v1/service-accounts/{service_account_id}', {
      path: { service_account_id: account.id },
      query: { dry_run: true },
      body,
      signal,
    }),
  );
  const write = useWrite(
    () => update(account.id, body, begun.etag),
    () => {
      onClose();
      notifyUndo(texts.rolesSaved, async () => {
        await update(account.id, { role_ids: begun.ids }, null);
        await readAgain();
      });
    },
  );
  return (
    <ConfirmDialog
      title={texts.rolesTitle(account.name)}
      confirmLabel={t.common.actions.save}
      isPending={write.isPending}
      error={write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <RolePicker label={texts.roles} value={ids} onChange={setIds} />
    </ConfirmDialog>
  );
}
