// The audit log as a timeline: entries by day, newest first. The page Audit log and the tabs "Activity" show it.
// It leaves out routine entries and says how many. Otherwise the service returns exactly what the filter asks for.
import { Button } from '@mantine/core';
import { IconHistory } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { type ReactElement, type ReactNode, useRef, useSyncExternalStore } from 'react';
import { currentZone, formatDay, formatLongDay, subscribeZone, zoneName } from '../../../common/format.ts';
import { type AuditFilter, useAuditLog } from '../../data/audit/audit.ts';
import { byDay } from '../../data/audit/entries.ts';
import { t } from '../../text.ts';
import { type KeyPress, useKeys } from '../keyboard/keys.ts';
import { EntryRow } from './EntryRow.tsx';
import './audit.css';
import { Empty, ErrorAlert } from '../page/states.tsx';
import type { OnPick } from './Pick.tsx';
import { isAnyLeftOut, OnlyRoutine, RoutineLine } from './Routine.tsx';
import { useRoutine } from './use-routine.ts';

type Props = {
  filter: AuditFilter;
  /** Called when a value is clicked. Without it, values link to the page Audit log. */
  onPick?: OnPick;
  /** Opens the details of an entry elsewhere. Without it, they open below the entry. */
  onOpen?: (id: string) => void;
  activeId?: string | undefined;
  isLive?: boolean;
  /** The record of the filter is somebody who acts, too. */
  canAct?: boolean;
  /** What shows when nothing matches. Default: that nothing is recorded yet. */
  none?: ReactNode;
  /** The level of the days' headings. Default: 3. */
  headingLevel?: 2 | 3;
};

const skeletonRows = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

export function AuditTimeline({
  filter,
  none,
  isLive = false,
  canAct = false,
  headingLevel = 3,
  ...rows
}: Props): ReactElement {
  useSyncExternalStore(subscribeZone, currentZone);
  const box = useRef<HTMLDivElement>(null);
  const routine = useRoutine(filter);
  const { query, entries, seals, leftOut, mayRead } = useAuditLog(routine.filter, isLive);
  const hidden = leftOut && isAnyLeftOut(leftOut) ? leftOut : undefined;
  const isEmpty = entries?.length === 0;
  const { onPick, onOpen, activeId } = rows;
  const Title = headingLevel === 2 ? 'h2' : 'h3';
  // Beside an open pane, moving on shows the next entry.
  const step = ({ key, target }: KeyPress): boolean => {
    if (!(target instanceof HTMLElement) || !target.matches('[data-open]')) return false;
    const all = [...(box.current?.querySelectorAll<HTMLElement>('[data-open]') ?? [])];
    const next = all[all.indexOf(target) + (key === 'ArrowDown' ? 1 : -1)];
    if (!next) return false;
    next.focus();
    const { open: id } = next.dataset;
    if (id && activeId) onOpen?.(id);
    return true;
  };
  const isOn = (): boolean => (entries?.length ?? 0) > 0;
  const onKeyDown = useKeys([
    { keys: ['ArrowUp', 'ArrowDown'], does: 'entries', isOn, run: step },
    // Of the button in the entry.
    { keys: ['Enter'], does: 'openEntry', isOn },
  ]);
  if (!mayRead) return <p className="muted">{t.common.forbidden.reason('audit_log.read')}</p>;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: handles the keys of the buttons inside
    <div className="timeline" ref={box} aria-busy={query.isPending} onKeyDown={onKeyDown}>
      {filter.resource_id && !onPick && (
        <p className="timeline-links">
          <Link to="/audit" search={{ target: filter.resource_id, ...routine.search }} className="text-link">
            {t.audit.openLog}
          </Link>
          {canAct && (
            <Link to="/audit" search={{ actor: filter.resource_id, ...routine.search }} className="text-link">
              {t.audit.openActed}
            </Link>
          )}
        </p>
      )}
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && (
        <div className="skeletons" role="status" aria-label={t.audit.label}>
          <span className="visually-hidden">{t.common.list.loading}</span>
          {skeletonRows.map((key) => (
            <i key={key} />
          ))}
        </div>
      )}
      {entries && ((hidden && !isEmpty) || (routine.isShown && !filter.action)) && (
        <RoutineLine leftOut={hidden} onToggle={() => routine.setShown(!routine.isShown)} />
      )}
      {isEmpty && hidden && (
        <OnlyRoutine leftOut={hidden} onShow={() => routine.setShown(true)} headingLevel={headingLevel} />
      )}
      {isEmpty &&
        !hidden &&
        (none ?? (
          <Empty
            icon={<IconHistory size={32} aria-hidden />}
            title={t.audit.empty}
            text={t.audit.emptyHelp}
            headingLevel={headingLevel}
          />
        ))}
      {byDay(entries ?? [], formatDay).map((day) => (
        <section key={day.key} className="timeline-day">
          <Title>
            <time>{formatLongDay(day.at)}</time> <time className="muted">{zoneName()}</time>
          </Title>
          <ul>
            {day.entries.map((entry) => (
              <EntryRow
                key={entry.id}
                entry={entry}
                seal={seals.get(entry.id)}
                onPick={onPick}
                onOpen={onOpen}
                isActive={entry.id === activeId}
              />
            ))}
          </ul>
        </section>
      ))}
      {query.hasNextPage && (
        <Button
          variant="default"
          loading={query.isFetchingNextPage}
          onClick={() => void query.fetchNextPage()}
          className="timeline-more"
        >
          {t.audit.older}
        </Button>
      )}
      {entries && entries.length > 0 && !query.hasNextPage && (
        <p className="muted timeline-more">{t.audit.end}</p>
      )}
    </div>
  );
}
