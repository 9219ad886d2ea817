// The page Role groups: the tree at the left, the chosen group beside it.
import type { RoleGroup } from '@castellan/sdk';
import { Button, TextInput } from '@mantine/core';
import { IconFolders, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { useTypedText } from '../../components/debounce.ts';
import { GroupDialog } from '../../components/groups/GroupDialog.tsx';
import { MoveDialog } from '../../components/groups/MoveDialog.tsx';
import { Tree } from '../../components/groups/Tree.tsx';
import { allIds, pathTo, rowsOf, type TreeNode } from '../../components/groups/tree.ts';
import { useOpenGroups } from '../../components/groups/use-open-groups.ts';
import { notifyDone, notifyFailure, notifyUndo } from '../../components/notify.tsx';
import { PageHeader } from '../../components/PageHeader.tsx';
import { ReasonButton } from '../../components/ReasonButton.tsx';
import { Empty, ErrorAlert, NoMatch } from '../../components/states.tsx';
import { call, callVersioned, readAgain, useWrite } from '../../data/api.ts';
import { allRoleGroups } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { GroupDetail } from './GroupDetail.tsx';

const route = getRouteApi('/role-groups');

const nodeOf = ({ id, name, roles, children }: RoleGroup): TreeNode => ({
  id,
  name,
  count: roles.length,
  children: children.map(nodeOf),
});

const childGroups = ({ children }: RoleGroup): readonly RoleGroup[] => children;

/** Moves a group on the version that it has now, so that a change at the same time is refused. */
async function putParent(id: string, parentId: string | null): Promise<void> {
  const path = { group_id: id };
  const { etag } = await callVersioned('GET /api/v1/role-groups/{group_id}', { path });
  await call('PUT /api/v1/role-groups/{group_id}', {
    path,
    body: { parent_id: parentId },
    headers: etag === null ? {} : { 'if-match': etag },
  });
}

type Move = { id: string; parentId: string | null };

export function RoleGroups(): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { g: selectedId, q = '' } = route.useSearch();
  const groups = useQuery(allRoleGroups);
  const list = groups.data ?? noGroups;
  const nodes = useMemo(() => list.map(nodeOf), [list]);
  const [open, toggle] = useOpenGroups('roleGroups.open', nodes, selectedId);
  const [creating, setCreating] = useState<{ parent: RoleGroup | null } | null>(null);
  const [moving, setMoving] = useState<string | null>(null);
  const [typed, setTyped] = useTypedText(
    q,
    (text) => void navigate({ search: (now) => ({ ...now, q: text || undefined }), replace: true }),
  );
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  const select = (id: string): void => void navigate({ search: (now) => ({ ...now, g: id }) });
  const offerUndo = ({ id, parentId }: Move): void => {
    const before = pathTo(list, id, childGroups);
    const place = parentId === null ? undefined : pathTo(list, parentId, childGroups).at(-1);
    notifyUndo(t.roleGroups.moved(before.at(-1)?.name ?? '', place?.name ?? t.roleGroups.root), async () => {
      await putParent(id, before.at(-2)?.id ?? null);
      await readAgain();
    });
  };
  const move = useWrite(
    ({ id, parentId }: Move) => putParent(id, parentId),
    (_, moved) => {
      setMoving(null);
      offerUndo(moved);
    },
  );
  const drop = async (moved: Move): Promise<void> => {
    try {
      await putParent(moved.id, moved.parentId);
      offerUndo(moved);
    } catch (error) {
      notifyFailure(error);
    }
    await readAgain();
  };
  const path = selectedId === undefined ? [] : pathTo(list, selectedId, childGroups);
  const group = path.at(-1);
  const rows = rowsOf(nodes, open, q);
  const count = allIds(nodes).length;
  return (
    <>
      <PageHeader
        title={t.roleGroups.title}
        note={groups.data && t.roleGroups.count(count)}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={need('role_group.create')}
            onClick={() => setCreating({ parent: null })}
          >
            {t.roleGroups.newGroup}
          </ReasonButton>
        }
      />
      {groups.error && <ErrorAlert error={groups.error} onRetry={() => void groups.refetch()} />}
      {groups.isPending && (
        <div className="table-card skeletons" role="status" aria-label={t.common.list.loading}>
          {['a', 'b', 'c', 'd', 'e', 'f'].map((key) => (
            <i key={key} />
          ))}
        </div>
      )}
      {groups.data && count === 0 && (
        <Empty
          icon={<IconFolders size={32} aria-hidden />}
          title={t.roleGroups.emptyTitle}
          text={t.roleGroups.emptyText}
          action={
            can('role_group.create') && (
              <Button onClick={() => setCreating({ parent: null })}>{t.roleGroups.newGroup}</Button>
            )
          }
        />
      )}
      {count > 0 && (
        <div className="groups-layout">
          <div className="tree-panel">
            <TextInput
              type="search"
              aria-label={t.roleGroups.search}
              placeholder={t.roleGroups.search}
              leftSection={<IconSearch size={16} aria-hidden />}
              value={typed}
              onChange={(event) => setTyped(event.currentTarget.value)}
            />
            {rows.length === 0 ? (
              <NoMatch onClear={() => setTyped('')} />
            ) : (
              <Tree
                label={t.roleGroups.tree}
                nodes={nodes}
                rows={rows}
                selectedId={selectedId}
                countLabel={t.roleGroups.roles}
                onSelect={select}
                onToggle={toggle}
                onMoveTo={can('role_group.update') ? setMoving : null}
                onDrop={(id, parentId) => void drop({ id, parentId })}
              />
            )}
          </div>
          <GroupDetail
            key={selectedId ?? ''}
            path={path}
            isMissing={selectedId !== undefined && group === undefined}
            need={need}
            onMove={() => selectedId !== undefined && setMoving(selectedId)}
            onNewChild={() => setCreating({ parent: group ?? null })}
            onGone={() => void navigate({ search: ({ g: _g, ...now }) => now, replace: true })}
            onOpen={select}
          />
        </div>
      )}
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
      {creating && (
        <GroupDialog
          title={creating.parent ? t.roleGroups.newChild : t.roleGroups.newGroup}
          submitLabel={t.common.actions.create}
          {...(creating.parent ? { help: t.roleGroups.childOf(creating.parent.name) } : {})}
          seen={{ etag: null, fields: { name: '', description: '' } }}
          save={(fields) =>
            call('POST /api/v1/role-groups', {
              body: { ...fields, ...(creating.parent ? { parent_id: creating.parent.id } : {}) },
            })
          }
          onDone={({ id, name }) => {
            notifyDone(t.roleGroups.created(name));
            setCreating(null);
            select(id);
          }}
          onClose={() => setCreating(null)}
        />
      )}
    </>
  );
}

const noGroups: RoleGroup[] = [];
