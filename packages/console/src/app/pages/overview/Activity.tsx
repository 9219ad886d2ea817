// The trend of sign-ins and refusals.
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactElement } from 'react';
import { TrendChart } from '../../components/charts/TrendChart.tsx';
import { ErrorAlert } from '../../components/page/states.tsx';
import { reading } from '../../data/api.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';

const DAYS = 30;

export const activityQuery = reading('GET /api/v1/dashboard/activity', { query: { days: DAYS } });

/** A day without events: the chart of it is as tall as any other. */
const noDay = { day: new Date().toISOString().slice(0, 10), sign_ins: 0, refusals: 0, registrations: 0 };

export function Activity(): ReactElement {
  const activity = useQuery(activityQuery);
  const mayOpenAudit = useCan('audit_log.read');
  return (
    <section className="panel" aria-busy={activity.isPending}>
      <div className="panel-head">
        <h2 className="section-title">{t.overview.trend.title}</h2>
        {mayOpenAudit && (
          <Link to="/audit" search={{ result: 'failure' }} className="text-link">
            {t.overview.trend.openRefusals}
          </Link>
        )}
      </div>
      {activity.error && <ErrorAlert error={activity.error} onRetry={() => void activity.refetch()} />}
      {activity.data && <TrendChart days={activity.data.data} />}
      {activity.isPending && (
        <div className="trend-waiting">
          <TrendChart days={[noDay]} />
        </div>
      )}
    </section>
  );
}
