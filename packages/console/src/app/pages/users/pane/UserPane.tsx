// The pane of one user: who it is, and tabs with the profile, the attributes, the access, the second factors, the identities, the
// sessions, the applications and the activity.
import { Skeleton, Tabs } from '@mantine/core';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { AuditTimeline } from '../../../components/audit/AuditTimeline.tsx';
import { useAuditAction } from '../../../components/audit/use-audit-action.ts';
import { SidePane } from '../../../components/dialogs/SidePane.tsx';
import { ForbiddenPart } from '../../../components/page/Forbidden.tsx';
import { Empty, ErrorAlert } from '../../../components/page/states.tsx';
import { Initials, Tag } from '../../../components/text/badges.tsx';
import { nameOf, useCan } from '../../../data/me.tsx';
import { t, withLaterTexts } from '../../../text.ts';
import { statusOf, useUser } from '../data.ts';
import { type Act, ActDialog } from '../dialogs/ActDialog.tsx';
import { useRules } from '../rules.ts';
import type { UserTab } from '../search.ts';
import { UserStatus } from '../UserStatus.tsx';
import { AccessTab } from './AccessTab.tsx';
import { InvitationPart } from './InvitationPart.tsx';
import { ProfileTab } from './ProfileTab.tsx';
import { SessionsTab } from './SessionsTab.tsx';

const AttributesTab = lazy(() =>
  withLaterTexts(import('./AttributesTab.tsx')).then((file) => ({ default: file.AttributesTab })),
);

const SecurityTab = lazy(() =>
  withLaterTexts(import('../security/SecurityTab.tsx')).then((file) => ({ default: file.SecurityTab })),
);

const ApplicationsTab = lazy(() =>
  withLaterTexts(import('./ApplicationsTab.tsx')).then((file) => ({ default: file.ApplicationsTab })),
);

const IdentitiesTab = lazy(() =>
  withLaterTexts(import('./IdentitiesTab.tsx')).then((file) => ({ default: file.IdentitiesTab })),
);

const tabs = [
  'profile',
  'attributes',
  'access',
  'security',
  'identities',
  'sessions',
  'applications',
  'activity',
] as const;

type Props = { id: string; tab: UserTab; onTab: (tab: UserTab) => void; onClose: () => void };

export function UserPane({ id, tab, onTab, onClose }: Props): ReactElement {
  const read = useUser(id);
  if (!read.user)
    return (
      <SidePane label={t.users.pane} header={<h2>{t.users.pane}</h2>} onClose={onClose}>
        {read.error && !read.isMissing && <ErrorAlert error={read.error} onRetry={read.retry} />}
        {read.isMissing && <Empty title={t.users.missing} text={t.users.missingText} />}
        {!read.error && !read.isMissing && (
          <div role="status" aria-busy="true">
            <span className="visually-hidden">{t.common.list.loading}</span>
            <Skeleton height={32} mb="sm" />
            <Skeleton height={220} />
          </div>
        )}
      </SidePane>
    );
  return <LoadedPane {...{ tab, onTab, onClose }} read={{ ...read, user: read.user }} />;
}

type Read = ReturnType<typeof useUser>;
type LoadedProps = Omit<Props, 'id'> & { read: Read & { user: NonNullable<Read['user']> } };

function LoadedPane({ read, tab, onTab, onClose }: LoadedProps): ReactElement {
  const { user, activity } = read;
  const [act, setAct] = useState<Act | null>(null);
  const rules = useRules(user);
  const mayAudit = useCan('audit_log.read');
  const status = statusOf(user, activity);
  useAuditAction({ id: user.id, name: nameOf(user) });
  return (
    <SidePane
      label={nameOf(user)}
      onClose={onClose}
      header={
        <div className="user-heading">
          <Initials person={user} />
          <div className="user-heading-text">
            <h2>{nameOf(user)}</h2>
            <p className="muted">{user.email}</p>
            <p className="chips">
              <UserStatus of={user} status={status} />
              {user.is_superuser && <Tag tone="accent">{t.common.status.superuser}</Tag>}
              {rules.isSelf && <Tag tone="accent">{t.common.status.you}</Tag>}
              {rules.edit && rules.roles && <Tag>{t.common.forbidden.readOnly}</Tag>}
            </p>
          </div>
        </div>
      }
    >
      {read.error && <ErrorAlert error={read.error} onRetry={read.retry} />}
      <Tabs
        value={tab}
        onChange={(value) => onTab(tabs.find((one) => one === value) ?? 'profile')}
        keepMounted={false}
      >
        <Tabs.List>
          {tabs.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t.users.tabs[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value="profile" className="user-panel">
          {user.invited_at !== null && (
            <InvitationPart user={user} invitation={read.invitation} rules={rules} onAct={setAct} />
          )}
          <ProfileTab user={user} etag={read.etag} status={status} rules={rules} onAct={setAct} />
        </Tabs.Panel>
        <Tabs.Panel value="attributes" className="user-panel">
          <Suspense>
            <AttributesTab user={user} rules={rules} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="access" className="user-panel">
          <AccessTab user={user} rules={rules} />
        </Tabs.Panel>
        <Tabs.Panel value="security" className="user-panel">
          <Suspense>
            <SecurityTab user={user} rules={rules} onUnlock={() => setAct('unlock')} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="identities" className="user-panel">
          <Suspense>
            <IdentitiesTab user={user} rules={rules} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="sessions" className="user-panel">
          <SessionsTab user={user} rules={rules} onEndAll={() => setAct('endSessions')} />
        </Tabs.Panel>
        <Tabs.Panel value="applications" className="user-panel">
          <Suspense>
            <ApplicationsTab user={user} rules={rules} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="activity" className="user-panel">
          {mayAudit ? (
            <AuditTimeline filter={{ resource_id: user.id }} canAct />
          ) : (
            <ForbiddenPart permission="audit_log.read" page={t.users.tabs.activity} />
          )}
        </Tabs.Panel>
      </Tabs>
      {act && <ActDialog act={act} user={user} onClose={() => setAct(null)} onRemoved={onClose} />}
    </SidePane>
  );
}
