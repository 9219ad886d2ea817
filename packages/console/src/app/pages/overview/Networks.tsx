// Live sessions by network.
import { useQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { NetworkBars } from '../../components/charts/NetworkBars.tsx';
import { countNetworks } from '../../components/charts/networks.ts';
import { ErrorAlert } from '../../components/page/states.tsx';
import { reading } from '../../data/api.ts';
import { t } from '../../text.ts';

const SESSIONS = 100;
const SHOWN = 6;

export function Networks(): ReactElement {
  const sessions = useQuery(reading('GET /api/v1/sessions', { query: { size: SESSIONS } }));
  const data = sessions.data;
  const counts = countNetworks((data?.data ?? []).map(({ origin_address }) => origin_address));
  return (
    <section className="panel" aria-busy={sessions.isPending}>
      <h2 className="section-title">{t.overview.networks.title}</h2>
      {sessions.error && <ErrorAlert error={sessions.error} onRetry={() => void sessions.refetch()} />}
      {data && counts.length === 0 && <p className="muted">{t.overview.networks.none}</p>}
      <NetworkBars counts={counts.slice(0, SHOWN)} />
      {counts.length > SHOWN && <p className="muted">{t.common.list.more(counts.length - SHOWN)}</p>}
      {data && data.total > data.data.length && (
        <p className="muted">{t.overview.networks.newest(data.data.length, data.total)}</p>
      )}
    </section>
  );
}
