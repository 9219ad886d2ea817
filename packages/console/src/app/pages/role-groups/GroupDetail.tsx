// One role group: its path, what can be done with it, its roles, and what happened to it.
import type { RoleGroup } from '@castellan/sdk';
import { Tabs } from '@mantine/core';
import {
  IconArrowsMove,
  IconCopy,
  IconFolderPlus,
  IconFolderQuestion,
  IconPencil,
  IconTrash,
} from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useEffect, useRef, useState } from 'react';
import { useAuditAction } from '../../components/audit/use-audit-action.ts';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import type { GroupAct } from '../../components/groups/GroupDialogs.tsx';
import { GroupMenu } from '../../components/groups/GroupMenu.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Empty } from '../../components/page/states.tsx';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { CloneDialog } from './CloneDialog.tsx';
import { GroupRoles } from './GroupRoles.tsx';

const AuditTimeline = lazy(() =>
  import('../../components/audit/AuditTimeline.tsx').then((module) => ({ default: module.AuditTimeline })),
);
const route = getRouteApi('/role-groups');

type Props = {
  /** From the root to the group; empty without one. */
  path: readonly RoleGroup[];
  isMissing: boolean;
  /** Why the person may not; null if they may. */
  need: (permission: string) => string | null;
  onAct: (act: GroupAct) => void;
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

type DetailProps = Omit<Props, 'isMissing'> & { group: RoleGroup };

function Detail({ group, path, need, onAct, onOpen }: DetailProps): ReactElement {
  const { can } = useMe();
  const { tab = 'roles' } = route.useSearch();
  const navigate = route.useNavigate();
  const [isCloning, setIsCloning] = useState(false);
  const section = useRef<HTMLElement>(null);
  // On phones, it stands below the tree.
  useEffect(() => {
    if (matchMedia('(max-width: 48em)').matches) section.current?.scrollIntoView();
  }, []);
  const isBlocked = group.children.length + group.roles.length > 0;
  const blocker = isBlocked ? t.roleGroups.blocked(group.children.length, group.roles.length) : null;
  const update = need('role_group.update');
  const create = need('role_group.create');
  const actions = [
    {
      label: t.roleGroups.newChild,
      icon: IconFolderPlus,
      reason: create,
      run: () => onAct({ kind: 'create', parent: group }),
    },
    {
      label: t.roleGroups.edit,
      icon: IconPencil,
      reason: update,
      run: () => onAct({ kind: 'edit', group }),
    },
    { label: t.roleGroups.clone, icon: IconCopy, reason: create, run: () => setIsCloning(true) },
    {
      label: t.common.actions.delete,
      icon: IconTrash,
      reason: need('role_group.delete') ?? blocker,
      run: () => onAct({ kind: 'delete', group }),
    },
  ];
  const moveTo = {
    label: t.roleGroups.moveTo,
    reason: update,
    run: () => onAct({ kind: 'move', id: group.id }),
  };
  useAuditAction(group);
  usePageActions(
    [moveTo, ...actions]
      .filter(({ reason }) => reason === null)
      .map(({ label, run }) => ({ label: `${label} · ${group.name}`, run })),
  );
  return (
    <section ref={section} className="panel group-detail" aria-label={group.name}>
      <div>
        {path.length > 1 && <p className="muted group-path">{path.map(({ name }) => name).join(' / ')}</p>}
        <div className="group-head">
          <h2>{group.name}</h2>
          <span className="page-actions">
            <ReasonButton
              variant="default"
              leftSection={<IconArrowsMove size={16} aria-hidden />}
              reason={moveTo.reason}
              onClick={moveTo.run}
            >
              {moveTo.label}
            </ReasonButton>
            <GroupMenu name={group.name} actions={actions} />
          </span>
        </div>
        {group.description && <p className="muted">{group.description}</p>}
      </div>
      {blocker && <p className="muted">{blocker}</p>}
      <Tabs
        value={can('audit_log.read') ? tab : 'roles'}
        keepMounted={false}
        onChange={(chosen) =>
          void navigate({
            search: (now) => ({ ...now, tab: chosen === 'activity' ? 'activity' : undefined }),
            replace: true,
          })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="roles">{t.common.nav.roles}</Tabs.Tab>
          {can('audit_log.read') && <Tabs.Tab value="activity">{t.roleGroups.activity}</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="roles" className="tab-panel">
          <GroupRoles group={group} reason={update} />
        </Tabs.Panel>
        <Tabs.Panel value="activity" className="tab-panel">
          <Suspense>
            <AuditTimeline filter={{ resource_id: group.id }} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      {isCloning && <CloneDialog group={group} onCloned={onOpen} onClose={() => setIsCloning(false)} />}
    </section>
  );
}
