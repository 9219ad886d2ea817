// The page Audit log: what happened, filtered by anything that an entry holds.

import { Button, Switch } from '@mantine/core';
import { IconFilterOff, IconLock } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { lazy, type ReactElement, Suspense, useState, useSyncExternalStore } from 'react';
import { currentZone, subscribeZone } from '../../../common/format.ts';
import { AuditTimeline } from '../../components/audit/AuditTimeline.tsx';
import type { OnPick } from '../../components/audit/Pick.tsx';
import { useRoutine } from '../../components/audit/use-routine.ts';
import { ExportMenu } from '../../components/lists/ExportMenu.tsx';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { NoMatch } from '../../components/page/states.tsx';
import { call } from '../../data/api.ts';
import { knownActions } from '../../data/audit/actions.ts';
import { useAuditLog } from '../../data/audit/audit.ts';
import { withMark } from '../../data/download.ts';
import { t, withLaterTexts } from '../../text.ts';
import './audit-page.css';
import { Chips } from './Chips.tsx';
import { FilterBar } from './FilterBar.tsx';
import { type AuditSearch, filtersIn, isFiltered, toFilter, withKnownAction } from './filter.ts';
import { SavedFilters } from './SavedFilters.tsx';

const EntryPane = lazy(() =>
  withLaterTexts(import('./EntryPane.tsx')).then(({ EntryPane: pane }) => ({ default: pane })),
);
const SealedLog = lazy(() =>
  withLaterTexts(import('./SealedLog.tsx')).then(({ SealedLog: sealed }) => ({ default: sealed })),
);

const route = getRouteApi('/audit');

export function Audit(): ReactElement {
  const zone = useSyncExternalStore(subscribeZone, currentZone);
  const search = withKnownAction(route.useSearch(), knownActions());
  const navigate = route.useNavigate();
  const [isLive, setLive] = useState(false);
  const filter = toFilter(search, knownActions(), zone);
  const { filter: shownFilter } = useRoutine(filter);
  const { sealing } = useAuditLog(shownFilter, isLive);
  const [isHeadOpen, setHeadOpen] = useState(false);

  const change = (part: AuditSearch): void =>
    void navigate({ search: (now) => ({ ...now, ...part, entry: undefined }) });
  const open = (entry: string | undefined): void =>
    void navigate({
      search: (now) => ({ ...now, entry: now.entry === entry ? undefined : entry }),
      resetScroll: false,
    });
  const pick: OnPick = (name, value) => change({ [name]: value });
  const clear = (): void => void navigate({ search: {} });

  return (
    <>
      <PageHeader
        title={t.audit.title}
        actions={
          <>
            <Switch
              label={t.audit.live}
              checked={isLive}
              onChange={(event) => setLive(event.currentTarget.checked)}
            />
            <Button
              variant="default"
              leftSection={<IconLock size={16} aria-hidden />}
              disabled={!sealing}
              onClick={() => setHeadOpen(true)}
            >
              {t.audit.sealedLog}
            </Button>
            <SavedFilters current={filtersIn(search)} onApply={(saved) => void navigate({ search: saved })} />
            <ExportMenu
              fileName="audit-log"
              start={(options) =>
                call('GET /api/v1/audit-logs/export', { query: { ...shownFilter, ...withMark }, ...options })
              }
            />
          </>
        }
      />
      {sealing && (
        <Suspense>
          <SealedLog sealing={sealing} isOpen={isHeadOpen} onClose={() => setHeadOpen(false)} />
        </Suspense>
      )}
      <FilterBar search={search} onChange={change} />
      {isFiltered(search) && (
        <div className="filters">
          <Chips search={search} onRemove={(name) => change({ [name]: undefined })} />
          <Button
            variant="subtle"
            size="compact-sm"
            leftSection={<IconFilterOff size={14} aria-hidden />}
            onClick={clear}
          >
            {t.common.actions.clearFilters}
          </Button>
        </div>
      )}
      {isLive && (
        <p className="muted" role="status">
          {t.audit.liveOn}
        </p>
      )}
      <AuditTimeline
        filter={filter}
        onPick={pick}
        onOpen={open}
        activeId={search.entry}
        isLive={isLive}
        headingLevel={2}
        {...(isFiltered(search) ? { none: <NoMatch onClear={clear} /> } : {})}
      />
      {search.entry && (
        <Suspense>
          <EntryPane id={search.entry} filter={shownFilter} onPick={pick} onClose={() => open(undefined)} />
        </Suspense>
      )}
    </>
  );
}
