// The permission groups as a tree: choosing one filters the list; groups are created, renamed, moved and deleted here.
import type { PermissionGroup } from '@castellan/sdk';
import { ActionIcon, Button, Menu } from '@mantine/core';
import { IconArrowsMove, IconDots, IconFolderPlus, IconPencil, IconTrash } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { ConfirmDialog } from '../../components/ConfirmDialog.tsx';
import { GroupDialog, type SeenGroup } from '../../components/groups/GroupDialog.tsx';
import { MoveDialog } from '../../components/groups/MoveDialog.tsx';
import { Tree } from '../../components/groups/Tree.tsx';
import { pathTo, rowsOf, type TreeNode } from '../../components/groups/tree.ts';
import { useOpenGroups } from '../../components/groups/use-open-groups.ts';
import { notifyDone, notifyFailure, notifyUndo } from '../../components/notify.tsx';
import { call, callVersioned, readAgain, useWrite } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

const route = getRouteApi('/permissions');
const groupsOf = ({ groups }: PermissionGroup): readonly PermissionGroup[] => groups;

const nodeOf = ({ id, name, permissions, groups }: PermissionGroup): TreeNode => ({
  id,
  name,
  count: permissions.length,
  children: groups.map(nodeOf),
});

const read = (id: string) =>
  callVersioned('GET /api/v1/permission-groups/{group_id}', { path: { group_id: id } });

const put = (
  id: string,
  body: { name?: string; description?: string; parent_id?: string | null },
  etag: string | null,
) =>
  call('PUT /api/v1/permission-groups/{group_id}', {
    path: { group_id: id },
    body,
    headers: etag === null ? {} : { 'if-match': etag },
  });

async function putParent(id: string, parentId: string | null): Promise<void> {
  const { etag } = await read(id);
  await put(id, { parent_id: parentId }, etag);
}

async function seenOf(id: string): Promise<SeenGroup> {
  const { result, etag } = await read(id);
  return { etag, fields: { name: result.data.name, description: result.data.description } };
}

type Dialog = { kind: 'create' } | { kind: 'edit'; seen: SeenGroup } | { kind: 'delete' };

export function GroupTree({ groups }: { groups: readonly PermissionGroup[] }): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { group: selectedId } = route.useSearch();
  const nodes = useMemo(() => groups.map(nodeOf), [groups]);
  const [open, toggle] = useOpenGroups('permissionGroups.open', nodes, selectedId);
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const [moving, setMoving] = useState<string | null>(null);
  const close = (): void => setDialog(null);
  const select = (id: string | undefined): void =>
    void navigate({ search: (now) => ({ ...now, group: id, page: undefined }) });
  const chosen = selectedId === undefined ? undefined : pathTo(groups, selectedId, groupsOf).at(-1);
  const offerUndo = (id: string, parentId: string | null): void => {
    const before = pathTo(groups, id, groupsOf);
    const place = parentId === null ? undefined : pathTo(groups, parentId, groupsOf).at(-1);
    notifyUndo(t.roleGroups.moved(before.at(-1)?.name ?? '', place?.name ?? t.roleGroups.root), async () => {
      await putParent(id, before.at(-2)?.id ?? null);
      await readAgain();
    });
  };
  const move = useWrite(
    ({ id, parentId }: { id: string; parentId: string | null }) => putParent(id, parentId),
    (_, { id, parentId }) => {
      setMoving(null);
      offerUndo(id, parentId);
    },
  );
  const drop = async (id: string, parentId: string | null): Promise<void> => {
    try {
      await putParent(id, parentId);
      offerUndo(id, parentId);
    } catch (error) {
      notifyFailure(error);
    }
    await readAgain();
  };
  return (
    <div className="tree-panel">
      <div className="group-head">
        <Button
          size="compact-sm"
          variant={selectedId === undefined ? 'light' : 'subtle'}
          aria-pressed={selectedId === undefined}
          onClick={() => select(undefined)}
        >
          {t.permissions.allGroups}
        </Button>
        <GroupMenu
          chosen={chosen}
          onCreate={() => setDialog({ kind: 'create' })}
          onEdit={(id) =>
            void seenOf(id)
              .then((seen) => setDialog({ kind: 'edit', seen }))
              .catch(notifyFailure)
          }
          onMove={setMoving}
          onDelete={() => setDialog({ kind: 'delete' })}
        />
      </div>
      <Tree
        label={t.permissions.groups}
        nodes={nodes}
        rows={rowsOf(nodes, open, '')}
        selectedId={selectedId}
        countLabel={t.permissions.count}
        onSelect={select}
        onToggle={toggle}
        onMoveTo={can('permission_group.update') ? setMoving : null}
        onDrop={(id, parentId) => void drop(id, parentId)}
      />
      {moving !== null && (
        <MoveDialog
          nodes={nodes}
          id={moving}
          isPending={move.isPending}
          error={move.error}
          onMove={(parentId) => move.run({ id: moving, parentId })}
          onClose={() => {
            setMoving(null);
            move.reset();
          }}
        />
      )}
      {dialog?.kind === 'create' && (
        <GroupDialog
          title={chosen ? t.permissions.newChild : t.permissions.newGroup}
          help={chosen ? t.permissions.childOf(chosen.name) : t.permissions.groupHelp}
          submitLabel={t.common.actions.create}
          seen={{ etag: null, fields: { name: '', description: '' } }}
          save={(fields) =>
            call('POST /api/v1/permission-groups', {
              body: { ...fields, ...(chosen ? { parent_id: chosen.id } : {}) },
            })
          }
          onDone={({ id, name }) => {
            notifyDone(t.permissions.created(name));
            close();
            select(id);
          }}
          onClose={close}
        />
      )}
      {dialog?.kind === 'edit' && chosen && (
        <GroupDialog
          title={t.roleGroups.editTitle(chosen.name)}
          help={t.permissions.editGroupHelp}
          submitLabel={t.common.actions.save}
          seen={dialog.seen}
          save={(fields, etag) => put(chosen.id, fields, etag)}
          reread={() => seenOf(chosen.id)}
          onDone={({ name }) => {
            notifyDone(t.permissions.saved(name));
            close();
          }}
          onClose={close}
        />
      )}
      {dialog?.kind === 'delete' && chosen && (
        <DeleteGroup
          group={chosen}
          onClose={close}
          onGone={() => {
            close();
            select(undefined);
          }}
        />
      )}
    </div>
  );
}

type MenuProps = {
  chosen: PermissionGroup | undefined;
  onCreate: () => void;
  onEdit: (id: string) => void;
  onMove: (id: string) => void;
  onDelete: () => void;
};

function GroupMenu({ chosen, onCreate, onEdit, onMove, onDelete }: MenuProps): ReactElement {
  const { can } = useMe();
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  const blocker =
    chosen && chosen.groups.length + chosen.permissions.length > 0
      ? t.permissions.groupBlocked(chosen.groups.length, chosen.permissions.length)
      : null;
  const update = need('permission_group.update');
  const items = [
    {
      label: chosen ? t.permissions.newChild : t.permissions.newGroup,
      icon: IconFolderPlus,
      reason: need('permission_group.create'),
      run: onCreate,
    },
    ...(chosen
      ? [
          { label: t.permissions.editGroup, icon: IconPencil, reason: update, run: () => onEdit(chosen.id) },
          { label: t.roleGroups.moveTo, icon: IconArrowsMove, reason: update, run: () => onMove(chosen.id) },
          {
            label: t.common.actions.delete,
            icon: IconTrash,
            reason: need('permission_group.delete') ?? blocker,
            run: onDelete,
          },
        ]
      : []),
  ];
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <ActionIcon
          variant="default"
          size="lg"
          aria-label={t.common.actions.moreOf(chosen?.name ?? t.permissions.groups)}
        >
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
  );
}

type DeleteProps = { group: PermissionGroup; onClose: () => void; onGone: () => void };

function DeleteGroup({ group, onClose, onGone }: DeleteProps): ReactElement {
  const deletion = useWrite(
    () => call('DELETE /api/v1/permission-groups/{group_id}', { path: { group_id: group.id } }),
    () => {
      notifyDone(t.permissions.deleted(group.name));
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
      <p>{t.permissions.deleteGroupText}</p>
    </ConfirmDialog>
  );
}
