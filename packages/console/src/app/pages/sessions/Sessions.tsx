// The page Sessions: the live sessions of everybody, by person, network and age, and the ways to end them.
import type { UserSession } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { IconDeviceLaptop } from '@tabler/icons-react';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactElement, useEffect, useState } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { ReasonButton } from '../../components/forms/ReasonButton.tsx';
import { announce } from '../../components/page/announce.ts';
import { PageHeader } from '../../components/page/PageHeader.tsx';
import { Empty, ErrorAlert, NoMatch } from '../../components/page/states.tsx';
import { SessionList } from '../../components/sessions/SessionList.tsx';
import { call, keepingRows, useKeptRows } from '../../data/api.ts';
import { useCan } from '../../data/me.tsx';
import { t } from '../../text.ts';
import { EndDialog, type Ending, endSession } from './EndDialog.tsx';
import { SessionFilterChips, SessionFilters } from './Filters.tsx';
import { Networks } from './Networks.tsx';
import { filterOf, hasFilters, noFilters, type SessionFilter, useSessionSearch } from './search.ts';
import './sessions.css';

const PAGE_SIZE = 50;

// A search that many people match is answered step by step: a page may be empty and not the last.
const MAX_STEPS = 20;

async function readPage(filter: SessionFilter, from: string, signal: AbortSignal) {
  const read = (cursor: string) =>
    call('GET /api/v1/sessions', {
      query: { ...filter, size: PAGE_SIZE, ...(cursor === '' ? {} : { cursor }) },
      signal,
    });
  let page = await read(from);
  for (let step = 1; step < MAX_STEPS && page.data.length === 0 && page.next_cursor !== null; step += 1)
    page = await read(page.next_cursor);
  return page;
}

const useSessions = (filter: SessionFilter) =>
  useInfiniteQuery({
    queryKey: ['GET /api/v1/sessions', filter],
    queryFn: ({ pageParam, signal }) => readPage(filter, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    ...keepingRows,
  });

export function Sessions(): ReactElement {
  const { search, change } = useSessionSearch();
  const mayEnd = useCan('session.revoke');
  const filter = filterOf(search);
  const query = useSessions(filter);
  const [ending, setEnding] = useState<Ending | null>(null);
  const kept = useKeptRows(query);
  const sessions = kept?.pages.flatMap(({ data }) => data);
  const total = kept?.pages[0]?.total ?? 0;
  const isAtLeast = kept?.pages[0]?.total_is_estimate === true;
  const reason = mayEnd ? null : t.common.forbidden.reason('session.revoke');
  const isFiltered = hasFilters(search);
  // While sessions are left to read, it is not known that none matches.
  const isEmpty = sessions?.length === 0 && !query.hasNextPage;
  useEffect(() => {
    if (query.data) announce(isAtLeast ? t.common.list.resultsAtLeast(total) : t.sessions.count(total));
  }, [query.data, total, isAtLeast]);
  return (
    <>
      <PageHeader
        title={t.sessions.title}
        note={kept && !isAtLeast ? t.sessions.count(total) : null}
        actions={
          isFiltered &&
          total > 0 && (
            <ReasonButton
              color="red"
              reason={reason ?? (isAtLeast ? t.sessions.tooManyToCount : null)}
              onClick={() => setEnding({ kind: 'matching', filter, total })}
            >
              {isAtLeast ? t.sessions.endAllMatching : t.sessions.endMatching(total)}
            </ReasonButton>
          )
        }
      />
      {reason && <p className="muted">{reason}</p>}
      <SessionFilters search={search} onChange={change} error={query.error} />
      <SessionFilterChips search={search} onChange={change} users={sessions} />
      {query.error && <ErrorAlert error={query.error} onRetry={() => void query.refetch()} />}
      {!sessions && !query.error && <Waiting />}
      {isEmpty && isFiltered && <NoMatch onClear={() => change(noFilters)} />}
      {isEmpty && !isFiltered && (
        <Empty icon={<IconDeviceLaptop size={32} aria-hidden />} title={t.sessions.empty} />
      )}
      {sessions && !isEmpty && (
        <div className="sessions-layout">
          <section
            className="panel sessions-panel"
            aria-label={t.sessions.title}
            aria-busy={query.isPlaceholderData || query.data === undefined}
          >
            <SessionList
              sessions={sessions}
              isPart={query.hasNextPage}
              showsUser
              disabledReason={reason}
              onEnd={(session: UserSession) => setEnding({ kind: 'one', session })}
              endById={endSession}
              groupText={t.sessions.explainOne}
            />
            <p className="sessions-more">
              <span className="muted">
                {t.sessions.shownOf(
                  formatNumber(sessions.length),
                  `${formatNumber(total)}${isAtLeast ? '+' : ''}`,
                )}
              </span>
              {query.hasNextPage && (
                <Button
                  variant="default"
                  loading={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  {t.sessions.more}
                </Button>
              )}
            </p>
          </section>
          <Networks sessions={sessions} onChoose={(address) => change({ address })} />
        </div>
      )}
      {ending && <EndDialog ending={ending} onClose={() => setEnding(null)} />}
    </>
  );
}

const rows = ['one', 'two', 'three', 'four', 'five', 'six'];

const Waiting = (): ReactElement => (
  <div className="table-card skeletons" role="status" aria-busy="true">
    <span className="visually-hidden">{t.common.list.loading}</span>
    {rows.map((row) => (
      <i key={row} />
    ))}
  </div>
);
