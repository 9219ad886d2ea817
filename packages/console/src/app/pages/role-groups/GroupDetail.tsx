// One role group: its path, what it holds, and what can be done with it.
import type { RoleGroup } from '@castellan/sdk';
import { ActionIcon, Menu, Modal } from '@mantine/core';
import {
  IconArrowsMove,
  IconCopy,
  IconDots,
  IconFolderPlus,
  IconFolderQuestion,
  IconPencil,
  IconPlus,
  IconTrash,
  IconX,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { Tag } from '../../components/badges.tsx';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { Form } from '../../components/forms.tsx';
import { GroupDialog } from '../../components/groups/GroupDialog.tsx';
import { notifyDone, notifyFailure, notifyUndo } from '../../components/notify.tsx';
import { ReasonButton } from '../../components/ReasonButton.tsx';
import { Empty } from '../../components/states.tsx';
import { call, callVersioned, readAgain, useWrite } from '../../data/api.ts';
import { t } from '../../text.ts';

const RolePicker = lazy(() =>
  import('../../components/RolePicker.tsx').then((module) => ({ default: module.RolePicker })),
);

type Props = {
  /** From the root to the group. */
  path: readonly RoleGroup[];
  isMissing: boolean;
  /** Why the person may not; null if they may. */
  need: (permission: string) => string | null;
  onMove: () => void;
  onNewChild: () => void;
  onGone: () => void;
  onOpen: (id: string) => void;
};

export function GroupDetail({ path, isMissing, ...rest }: Props): ReactElement {
  const group = path.at(-1);
  if (!group)
    return (
      <Empty
        icon={<IconFolderQuestion size={32} aria-hidden />}
        title={isMissing ? t.roleGroups.missingTitle : t.roleGroups.chooseTitle}
        text={isMissing ? t.roleGroups.missingText : t.roleGroups.chooseText}
      />
    );
  return <Detail group={group} path={path} {...rest} />;
}

type NestedRole = { role: RoleGroup['roles'][number]; path: string };

const nestedRoles = ({ children }: RoleGroup, above: readonly string[] = []): NestedRole[] =>
  children.flatMap((child) => {
    const path = [...above, child.name];
    return [...child.roles.map((role) => ({ role, path: path.join(' / ') })), ...nestedRoles(child, path)];
  });

type DetailProps = Omit<Props, 'isMissing'> & { group: RoleGroup };
type Dialog = { kind: 'edit'; etag: string | null } | { kind: 'clone' | 'delete' | 'add' };

function Detail({ group, path, need, onMove, onNewChild, onGone, onOpen }: DetailProps): ReactElement {
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const close = (): void => setDialog(null);
  const nested = nestedRoles(group);
  const isBlocked = group.children.length + group.roles.length > 0;
  const blocker = isBlocked ? t.roleGroups.blocked(group.children.length, group.roles.length) : null;
  const deleteReason = need('role_group.delete') ?? blocker;
  const update = need('role_group.update');
  const edit = async (): Promise<void> => {
    const seen = await callVersioned('GET /api/v1/role-groups/{group_id}', { path: { group_id: group.id } });
    setDialog({ kind: 'edit', etag: seen.etag });
  };
  const items = [
    {
      label: t.roleGroups.newChild,
      icon: IconFolderPlus,
      reason: need('role_group.create'),
      run: onNewChild,
    },
    {
      label: t.roleGroups.edit,
      icon: IconPencil,
      reason: update,
      run: () => void edit().catch(notifyFailure),
    },
    {
      label: t.roleGroups.clone,
      icon: IconCopy,
      reason: need('role_group.create'),
      run: () => setDialog({ kind: 'clone' }),
    },
    {
      label: t.common.actions.delete,
      icon: IconTrash,
      reason: deleteReason,
      run: () => setDialog({ kind: 'delete' }),
    },
  ];
  return (
    <section className="panel group-detail" aria-label={group.name}>
      <div>
        {path.length > 1 && <p className="muted group-path">{path.map(({ name }) => name).join(' / ')}</p>}
        <div className="group-head">
          <h2>{group.name}</h2>
          <span className="page-actions">
            <ReasonButton
              variant="default"
              leftSection={<IconArrowsMove size={16} aria-hidden />}
              reason={update}
              onClick={onMove}
            >
              {t.roleGroups.moveTo}
            </ReasonButton>
            <Menu position="bottom-end" withinPortal>
              <Menu.Target>
                <ActionIcon variant="default" size="lg" aria-label={t.common.actions.moreOf(group.name)}>
                  <IconDots size={18} aria-hidden />
                </ActionIcon>
              </Menu.Target>
              <Menu.Dropdown>
                {items.map(({ label, icon: Icon, reason, run }) => (
                  <Menu.Item
                    key={label}
                    leftSection={<Icon size={16} aria-hidden />}
                    disabled={reason !== null}
                    onClick={run}
                  >
                    {label}
                    {reason && <span className="menu-reason">{reason}</span>}
                  </Menu.Item>
                ))}
              </Menu.Dropdown>
            </Menu>
          </span>
        </div>
        {group.description && <p className="muted">{group.description}</p>}
      </div>
      {blocker && <p className="muted">{blocker}</p>}
      <div className="group-head">
        <h3>{t.roleGroups.own}</h3>
        <ReasonButton
          variant="default"
          leftSection={<IconPlus size={16} aria-hidden />}
          reason={update}
          onClick={() => setDialog({ kind: 'add' })}
        >
          {t.roleGroups.add}
        </ReasonButton>
      </div>
      {group.roles.length === 0 ? (
        <p className="muted">{t.roleGroups.noRoles}</p>
      ) : (
        <OwnRoles group={group} canRemove={update === null} />
      )}
      {nested.length > 0 && (
        <>
          <h3>{t.roleGroups.nested}</h3>
          <ul className="group-roles">
            {nested.map(({ role, path: from }) => (
              <li key={`${role.id} ${from}`}>
                <Link to="/roles/$id" params={{ id: role.id }}>
                  {role.name}
                </Link>
                <span className="muted">{t.roleGroups.from(from)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      {dialog?.kind === 'edit' && <EditDialog group={group} etag={dialog.etag} onClose={close} />}
      {dialog?.kind === 'clone' && (
        <GroupDialog
          title={t.roleGroups.cloneTitle(group.name)}
          help={t.roleGroups.cloneHelp}
          hasDescription={false}
          submitLabel={t.roleGroups.clone}
          seen={{ etag: null, fields: { name: t.roleGroups.copyOf(group.name), description: '' } }}
          save={({ name }) =>
            call('POST /api/v1/role-groups/{group_id}/clone', {
              path: { group_id: group.id },
              body: { name },
            })
          }
          onDone={({ id, name }) => {
            notifyDone(t.roleGroups.created(name));
            close();
            onOpen(id);
          }}
          onClose={close}
        />
      )}
      {dialog?.kind === 'add' && <AddRoles group={group} onClose={close} />}
      {dialog?.kind === 'delete' && <DeleteGroup group={group} onClose={close} onGone={onGone} />}
    </section>
  );
}

const addRoles = (id: string, ids: string[]) =>
  call('POST /api/v1/role-groups/{group_id}/roles', { path: { group_id: id }, body: { role_ids: ids } });

function OwnRoles({ group, canRemove }: { group: RoleGroup; canRemove: boolean }): ReactElement {
  const removal = useWrite(
    ({ id }: { id: string; name: string }) =>
      call('DELETE /api/v1/role-groups/{group_id}/roles', {
        path: { group_id: group.id },
        body: { role_ids: [id] },
      }).catch((error: unknown) => {
        notifyFailure(error);
        throw error;
      }),
    (_, { id, name }) =>
      notifyUndo(t.roleGroups.removed(name, group.name), async () => {
        await addRoles(group.id, [id]);
        await readAgain();
      }),
  );
  return (
    <ul className="group-roles">
      {group.roles.map((role) => (
        <li key={role.id}>
          <span>
            <Link to="/roles/$id" params={{ id: role.id }}>
              {role.name}
            </Link>{' '}
            {role.is_system && <Tag>{t.common.status.system}</Tag>}
            {role.description && <span className="row-note">{role.description}</span>}
          </span>
          {canRemove && (
            <ActionIcon
              variant="subtle"
              color="gray"
              aria-label={t.roleGroups.removeRole(role.name, group.name)}
              disabled={removal.isPending}
              onClick={() => removal.run(role)}
            >
              <IconX size={16} aria-hidden />
            </ActionIcon>
          )}
        </li>
      ))}
    </ul>
  );
}

function AddRoles({ group, onClose }: { group: RoleGroup; onClose: () => void }): ReactElement {
  const [ids, setIds] = useState<string[]>([]);
  const adding = useWrite(
    () => addRoles(group.id, ids),
    () => {
      notifyDone(t.roleGroups.added(ids.length, group.name));
      onClose();
    },
  );
  return (
    <Modal
      opened
      onClose={onClose}
      title={t.roleGroups.addTitle(group.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Form
        onSubmit={() => adding.run(undefined)}
        isPending={adding.isPending}
        error={adding.error}
        fields={[]}
        submitLabel={t.roleGroups.add}
        isDisabled={ids.length === 0}
        onCancel={onClose}
      >
        <Suspense>
          <RolePicker
            label={t.roleGroups.addLabel}
            value={ids}
            onChange={setIds}
            exclude={group.roles.map(({ id }) => id)}
          />
        </Suspense>
      </Form>
    </Modal>
  );
}

type EditProps = { group: RoleGroup; etag: string | null; onClose: () => void };

function EditDialog({ group, etag, onClose }: EditProps): ReactElement {
  const path = { group_id: group.id };
  return (
    <GroupDialog
      title={t.roleGroups.editTitle(group.name)}
      submitLabel={t.common.actions.save}
      seen={{ etag, fields: { name: group.name, description: group.description } }}
      save={(fields, current) =>
        call('PUT /api/v1/role-groups/{group_id}', {
          path,
          body: fields,
          headers: current === null ? {} : { 'if-match': current },
        })
      }
      reread={async () => {
        const now = await callVersioned('GET /api/v1/role-groups/{group_id}', { path });
        const { name, description } = now.result.data;
        return { etag: now.etag, fields: { name, description } };
      }}
      onDone={({ name }) => {
        notifyDone(t.roleGroups.saved(name));
        onClose();
      }}
      onClose={onClose}
    />
  );
}

type DeleteProps = { group: RoleGroup; onClose: () => void; onGone: () => void };

function DeleteGroup({ group, onClose, onGone }: DeleteProps): ReactElement {
  const deletion = useWrite(
    () => call('DELETE /api/v1/role-groups/{group_id}', { path: { group_id: group.id } }),
    () => {
      notifyDone(t.roleGroups.deleted(group.name));
      onGone();
    },
  );
  return (
    <ConfirmDialog
      title={t.roleGroups.deleteTitle(group.name)}
      confirmLabel={t.common.actions.delete}
      isDangerous
      isPending={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.run(undefined)}
      onClose={onClose}
    >
      <p>{t.roleGroups.deleteText}</p>
    </ConfirmDialog>
  );
}
