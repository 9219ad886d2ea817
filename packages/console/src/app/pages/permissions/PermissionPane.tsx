// The pane of one permission: which roles have it, who holds it, what happened to it, and its deletion.
import { Button, Tabs } from '@mantine/core';
import { IconRoute, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { useAuditAction } from '../../components/audit/use-audit-action.ts';
import { SidePane } from '../../components/dialogs/SidePane.tsx';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { usePageActions } from '../../components/page/page-actions.ts';
import { Tag } from '../../components/text/badges.tsx';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { PermissionAuthentication } from './authentication/PermissionAuthentication.tsx';
import { DeletePermissionDialog } from './DeletePermissionDialog.tsx';
import { PermissionHolders } from './PermissionHolders.tsx';
import type { ListedPermission } from './permission-list.ts';

const AuditTimeline = lazy(() =>
  import('../../components/audit/AuditTimeline.tsx').then((module) => ({ default: module.AuditTimeline })),
);
const route = getRouteApi('/permissions');

const MOST_NAMED = 5;

type Props = { permission: ListedPermission; onClose: () => void | Promise<void> };

export function PermissionPane({ permission, onClose }: Props): ReactElement {
  const { can } = useMe();
  const { tab = 'access' } = route.useSearch();
  const navigate = route.useNavigate();
  const [isDeleting, setIsDeleting] = useState(false);
  const { name, description, isBuiltin, usedBy } = permission;
  // System roles have every permission: they do not keep one from being deleted.
  const blockers = (usedBy ?? []).filter((role) => !role.is_system);
  const names = blockers.slice(0, MOST_NAMED).map((role) => role.name);
  const rest = blockers.length - names.length;
  const reason = isBuiltin
    ? t.permissions.builtinDelete
    : !can('permission.delete')
      ? t.common.forbidden.reason('permission.delete')
      : names.length > 0
        ? t.permissions.usedDelete([...names, ...(rest > 0 ? [t.common.list.more(rest)] : [])].join(', '))
        : null;
  useAuditAction(permission);
  usePageActions(
    reason === null
      ? [{ label: `${t.common.actions.delete} · ${name}`, run: () => setIsDeleting(true) }]
      : [],
  );
  return (
    <SidePane
      label={t.permissions.pane}
      onClose={onClose}
      header={
        <>
          <h2 className="mono permission-name">{name}</h2>
          {isBuiltin && <Tag>{t.permissions.builtin}</Tag>}
        </>
      }
    >
      {description && <p>{description}</p>}
      <div className="page-actions">
        <Button
          renderRoot={(props) => <Link to="/access" search={{ permission: name }} {...props} />}
          variant="default"
          leftSection={<IconRoute size={16} aria-hidden />}
        >
          {t.permissions.explain}
        </Button>
        <ReasonButton
          variant="default"
          leftSection={<IconTrash size={16} aria-hidden />}
          reason={reason}
          onClick={() => setIsDeleting(true)}
        >
          {t.common.actions.delete}
        </ReasonButton>
      </div>
      {reason && <p className="muted">{reason}</p>}
      <PermissionAuthentication permission={permission} />
      <Tabs
        value={can('audit_log.read') ? tab : 'access'}
        keepMounted={false}
        onChange={(chosen) =>
          void navigate({
            search: (now) => ({ ...now, tab: chosen === 'activity' ? 'activity' : undefined }),
            replace: true,
          })
        }
      >
        <Tabs.List>
          <Tabs.Tab value="access">{t.permissions.tabs.access}</Tabs.Tab>
          {can('audit_log.read') && <Tabs.Tab value="activity">{t.permissions.tabs.activity}</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="access" className="tab-panel">
          {usedBy && (
            <section>
              <h3 className="section-title">{t.permissions.inRoles}</h3>
              {usedBy.length === 0 ? (
                <p className="muted">{t.permissions.inNoRole}</p>
              ) : (
                <p className="chips permission-roles">
                  {usedBy.map((role) => (
                    <Link key={role.id} to="/roles/$id" params={{ id: role.id }} className="chip">
                      {role.name}
                    </Link>
                  ))}
                </p>
              )}
            </section>
          )}
          {can('access.explain') && <PermissionHolders permission={permission} />}
        </Tabs.Panel>
        <Tabs.Panel value="activity" className="tab-panel">
          <Suspense>
            <AuditTimeline filter={{ resource_id: permission.id }} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
      {isDeleting && (
        <DeletePermissionDialog
          permission={permission}
          onClose={() => setIsDeleting(false)}
          onDeleted={onClose}
        />
      )}
    </SidePane>
  );
}
