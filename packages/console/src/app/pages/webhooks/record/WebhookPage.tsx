// The page of one webhook: how it does, what can be done with it, and its parts.
import { Tabs } from '@mantine/core';
import { IconArrowLeft, IconTrash, IconWebhookOff } from '@tabler/icons-react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState } from 'react';
import { useAuditAction } from '../../../components/audit/use-audit-action.ts';
import { ReasonButton } from '../../../components/forms/ReasonButton.tsx';
import { LoadingLines } from '../../../components/page/LoadingLines.tsx';
import { notifyDone } from '../../../components/page/notify.tsx';
import { PageHeader } from '../../../components/page/PageHeader.tsx';
import { usePageActions } from '../../../components/page/page-actions.ts';
import { Empty, ErrorAlert, ReadErrors } from '../../../components/page/states.tsx';
import { useWrite } from '../../../data/api.ts';
import { isCode } from '../../../data/errors.ts';
import { useMe } from '../../../data/me.tsx';
import { type ReadWebhook, updateWebhook, useWebhook } from '../../../data/webhooks/webhooks.ts';
import { later, t } from '../../../text.ts';
import { missingFor } from '../permissions.ts';
import { Status } from '../Status.tsx';
import { Facts } from './Facts.tsx';
import '../webhooks.css';

const route = getRouteApi('/webhooks/$id');

const DeliveriesTab = lazy(() =>
  import('../deliveries/DeliveriesTab.tsx').then((file) => ({ default: file.DeliveriesTab })),
);
const SettingsTab = lazy(() => import('./SettingsTab.tsx').then((file) => ({ default: file.SettingsTab })));
const SecretsTab = lazy(() => import('./SecretsTab.tsx').then((file) => ({ default: file.SecretsTab })));
const AuditTimeline = lazy(() =>
  import('../../../components/audit/AuditTimeline.tsx').then((file) => ({ default: file.AuditTimeline })),
);
const TestDialog = lazy(() => import('./TestDialog.tsx').then((file) => ({ default: file.TestDialog })));
const PauseDialog = lazy(() => import('./EndDialogs.tsx').then((file) => ({ default: file.PauseDialog })));
const DeleteDialog = lazy(() => import('./EndDialogs.tsx').then((file) => ({ default: file.DeleteDialog })));

const tabs = ['deliveries', 'settings', 'secrets', 'activity'] as const;

export function WebhookPage(): ReactElement {
  const { id } = route.useParams();
  const { read, query } = useWebhook(id);
  const isMissing = isCode(query.error, 'webhook_not_found', 'validation_failed');
  const back = (
    <Link to="/webhooks" className="webhook-back">
      <IconArrowLeft size={15} aria-hidden className="mirrored" /> {t.common.nav.webhooks}
    </Link>
  );
  if (read && !isMissing)
    return (
      <>
        {back}
        <Loaded key={read.webhook.id} read={read} />
      </>
    );
  return (
    <>
      {back}
      <PageHeader title={t.common.nav.webhooks} />
      {isMissing && (
        <Empty
          icon={<IconWebhookOff size={32} aria-hidden />}
          title={later.webhooks.missing}
          text={later.webhooks.missingText}
        />
      )}
      {!isMissing && <ReadErrors of={[query]} />}
      {query.isPending && <LoadingLines />}
    </>
  );
}

type Open = 'test' | 'pause' | 'delete';

function Loaded({ read }: { read: ReadWebhook }): ReactElement {
  const texts = later.webhooks;
  const { webhook } = read;
  const { can } = useMe();
  const navigate = route.useNavigate();
  const { tab = 'deliveries' } = route.useSearch();
  const [open, setOpen] = useState<Open | null>(null);
  useAuditAction(webhook);
  const reasonFor = (...needed: string[]): string | null => {
    const missing = missingFor(can, ...needed);
    return missing && t.common.forbidden.reason(missing);
  };
  const resume = useWrite(
    () => updateWebhook(read, { status: 'active' }),
    () => notifyDone(texts.resumed(webhook.name)),
  );
  usePageActions(can('webhook.update') ? [{ label: texts.test.run, run: () => setOpen('test') }] : []);
  const isPaused = webhook.status === 'paused';
  return (
    <>
      <PageHeader
        title={webhook.name}
        note={<Status webhook={webhook} />}
        actions={
          <>
            <ReasonButton reason={reasonFor('webhook.update')} onClick={() => setOpen('test')}>
              {texts.test.run}
            </ReasonButton>
            {isPaused ? (
              <ReasonButton
                variant="default"
                reason={reasonFor('webhook.update', 'audit_log.read')}
                onClick={() => resume.run(undefined)}
              >
                {texts.resume}
              </ReasonButton>
            ) : (
              <ReasonButton
                variant="default"
                reason={reasonFor('webhook.update')}
                onClick={() => setOpen('pause')}
              >
                {texts.pause}
              </ReasonButton>
            )}
            <ReasonButton
              variant="default"
              leftSection={<IconTrash size={16} aria-hidden />}
              reason={reasonFor('webhook.delete')}
              onClick={() => setOpen('delete')}
            >
              {t.common.actions.delete}
            </ReasonButton>
          </>
        }
      />
      {Boolean(resume.error) && <ErrorAlert error={resume.error} />}
      <Facts webhook={webhook} />
      <Tabs
        value={tab}
        keepMounted={false}
        onChange={(value) =>
          void navigate({ search: { tab: tabs.find((one) => one === value) }, replace: true })
        }
      >
        <Tabs.List aria-label={texts.tabs.label}>
          {tabs
            .filter((one) => one !== 'activity' || can('audit_log.read'))
            .map((one) => (
              <Tabs.Tab key={one} value={one}>
                {texts.tabs[one]}
              </Tabs.Tab>
            ))}
        </Tabs.List>
        <Tabs.Panel value="deliveries" className="tab-panel">
          {can('audit_log.read') ? (
            <Suspense fallback={<LoadingLines />}>
              <DeliveriesTab webhook={webhook} />
            </Suspense>
          ) : (
            <p className="muted">{t.common.forbidden.reason('audit_log.read')}</p>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="settings" className="tab-panel">
          <Suspense fallback={<LoadingLines />}>
            <SettingsTab read={read} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="secrets" className="tab-panel">
          <Suspense fallback={<LoadingLines />}>
            <SecretsTab webhook={webhook} />
          </Suspense>
        </Tabs.Panel>
        {can('audit_log.read') && (
          <Tabs.Panel value="activity" className="tab-panel">
            <Suspense fallback={<LoadingLines />}>
              <AuditTimeline filter={{ resource_id: webhook.id }} headingLevel={2} />
            </Suspense>
          </Tabs.Panel>
        )}
      </Tabs>
      <Suspense>
        {open === 'test' && <TestDialog webhook={webhook} onClose={() => setOpen(null)} />}
        {open === 'pause' && <PauseDialog read={read} onClose={() => setOpen(null)} />}
        {open === 'delete' && (
          <DeleteDialog
            read={read}
            onClose={() => setOpen(null)}
            onDeleted={() => navigate({ to: '/webhooks', search: {}, replace: true })}
          />
        )}
      </Suspense>
    </>
  );
}
