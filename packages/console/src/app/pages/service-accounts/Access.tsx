// What a service account may do, and its roles. A change of roles shows first who gains and loses what.

import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../components/dialogs/impact.tsx';
import { ChangedMeanwhile } from '../../components/forms/ChangedMeanwhile.tsx';
import { notifyUndo } from '../../components/page/notify.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { EffectivePermissionList } from '../../components/permissions/EffectivePermissionList.tsx';
import { RolePicker } from '../../components/roles/RolePicker.tsx';
import { readAgain, useWrite } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Act } from './Act.tsx';
import { changedFields, previewUpdate, type Read, update, useStoredAccount } from './changes.ts';
import { FeedReaders } from './FeedReaders.tsx';
import { differenceOf, type RoleDifference, withDifference } from './role-difference.ts';

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
      <FeedReaders accountId={account.id} />
      {isOpen && <RolesDialog read={read} onClose={() => setOpen(false)} />}
    </>
  );
}

function RolesDialog({ read, onClose }: { read: Read; onClose: () => void }): ReactElement {
  const texts = t.serviceAccounts;
  const { before, stored, etag, isReady, read: reread } = useStoredAccount(read);
  const { id } = stored;
  const storedIds = stored.roles.map((role) => role.id);
  // What the person adds and takes away: it applies to whatever roles are stored.
  const [change, setChange] = useState<RoleDifference>({ added: [], removed: [] });
  const ids = withDifference(storedIds, change);
  const preview = usePreview(['service account', id, ids], (signal, query) =>
    previewUpdate(id, { role_ids: ids }, { signal, query }),
  );
  const write = useWrite(
    () => update(id, { role_ids: ids }, etag),
    (changed) => {
      onClose();
      notifyUndo(texts.rolesSaved, async () => {
        await update(id, { role_ids: storedIds }, changed.etag);
        await readAgain();
      });
    },
  );
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={texts.rolesTitle(stored.name)}
      confirmLabel={t.common.actions.save}
      isPending={write.isPending}
      isDisabled={!isReady}
      error={isStale ? null : write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    >
      <RolePicker
        label={texts.roles}
        value={ids}
        onChange={(chosen) => setChange(differenceOf(storedIds, chosen))}
      />
      <ReadErrors of={[reread]} />
      <ChangedMeanwhile fields={changedFields(before, stored)} isRefused={isStale} />
    </ConfirmDialog>
  );
}
