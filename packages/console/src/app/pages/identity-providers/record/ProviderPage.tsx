// The page of one provider: its settings and what they do, its addresses, a test, and what happened to it.
import { Tabs } from '@mantine/core';
import { IconArrowLeft, IconPlugConnectedX, IconTrash } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { useAuditAction } from '../../../components/audit/use-audit-action.ts';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { PageHeader } from '../../../components/page/PageHeader.tsx';
import { usePageActions } from '../../../components/page/page-actions.ts';
import { Empty, ErrorAlert, ReadErrors } from '../../../components/page/states.tsx';
import { StatusBadge } from '../../../components/text/badges.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { type ReadProvider, updateProvider, useProvider } from '../../../data/identities/providers.ts';
import { useMe } from '../../../data/me.tsx';
import { later, t } from '../../../text.ts';
import '../identity-providers.css';

const route = getRouteApi('/identity-providers/$id');

const SettingsTab = lazy(() => import('./SettingsTab.tsx').then((file) => ({ default: file.SettingsTab })));
const TestDialog = lazy(() => import('./TestDialog.tsx').then((file) => ({ default: file.TestDialog })));
const DeactivateDialog = lazy(() =>
  import('./EndDialogs.tsx').then((file) => ({ default: file.DeactivateDialog })),
);
const DeleteDialog = lazy(() => import('./EndDialogs.tsx').then((file) => ({ default: file.DeleteDialog })));
const AuditTimeline = lazy(() =>
  import('../../../components/audit/AuditTimeline.tsx').then((file) => ({ default: file.AuditTimeline })),
);

const tabs = ['settings', 'activity'] as const;

export function ProviderPage(): ReactElement {
  const { id } = route.useParams();
  const { read, query } = useProvider(id);
  const isMissing = isCode(query.error, 'identity_provider_not_found', 'validation_failed');
  const back = (
    <Link to="/identity-providers" className="recipe-back">
      <IconArrowLeft size={15} aria-hidden className="mirrored" /> {t.common.nav.identityProviders}
    </Link>
  );
  if (read && !isMissing)
    return (
      <>
        {back}
        <Loaded key={read.provider.id} read={read} />
      </>
    );
  return (
    <>
      {back}
      <PageHeader title={t.common.nav.identityProviders} />
      {isMissing && (
        <Empty
          icon={<IconPlugConnectedX size={32} aria-hidden />}
          title={later.identityProviders.missing}
          text={later.identityProviders.missingText}
        />
      )}
      {!isMissing && <ReadErrors of={[query]} />}
      {query.isPending && <LoadingLines />}
    </>
  );
}

type Open = 'test' | 'deactivate' | 'delete';

function Loaded({ read }: { read: ReadProvider }): ReactElement {
  const texts = later.identityProviders;
  const { provider } = read;
  const { can, user } = useMe();
  const navigate = route.useNavigate();
  const { tab = 'settings' } = route.useSearch();
  const [open, setOpen] = useState<Open | null>(null);
  useAuditAction(provider);
  const isSuperuser = user.is_superuser;
  usePageActions(isSuperuser ? [{ label: texts.test.run, run: () => setOpen('test') }] : []);
  const reason = isSuperuser ? null : texts.onlySuperusers;
  const activate = useWrite(
    () => updateProvider(read, { is_active: true }),
    () => notifyDone(texts.activated(provider.name)),
  );
  const mayDeactivate = isSuperuser || can('identity_provider.update');
  const shown = tabs.filter((one) => one !== 'activity' || can('audit_log.read'));
  return (
    <>
      <PageHeader
        title={provider.name}
        note={<StatusBadge status={provider.is_active ? 'active' : 'inactive'} />}
        actions={
          <>
            <ReasonButton reason={reason} onClick={() => setOpen('test')}>
              {texts.test.run}
            </ReasonButton>
            {provider.is_active ? (
              <ReasonButton
                variant="default"
                reason={mayDeactivate ? null : t.common.forbidden.reason('identity_provider.update')}
                onClick={() => setOpen('deactivate')}
              >
                {texts.deactivate}
              </ReasonButton>
            ) : (
              <ReasonButton variant="default" reason={reason} onClick={() => activate.run(undefined)}>
                {texts.activate}
              </ReasonButton>
            )}
            <ReasonButton
              variant="default"
              leftSection={<IconTrash size={16} aria-hidden />}
              reason={reason}
              onClick={() => setOpen('delete')}
            >
              {t.common.actions.delete}
            </ReasonButton>
          </>
        }
      />
      {Boolean(activate.error) && <ErrorAlert error={activate.error} />}
      {!isSuperuser && <p className="muted">{texts.readOnly}</p>}
      <p className="muted provider-line">
        <span>{texts.kinds[provider.kind]}</span>
        <span className="mono">{provider.slug}</span>
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
        <Tabs.Panel value="settings" className="tab-panel">
          <Suspense fallback={<LoadingLines />}>
            <SettingsTab read={read} />
          </Suspense>
        </Tabs.Panel>
        {can('audit_log.read') && (
          <Tabs.Panel value="activity" className="tab-panel">
            <Suspense fallback={<LoadingLines />}>
              <AuditTimeline filter={{ resource_id: provider.id }} headingLevel={2} />
            </Suspense>
          </Tabs.Panel>
        )}
      </Tabs>
      <Suspense>
        {open === 'test' && <TestDialog provider={provider} onClose={() => setOpen(null)} />}
        {open === 'deactivate' && <DeactivateDialog read={read} onClose={() => setOpen(null)} />}
        {open === 'delete' && (
          <DeleteDialog
            read={read}
            onClose={() => setOpen(null)}
            onDeleted={() => navigate({ to: '/identity-providers', replace: true })}
          />
        )}
      </Suspense>
    </>
  );
}
