// The permission groups as a tree: choosing one filters the list; groups are created, renamed, moved and deleted here.
import type { PermissionGroup } from '@castellan/sdk';
import { Button, Modal } from '@mantine/core';
import { IconArrowsMove, IconFolderPlus, IconHistory, IconPencil, IconTrash } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useMemo, useState } from 'react';
import { useAuditAction } from '../../components/audit/use-audit-action.ts';
import { dropGroup, type GroupAct, GroupDialogs } from '../../components/groups/GroupDialogs.tsx';
import { type GroupAction, GroupMenu } from '../../components/groups/GroupMenu.tsx';
import { Tree } from '../../components/groups/Tree.tsx';
import { pathTo, rowsOf, type TreeNode } from '../../components/groups/tree.ts';
import { useOpenGroups } from '../../components/groups/use-open-groups.ts';
import { permissionGroupKind } from '../../data/groups.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';

const AuditTimeline = lazy(() =>
  import('../../components/audit/AuditTimeline.tsx').then((module) => ({ default: module.AuditTimeline })),
);
const route = getRouteApi('/permissions');
const groupsOf = ({ groups }: PermissionGroup): readonly PermissionGroup[] => groups;

const nodeOf = ({ id, name, permissions, groups }: PermissionGroup): TreeNode => ({
  id,
  name,
  count: permissions.length,
  children: groups.map(nodeOf),
});

/** What the dialogs say about permission groups. */
const textsOf = () => ({
  newGroup: t.permissions.newGroup,
  newGroupHelp: t.permissions.groupHelp,
  newChild: t.permissions.newChild,
  newChildHelp: t.permissions.childOf,
  editHelp: t.permissions.editGroupHelp,
  deleteHelp: t.permissions.deleteGroupText,
});

export function GroupTree({ groups }: { groups: readonly PermissionGroup[] }): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { group: selectedId } = route.useSearch();
  const nodes = useMemo(() => groups.map(nodeOf), [groups]);
  const [open, toggle] = useOpenGroups('permissionGroups.open', nodes, selectedId);
  const [act, setAct] = useState<GroupAct | null>(null);
  const [activityOf, setActivityOf] = useState<PermissionGroup | null>(null);
  const select = (id: string | undefined): void =>
    void navigate({ search: (now) => ({ ...now, group: id, page: undefined }) });
  const chosen = selectedId === undefined ? undefined : pathTo(groups, selectedId, groupsOf).at(-1);
  const actions = useActions(chosen, setAct, setActivityOf);
  useAuditAction(chosen);
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
        <GroupMenu name={chosen?.name ?? t.permissions.groups} actions={actions} />
      </div>
      <Tree
        label={t.permissions.groups}
        nodes={nodes}
        rows={rowsOf(nodes, open, '')}
        selectedId={selectedId}
        countLabel={t.permissions.count}
        onSelect={select}
        onToggle={toggle}
        onMoveTo={can('permission_group.update') ? (id) => setAct({ kind: 'move', id }) : null}
        onDrop={(id, parentId) => dropGroup(permissionGroupKind, nodes, id, parentId)}
      />
      {act && (
        <GroupDialogs
          kind={permissionGroupKind}
          texts={textsOf()}
          nodes={nodes}
          act={act}
          onCreated={select}
          onDeleted={() => select(undefined)}
          onClose={() => setAct(null)}
        />
      )}
      {activityOf && <ActivityDialog group={activityOf} onClose={() => setActivityOf(null)} />}
    </div>
  );
}

function useActions(
  chosen: PermissionGroup | undefined,
  act: (act: GroupAct) => void,
  showActivity: (group: PermissionGroup) => void,
): GroupAction[] {
  const { can } = useMe();
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  const create = {
    label: chosen ? t.permissions.newChild : t.permissions.newGroup,
    icon: IconFolderPlus,
    reason: need('permission_group.create'),
    run: () => act({ kind: 'create', parent: chosen ?? null }),
  };
  if (!chosen) return [create];
  const { id, groups, permissions } = chosen;
  const update = need('permission_group.update');
  const isBlocked = groups.length + permissions.length > 0;
  const blocker = isBlocked ? t.permissions.groupBlocked(groups.length, permissions.length) : null;
  return [
    create,
    {
      label: t.permissions.editGroup,
      icon: IconPencil,
      reason: update,
      run: () => act({ kind: 'edit', group: chosen }),
    },
    {
      label: t.roleGroups.moveTo,
      icon: IconArrowsMove,
      reason: update,
      run: () => act({ kind: 'move', id }),
    },
    {
      label: t.permissions.tabs.activity,
      icon: IconHistory,
      reason: need('audit_log.read'),
      run: () => showActivity(chosen),
    },
    {
      label: t.common.actions.delete,
      icon: IconTrash,
      reason: need('permission_group.delete') ?? blocker,
      run: () => act({ kind: 'delete', group: chosen }),
    },
  ];
}

function ActivityDialog({ group, onClose }: { group: PermissionGroup; onClose: () => void }): ReactElement {
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={t.permissions.activityOf(group.name)}
      closeButtonProps={{ 'aria-label': t.common.actions.close }}
    >
      <Suspense>
        <AuditTimeline filter={{ resource_id: group.id }} />
      </Suspense>
    </Modal>
  );
}
