// The pane of one service account: its keys, its access, what happened.
import { Tabs } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactElement, Suspense } from 'react';
import { SidePane } from '../../components/dialogs/SidePane.tsx';
import { ErrorAlert } from '../../components/page/states.tsx';
import { StatusBadge, Tag } from '../../components/text/badges.tsx';
import { readingVersioned } from '../../data/api.ts';
import { isCode } from '../../data/errors.ts';
import { useCan } from '../../data/me.tsx';
import { t, withLaterTexts } from '../../text.ts';
import { AccountActions } from './AccountActions.tsx';
import { Keys } from './Keys.tsx';

const Access = lazy(() =>
  withLaterTexts(import('./Access.tsx')).then((loaded) => ({ default: loaded.Access })),
);
const AuditTimeline = lazy(() =>
  import('../../components/audit/AuditTimeline.tsx').then((loaded) => ({ default: loaded.AuditTimeline })),
);

const tabs = ['keys', 'access', 'activity'] as const;
type Tab = (typeof tabs)[number];

type Props = { id: string; tab: Tab; onTab: (tab: Tab) => void; onClose: () => void | Promise<void> };

export function AccountPane({ id, tab, onTab, onClose }: Props): ReactElement {
  const texts = t.serviceAccounts;
  const query = useQuery(
    readingVersioned('GET /api/v1/service-accounts/{service_account_id}', {
      path: { service_account_id: id },
    }),
  );
  const mayUpdate = useCan('service_account.update');
  const account = query.data?.result.data;
  const isGone = isCode(query.error, 'service_account_not_found');
  const choose = (value: string | null): void => {
    const chosen = tabs.find((one) => one === value);
    if (chosen) onTab(chosen);
  };
  return (
    <SidePane
      label={account?.name ?? texts.title}
      onClose={() => void onClose()}
      header={
        account && (
          <>
            <h2 data-raw>{account.name}</h2>
            {account.description && (
              <p className="muted" data-raw>
                {account.description}
              </p>
            )}
            <p>
              <StatusBadge status={account.is_active ? 'active' : 'inactive'} />{' '}
              {!mayUpdate && <Tag>{t.common.forbidden.readOnly}</Tag>}
            </p>
          </>
        )
      }
    >
      {isGone && <p className="muted">{texts.notFound}</p>}
      {query.error && !isGone && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {!account && !query.error && (
        <div className="skeletons" role="status" aria-busy="true" aria-label={t.common.list.loading}>
          <i />
          <i />
          <i />
        </div>
      )}
      {account && !isGone && (
        <>
          <AccountActions read={{ account, etag: query.data?.etag ?? null }} onDeleted={onClose} />
          <Tabs value={tab} onChange={choose} keepMounted={false}>
            <Tabs.List aria-label={texts.tabs.label}>
              {tabs.map((one) => (
                <Tabs.Tab key={one} value={one}>
                  {texts.tabs[one]}
                </Tabs.Tab>
              ))}
            </Tabs.List>
            <Tabs.Panel value="keys" pt="md">
              <Keys account={account} />
            </Tabs.Panel>
            <Tabs.Panel value="access" pt="md">
              <Suspense>
                <Access read={{ account, etag: query.data?.etag ?? null }} />
              </Suspense>
            </Tabs.Panel>
            <Tabs.Panel value="activity" pt="md">
              <Suspense>
                <AuditTimeline filter={{ resource_id: id }} canAct />
              </Suspense>
            </Tabs.Panel>
          </Tabs>
        </>
      )}
    </SidePane>
  );
}
