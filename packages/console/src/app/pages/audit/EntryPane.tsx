// The pane with one entry. A link to an entry works although the list does not show it.
import type { AuditLogEntry } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { lazy, type ReactElement, Suspense } from 'react';
import { EntryDetails } from '../../components/audit/EntryDetails.tsx';
import { sentenceOf } from '../../components/audit/EntryRow.tsx';
import type { OnPick } from '../../components/audit/Pick.tsx';
import { SidePane } from '../../components/dialogs/SidePane.tsx';
import { ReadErrors } from '../../components/page/states.tsx';
import { Moment } from '../../components/text/time.tsx';
import { reading } from '../../data/api.ts';
import { type AuditFilter, useAuditLog } from '../../data/audit/audit.ts';
import { later, t } from '../../text.ts';
import { periodAround } from './entry-time.ts';

const Evidence = lazy(() =>
  import('./Evidence.tsx').then(({ Evidence: evidence }) => ({ default: evidence })),
);

type Props = { id: string; filter: AuditFilter; onPick: OnPick; onClose: () => void };

export function EntryPane({ id, filter, onPick, onClose }: Props): ReactElement {
  const { entry, seal, reads } = useEntry(id, filter);
  const hasFailed = reads.some(({ error }) => error);
  return (
    <SidePane
      label={t.audit.entry}
      onClose={onClose}
      header={
        entry ? (
          <>
            <h2 data-raw>{sentenceOf(entry)}</h2>
            <p className="muted">
              <Moment at={entry.timestamp} />
            </p>
          </>
        ) : (
          <h2>{t.audit.entry}</h2>
        )
      }
    >
      {entry && <EntryDetails entry={entry} onPick={onPick} headingLevel={3} />}
      {entry && seal && (
        <Suspense>
          <Evidence key={entry.id} seal={seal} />
        </Suspense>
      )}
      {!entry && <ReadErrors of={reads} />}
      {!entry && !hasFailed && (
        <p role="status">
          {reads.some(({ isLoading }) => isLoading) ? t.common.list.loading : later.entry.gone}
        </p>
      )}
    </SidePane>
  );
}

/** Takes the entry from the list, or else looks for it around the time in its id. */
function useEntry(id: string, filter: AuditFilter) {
  const { entries, seals, query } = useAuditLog(filter, false);
  const listed = entries?.find((entry: AuditLogEntry) => entry.id === id);
  const period = periodAround(id);
  const around = useQuery({
    ...reading('GET /api/v1/audit-logs', { query: { ...period, sealing: true, size: 100 } }),
    enabled: entries !== undefined && listed === undefined && period !== null,
  });
  return {
    entry: listed ?? around.data?.data.find((entry) => entry.id === id),
    seal: seals.get(id) ?? around.data?.sealing?.entries.find((one) => one.id === id),
    reads: [query, around],
  };
}
