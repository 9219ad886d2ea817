// The page Overview: what there is, what needs attention, and what happens. It shows what the person may see.
import type { Dashboard } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { ErrorAlert, ReadErrors } from '../../components/page/states.tsx';
import { reading } from '../../data/api.ts';
import { nameOf, useMe } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { Activity, activityQuery } from './Activity.tsx';
import { Attention } from './Attention.tsx';
import { Checklist, type FirstSteps, useFirstSteps } from './Checklist.tsx';
import { Counters } from './Counters.tsx';
import { GroupTree } from './GroupTree.tsx';
import { Networks } from './Networks.tsx';
import './overview.css';
import { RecentSignIns } from './RecentSignIns.tsx';

/** The system role whose holders, like superusers, get the whole dashboard. */
const ADMINISTRATORS = 'Admin';

export function Overview(): ReactElement {
  const { user, can } = useMe();
  const isAdministrator = user.is_superuser || user.roles.some(({ name }) => name === ADMINISTRATORS);
  // All at once: a part that came later would push away what people already read.
  const dashboard = useQuery(reading('GET /api/v1/dashboard', {}));
  const attention = useQuery({ ...reading('GET /api/v1/dashboard/attention', {}), enabled: isAdministrator });
  useQuery({ ...activityQuery, enabled: isAdministrator });
  const { steps: firstSteps, reads: readSteps } = useFirstSteps(isAdministrator);
  const isReading = (isAdministrator && !attention.isFetched) || firstSteps === undefined;
  const data = isReading ? undefined : dashboard.data?.data;
  return (
    <>
      <PageHeader title={t.overview.title} note={<span data-raw>{nameOf(user)}</span>} />
      {dashboard.error && <ErrorAlert error={dashboard.error} onRetry={() => void dashboard.refetch()} />}
      {!data && !dashboard.error && (
        <div role="status" aria-busy="true" aria-label={t.common.list.loading}>
          <div className="skeletons counters">
            <i />
            <i />
            <i />
            <i />
            <i />
          </div>
          <div className="skeletons overview-waiting">
            <i />
            <i />
          </div>
        </div>
      )}
      {data && <ReadErrors of={readSteps} />}
      {data &&
        (data.recent_logins === null ? (
          <ForEveryone data={data} />
        ) : (
          <ForAdministrators data={data} firstSteps={firstSteps ?? null} />
        ))}
      {data && (can('session.read') || can('role_group.read')) && (
        <div className="overview-pair">
          {can('session.read') && <Networks />}
          {can('role_group.read') && <GroupTree />}
        </div>
      )}
    </>
  );
}

function ForEveryone({ data }: { data: Dashboard }): ReactElement {
  return (
    <>
      <Counters stats={data.stats} />
      <section className="panel overview-own">
        <div>
          <h2 className="section-title">{t.overview.own.title}</h2>
          <p className="muted">{t.overview.own.text}</p>
        </div>
        <div className="page-actions">
          <Button component={Link} to="/account">
            {t.common.nav.account}
          </Button>
          <Button component={Link} to="/access" variant="default">
            {t.common.nav.access}
          </Button>
        </div>
      </section>
    </>
  );
}

type AdministratorsProps = { data: Dashboard; firstSteps: FirstSteps | null };

function ForAdministrators({ data, firstSteps }: AdministratorsProps): ReactElement {
  return (
    <>
      {firstSteps && <Checklist steps={firstSteps} users={data.stats.total_users} />}
      <Counters stats={data.stats} />
      <Attention users={data.stats.total_users} />
      <div className="overview-pair overview-wide">
        <Activity />
        <RecentSignIns people={data.recent_logins ?? []} />
      </div>
    </>
  );
}
