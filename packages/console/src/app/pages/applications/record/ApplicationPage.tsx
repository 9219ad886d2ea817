// The page of one application: its settings, who may sign in and who has access, its tokens and secrets, what
// happened to it.
import { Tabs } from '@mantine/core';
import { IconAppsOff, IconArrowLeft, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { useAuditAction } from '../../../components/audit/use-audit-action.ts';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { PageHeader } from '../../../components/page/PageHeader.tsx';
import { Empty, ReadErrors } from '../../../components/page/states.tsx';
import { StatusBadge } from '../../../components/text/badges.tsx';
import { type ReadApplication, useApplication } from '../../../data/applications.ts';
import { isCode } from '../../../data/errors.ts';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import { SettingsTab } from '../settings/SettingsTab.tsx';
import { DeleteDialog } from './DeleteDialog.tsx';
import '../applications.css';

const route = getRouteApi('/applications/$id');
const SignInTab = lazy(() => import('../tabs/SignInTab.tsx').then((file) => ({ default: file.SignInTab })));
const ResourcesTab = lazy(() =>
  import('../tabs/ResourcesTab.tsx').then((file) => ({ default: file.ResourcesTab })),
);
const Secrets = lazy(() => import('../tabs/Secrets.tsx').then((file) => ({ default: file.Secrets })));
const PeopleTab = lazy(() => import('../tabs/PeopleTab.tsx').then((file) => ({ default: file.PeopleTab })));
const NoticesTab = lazy(() =>
  import('../tabs/NoticesTab.tsx').then((file) => ({ default: file.NoticesTab })),
);
const ClaimsTab = lazy(() => import('../tabs/ClaimsTab.tsx').then((file) => ({ default: file.ClaimsTab })));
const AuditTimeline = lazy(() =>
  import('../../../components/audit/AuditTimeline.tsx').then((file) => ({ default: file.AuditTimeline })),
);

const tabs = ['settings', 'access', 'tokens', 'secrets', 'people', 'notices', 'claims', 'activity'] as const;

export function ApplicationPage(): ReactElement {
  const { id } = route.useParams();
  const { read, query } = useApplication(id);
  const isMissing = isCode(query.error, 'application_not_found', 'validation_failed');
  const back = (
    <Link to="/applications" className="recipe-back">
      <IconArrowLeft size={15} aria-hidden className="mirrored" /> {t.common.nav.applications}
    </Link>
  );
  if (read && !isMissing)
    return (
      <>
        {back}
        <Loaded key={read.application.id} read={read} />
      </>
    );
  return (
    <>
      {back}
      <PageHeader title={t.common.nav.applications} />
      {isMissing && (
        <Empty
          icon={<IconAppsOff size={32} aria-hidden />}
          title={later.applications.page.missing}
          text={later.applications.page.missingText}
        />
      )}
      {!isMissing && <ReadErrors of={[query]} />}
      {query.isPending && <LoadingLines />}
    </>
  );
}

function Loaded({ read }: { read: ReadApplication }): ReactElement {
  const texts = later.applications.page;
  const { application } = read;
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { tab = 'settings', person } = route.useSearch();
  const [isDeleting, setDeleting] = useState(false);
  useAuditAction(application);
  const shown = tabs.filter((one) => one !== 'activity' || can('audit_log.read'));
  return (
    <>
      <PageHeader
        title={application.name}
        note={<StatusBadge status={application.is_active ? 'active' : 'inactive'} />}
        actions={
          <ReasonButton
            variant="default"
            leftSection={<IconTrash size={16} aria-hidden />}
            reason={can('application.delete') ? null : t.common.forbidden.reason('application.delete')}
            onClick={() => setDeleting(true)}
          >
            {t.common.actions.delete}
          </ReasonButton>
        }
      />
      <p className="muted application-facts">
        <span>{later.applications.types[application.type]}</span>
        <span className="mono">{application.client_id}</span>
      </p>
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
        <Tabs.List aria-label={texts.tabs.label}>
          {shown.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {texts.tabs[one]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Suspense fallback={<LoadingLines />}>
          <Tabs.Panel value="settings" className="tab-panel">
            <SettingsTab read={read} />
          </Tabs.Panel>
          <Tabs.Panel value="access" className="tab-panel">
            <SignInTab read={read} />
          </Tabs.Panel>
          <Tabs.Panel value="tokens" className="tab-panel">
            <ResourcesTab read={read} />
          </Tabs.Panel>
          <Tabs.Panel value="secrets" className="tab-panel">
            <Secrets application={application} />
          </Tabs.Panel>
          <Tabs.Panel value="people" className="tab-panel">
            <PeopleTab
              application={application}
              person={person}
              onPerson={(id) => void navigate({ search: (now) => ({ ...now, person: id }), replace: true })}
            />
          </Tabs.Panel>
          <Tabs.Panel value="notices" className="tab-panel">
            <NoticesTab application={application} />
          </Tabs.Panel>
          <Tabs.Panel value="claims" className="tab-panel">
            <ClaimsTab application={application} />
          </Tabs.Panel>
          {can('audit_log.read') && (
            <Tabs.Panel value="activity" className="tab-panel">
              <AuditTimeline filter={{ resource_id: application.id }} headingLevel={2} />
            </Tabs.Panel>
          )}
        </Suspense>
      </Tabs>
      {isDeleting && (
        <DeleteDialog
          read={read}
          onClose={() => setDeleting(false)}
          onDeleted={() => navigate({ to: '/applications', replace: true })}
        />
      )}
    </>
  );
}
