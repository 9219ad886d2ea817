// The page Role groups: the tree at the left, the chosen group beside it.
import type { RoleGroup } from '@castellan/sdk';
import { Button, TextInput } from '@mantine/core';
import { IconFolders, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactElement, useMemo, useState } from 'react';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { dropGroup, type GroupAct, GroupDialogs } from '../../components/groups/GroupDialogs.tsx';
import { Tree } from '../../components/groups/Tree.tsx';
import { allIds, pathTo, rowsOf, type TreeNode } from '../../components/groups/tree.ts';
import { useOpenGroups } from '../../components/groups/use-open-groups.ts';
import { useTypedText } from '../../components/lists/debounce.ts';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Empty, ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { allRoleGroups } from '../../data/catalogue.ts';
import { roleGroupKind } from '../../data/groups.ts';
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

/** What the dialogs say about role groups. */
const textsOf = () => ({
  newGroup: t.roleGroups.newGroup,
  newChild: t.roleGroups.newChild,
  newChildHelp: t.roleGroups.childOf,
  deleteHelp: t.roleGroups.deleteText,
});

export function RoleGroups(): ReactElement {
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { g: selectedId, q = '' } = route.useSearch();
  const groups = useQuery(allRoleGroups);
  const list = groups.data ?? noGroups;
  const nodes = useMemo(() => list.map(nodeOf), [list]);
  const [open, toggle] = useOpenGroups('roleGroups.open', nodes, selectedId);
  const [act, setAct] = useState<GroupAct | null>(null);
  const [typed, setTyped] = useTypedText(
    q,
    (text) => void navigate({ search: (now) => ({ ...now, q: text || undefined }), replace: true }),
  );
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  usePageActions(
    can('role_group.create')
      ? [{ label: t.roleGroups.newGroup, run: () => setAct({ kind: 'create', parent: null }) }]
      : [],
  );
  const select = (id: string): void => void navigate({ search: (now) => ({ ...now, g: id }) });
  const path = selectedId === undefined ? [] : pathTo(list, selectedId, childGroups);
  const group = path.at(-1);
  const rows = rowsOf(nodes, open, q);
  const count = allIds(nodes).length;
  return (
    <>
      <PageHeader
        title={t.roleGroups.title}
        note={groups.data ? t.roleGroups.count(count) : null}
        actions={
          <ReasonButton
            leftSection={<IconPlus size={16} aria-hidden />}
            reason={need('role_group.create')}
            onClick={() => setAct({ kind: 'create', parent: null })}
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
              <Button onClick={() => setAct({ kind: 'create', parent: null })}>
                {t.roleGroups.newGroup}
              </Button>
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
                onMoveTo={can('role_group.update') ? (id) => setAct({ kind: 'move', id }) : null}
                onDrop={(id, parentId) => dropGroup(roleGroupKind, nodes, id, parentId)}
              />
            )}
          </div>
          <GroupDetail
            key={selectedId ?? ''}
            path={path}
            isMissing={selectedId !== undefined && group === undefined}
            need={need}
            onAct={setAct}
            onOpen={select}
          />
        </div>
      )}
      {act && (
        <GroupDialogs
          kind={roleGroupKind}
          texts={textsOf()}
          nodes={nodes}
          act={act}
          onCreated={select}
          onDeleted={() => void navigate({ search: ({ g: _g, ...now }) => now, replace: true })}
          onClose={() => setAct(null)}
        />
      )}
    </>
  );
}

const noGroups: RoleGroup[] = [];
