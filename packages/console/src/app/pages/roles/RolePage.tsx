// The page of one role: its permissions, who has it, what happened to it.

import type { Role } from '@castellan/sdk';
import { Tabs } from '@mantine/core';
import { IconArrowLeft, IconCopy, IconPencil, IconShieldOff, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactElement, type ReactNode, Suspense, useState } from 'react';
import { useAuditAction } from '../../components/audit/use-audit-action.ts';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Empty, ReadErrors } from '../../components/page/states.tsx';
import { RoleDialog } from '../../components/roles/RoleDialog.tsx';
import { Tag } from '../../components/text/badges.tsx';
import { Day } from '../../components/text/time.tsx';
import type { ReadState } from '../../data/api.ts';
import { type FullRole, type RoleGroupPaths, useFullRole, useRoleGroupPaths } from '../../data/catalogue.ts';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { RoleAuthentication } from './authentication/RoleAuthentication.tsx';
import { PermissionsTab } from './PermissionsTab.tsx';
import './roles.css';

const route = getRouteApi('/roles/$id');
const AuditTimeline = lazy(() =>
  import('../../components/audit/AuditTimeline.tsx').then((module) => ({ default: module.AuditTimeline })),
);
const EditRoleDialog = lazy(() =>
  import('./EditRoleDialog.tsx').then((module) => ({ default: module.EditRoleDialog })),
);
const DeleteRoleDialog = lazy(() =>
  import('./deletion/DeleteRoleDialog.tsx').then((module) => ({ default: module.DeleteRoleDialog })),
);
const HoldersTab = lazy(() =>
  import('./holders/HoldersTab.tsx').then((module) => ({ default: module.HoldersTab })),
);
const tabs = ['permissions', 'users', 'activity'] as const;

export function RolePage(): ReactElement {
  const { id } = route.useParams();
  const { role, query: read, isMissing } = useFullRole(id);
  const { paths, read: readGroups } = useRoleGroupPaths();
  const back = (
    <Link to="/roles" className="back-link">
      <IconArrowLeft size={15} aria-hidden className="mirrored" /> {t.roles.page.breadcrumb}
    </Link>
  );
  if (role && paths) return <Loaded key={role.id} role={role} paths={paths} back={back} read={readGroups} />;
  return (
    <>
      {back}
      <PageHeader title={t.roles.title} />
      {isMissing ? (
        <Empty
          icon={<IconShieldOff size={32} aria-hidden />}
          title={t.roles.page.missing}
          text={t.roles.page.missingText}
        />
      ) : (
        <ReadErrors of={[read, readGroups]} />
      )}
      {(read.isPending || role) && (
        <div className="table-card skeletons" role="status" aria-label={t.common.list.loading}>
          <i />
          <i />
          <i />
        </div>
      )}
    </>
  );
}

type LoadedProps = { role: FullRole; paths: RoleGroupPaths; back: ReactNode; read: ReadState };

function Loaded({ role, paths, back, read }: LoadedProps): ReactElement {
  const navigate = route.useNavigate();
  const { tab = 'permissions' } = route.useSearch();
  const { can } = useMe();
  const [dialog, setDialog] = useState<'edit' | 'clone' | 'delete' | null>(null);
  const close = (): void => setDialog(null);
  const path = role.role_group_id && paths.get(role.role_group_id);
  return (
    <>
      {back}
      <PageHeader
        title={role.name}
        note={role.is_system ? <Tag>{t.common.status.system}</Tag> : undefined}
        actions={<Actions role={role} onOpen={setDialog} />}
      />
      <p className="role-facts muted">
        {role.description && <span>{role.description}</span>}
        {path && <span>{path.join(' / ')}</span>}
        <span>
          {t.roles.page.created} <Day at={role.created_at} />
        </span>
        <span>
          {t.roles.page.changed} <Day at={role.updated_at} />
        </span>
      </p>
      <ReadErrors of={[read]} />
      <RoleAuthentication role={role} />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({
            search: (now) => ({ ...now, tab: tabs.find((one) => one === value) }),
            replace: true,
          })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="permissions">{t.roles.page.tabs.permissions}</Tabs.Tab>
          {can('access.explain') && <Tabs.Tab value="users">{t.roles.page.tabs.users}</Tabs.Tab>}
          {can('audit_log.read') && <Tabs.Tab value="activity">{t.roles.page.tabs.activity}</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="permissions" className="tab-panel" keepMounted>
          <PermissionsTab role={role} />
        </Tabs.Panel>
        {can('access.explain') && (
          <Tabs.Panel value="users" className="tab-panel">
            <Suspense>
              <HoldersTab role={role} />
            </Suspense>
          </Tabs.Panel>
        )}
        {can('audit_log.read') && (
          <Tabs.Panel value="activity" className="tab-panel">
            <Suspense>
              <AuditTimeline filter={{ resource_id: role.id }} />
            </Suspense>
          </Tabs.Panel>
        )}
      </Tabs>
      <Suspense>{dialog === 'edit' && <EditRoleDialog role={role} onClose={close} />}</Suspense>
      {dialog === 'clone' && (
        <RoleDialog
          original={role}
          onClose={close}
          onCreated={({ id }) => {
            close();
            void navigate({ to: '/roles/$id', params: { id } });
          }}
        />
      )}
      <Suspense>
        {dialog === 'delete' && (
          <DeleteRoleDialog
            role={role}
            onClose={close}
            onDeleted={() => navigate({ to: '/roles', replace: true })}
          />
        )}
      </Suspense>
    </>
  );
}

type ActionsProps = { role: Role; onOpen: (dialog: 'edit' | 'clone' | 'delete') => void };

function Actions({ role, onOpen }: ActionsProps): ReactElement {
  const { can } = useMe();
  const need = (permission: string): string | null =>
    can(permission) ? null : t.common.forbidden.reason(permission);
  const all = [
    { name: 'edit' as const, label: t.roles.page.edit, icon: IconPencil, reason: need('role.update') },
    { name: 'clone' as const, label: t.roles.clone, icon: IconCopy, reason: need('role.create') },
    {
      name: 'delete' as const,
      label: t.common.actions.delete,
      icon: IconTrash,
      reason: role.is_system ? t.roles.page.systemDelete : need('role.delete'),
    },
  ];
  useAuditAction(role);
  usePageActions(
    all
      .filter(({ reason }) => reason === null)
      .map(({ name, label }) => ({ label: `${label} · ${role.name}`, run: () => onOpen(name) })),
  );
  return (
    <>
      {all.map(({ name, label, icon: Icon, reason }) => (
        <ReasonButton
          key={name}
          variant="default"
          leftSection={<Icon size={16} aria-hidden />}
          reason={reason}
          onClick={() => onOpen(name)}
        >
          {label}
        </ReasonButton>
      ))}
    </>
  );
}
