// The page Access explorer: may somebody do something and why, who may, and how two people differ.
import { Tabs } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense } from 'react';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import './access.css';
import { Check } from './Check.tsx';

// Loaded when their tab opens.
const Holders = lazy(() => import('./Holders.tsx').then(({ Holders: view }) => ({ default: view })));
const Compare = lazy(() => import('./Compare.tsx').then(({ Compare: view }) => ({ default: view })));

const route = getRouteApi('/access');
const views = ['check', 'holders', 'compare'] as const;

export function Access(): ReactElement {
  const { can, user: me } = useMe();
  const { user, permission, other, view: asked = 'check' } = route.useSearch();
  const navigate = route.useNavigate();
  const mayExplain = can('access.explain');
  const view = mayExplain ? asked : 'check';
  const change = (part: {
    user?: string | undefined;
    permission?: string | undefined;
    other?: string | undefined;
  }): void => void navigate({ search: (now) => ({ ...now, ...part }) });
  const open = (next: string | null): void => {
    const found = views.find((one) => one === next);
    if (found) void navigate({ search: (now) => ({ ...now, view: found === 'check' ? undefined : found }) });
  };
  return (
    <>
      <PageHeader title={t.access.title} note={t.access.subtitle} />
      {!mayExplain && (
        <p className="note note-accent">
          {t.access.onlyYou} {t.common.forbidden.reason('access.explain')}
        </p>
      )}
      <Tabs value={view} onChange={open} keepMounted={false}>
        {mayExplain && (
          <Tabs.List className="access-tabs" aria-label={t.access.title}>
            {views.map((one) => (
              <Tabs.Tab key={one} value={one}>
                {t.access.views[one]}
              </Tabs.Tab>
            ))}
          </Tabs.List>
        )}
        <Tabs.Panel value="check" className="access-view">
          <Check
            user={mayExplain ? user : me.id}
            permission={permission}
            mayChoosePerson={mayExplain}
            onChange={change}
          />
        </Tabs.Panel>
        <Tabs.Panel value="holders" className="access-view">
          <Suspense>
            <Holders permission={permission} onChange={change} />
          </Suspense>
        </Tabs.Panel>
        <Tabs.Panel value="compare" className="access-view">
          <Suspense>
            <Compare user={user} other={other} onChange={change} />
          </Suspense>
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
