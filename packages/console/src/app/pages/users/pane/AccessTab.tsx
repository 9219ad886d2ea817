// What a user may do: their roles with the paths of the role groups, and the permissions that follow.

import type { User } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactElement, useState } from 'react';
import { ConfirmDialog } from '../../../components/dialogs/ConfirmDialog.tsx';
import { usePreview } from '../../../components/dialogs/impact.tsx';
import { ChangedMeanwhile } from '../../../components/forms/ChangedMeanwhile.tsx';
import { notifyUndo } from '../../../components/page/notify.tsx';
import { ReadErrors } from '../../../components/page/states.tsx';
import { EffectivePermissionList } from '../../../components/permissions/EffectivePermissionList.tsx';
import { RolePicker, useGroupNames } from '../../../components/roles/RolePicker.tsx';
import { readAgain, useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { nameOf, useMe } from '../../../data/me.tsx';
import { useEffectivePermissions, useOwnPermissions } from '../../../data/permissions/effective.ts';
import { lostWith, reasonNotToTake } from '../../../data/permissions/taking.ts';
import { t } from '../../../text.ts';
import { ActionButton } from '../ActionButton.tsx';
import {
  previewRemoval,
  previewRoles,
  removeRoles,
  setRoles,
  useAddRoles,
  useAllRoles,
  useStoredUser,
} from '../data.ts';
import type { UserRules } from '../rules.ts';
import { changedFields } from './changed-fields.ts';

type Props = { user: User; rules: UserRules };
type Dialog = { kind: 'assign' } | { kind: 'remove'; id: string; name: string };

export function AccessTab({ user, rules }: Props): ReactElement {
  const { can, user: self } = useMe();
  const { own, read: readOwn } = useOwnPermissions();
  const effective = useEffectivePermissions({ type: 'user', id: user.id });
  const held = effective.query.data?.data.permissions ?? [];
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const { roles, read: readRoles } = useAllRoles();
  const groups = useGroupNames();
  const mayExplain = can('users.read') || self.id === user.id;
  return (
    <>
      <section className="pane-section" aria-labelledby="user-roles">
        <div className="section-head">
          <h3 id="user-roles" className="section-title">
            {t.users.access.roles(user.roles.length)}
          </h3>
          <ActionButton
            reason={rules.roles}
            icon={<IconPlus size={16} aria-hidden />}
            onClick={() => setDialog({ kind: 'assign' })}
          >
            {t.users.access.assign}
          </ActionButton>
        </div>
        <ReadErrors of={[readOwn, readRoles, ...groups.reads]} />
        {user.roles.length === 0 && <p className="muted">{t.users.access.noRoles}</p>}
        <ul className="role-list">
          {user.roles.map(({ id, name, description }) => (
            <li key={id}>
              <div className="role-text">
                {can('role.read') ? (
                  <Link className="role-link" to="/roles/$id" params={{ id }}>
                    {name}
                  </Link>
                ) : (
                  <strong>{name}</strong>
                )}
                <span className="row-note">
                  {[groups.names.get(roles.get(id)?.role_group_id ?? ''), description]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
              </div>
              <RemoveButton
                label={t.users.access.removeRole(name)}
                reason={rules.removeRoles ?? reasonNotToTake(own, lostWith(id, held), t.common)}
                onClick={() => setDialog({ kind: 'remove', id, name })}
              />
            </li>
          ))}
        </ul>
      </section>
      <section className="pane-section" aria-label={t.users.access.permissions}>
        {mayExplain ? (
          <EffectivePermissionList subject={{ type: 'user', id: user.id }} />
        ) : (
          <>
            <h3 className="section-title">{t.users.access.permissions}</h3>
            <p className="muted">{t.common.forbidden.reason('users.read')}</p>
          </>
        )}
      </section>
      {dialog?.kind === 'assign' && <AssignDialog user={user} onClose={() => setDialog(null)} />}
      {dialog?.kind === 'remove' && (
        <RemoveDialog user={user} role={dialog} onClose={() => setDialog(null)} />
      )}
    </>
  );
}

type RemoveButtonProps = { label: string; reason: string | null; onClick: () => void };

/** What is not possible stays reachable, and says why. */
const RemoveButton = ({ label, reason, onClick }: RemoveButtonProps): ReactElement => (
  <Button
    variant="subtle"
    color="red"
    size="compact-sm"
    aria-label={label}
    {...(reason ? { 'aria-disabled': true, 'data-disabled': true, title: reason } : {})}
    onClick={() => {
      if (!reason) onClick();
    }}
  >
    {t.common.actions.remove}
  </Button>
);

type DialogProps = { user: User; onClose: () => void };

function AssignDialog({ user, onClose }: DialogProps): ReactElement {
  const [chosen, setChosen] = useState<string[]>([]);
  const { before, stored, etag, isReady, read } = useStoredUser(user);
  const held = stored.roles.map(({ id }) => id);
  const write = useWrite(
    () => setRoles(user.id, [...held, ...chosen], etag),
    () => {
      onClose();
      notifyUndo(t.users.access.assigned(chosen.length, nameOf(user)), async () => {
        await removeRoles(user.id, chosen);
        await readAgain();
      });
    },
  );
  const preview = usePreview(['assign', user.id, ...held, '+', ...chosen], (signal, query) =>
    previewRoles(user.id, [...held, ...chosen], { signal, query }),
  );
  const isStale = isCode(write.error, 'precondition_failed');
  return (
    <ConfirmDialog
      title={t.users.access.assignTo(nameOf(user))}
      confirmLabel={t.users.access.assign}
      isPending={write.isPending}
      isDisabled={chosen.length === 0 || !isReady}
      error={isStale ? null : write.error}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
      {...(chosen.length > 0 ? { preview } : {})}
    >
      <RolePicker label={t.users.columns.roles} value={chosen} onChange={setChosen} exclude={held} isFirst />
      <ReadErrors of={[read]} />
      <ChangedMeanwhile fields={changedFields(before, stored)} isRefused={isStale} />
    </ConfirmDialog>
  );
}

function RemoveDialog({
  user,
  role,
  onClose,
}: DialogProps & { role: { id: string; name: string } }): ReactElement {
  const addRoles = useAddRoles();
  const preview = usePreview(['remove', user.id, role.id], (signal, query) =>
    previewRemoval(user.id, [role.id], { signal, query }),
  );
  const write = useWrite(
    // Without a version: to take one role away overwrites nothing that somebody else has changed.
    () => removeRoles(user.id, [role.id]),
    ({ result: { data } }) => {
      onClose();
      notifyUndo(t.users.access.removed(role.name, nameOf(user)), async () => {
        await addRoles(data, [role.id]);
        await readAgain();
      });
    },
  );
  return (
    <ConfirmDialog
      title={t.users.access.removeFrom(role.name, nameOf(user))}
      confirmLabel={t.common.actions.remove}
      isDangerous
      isPending={write.isPending}
      error={write.error}
      preview={preview}
      onConfirm={() => write.run(undefined)}
      onClose={onClose}
    />
  );
}
