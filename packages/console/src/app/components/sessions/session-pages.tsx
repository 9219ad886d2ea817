// The live sessions of one person, page after page. It must not end any.
import type { Session } from '@castellan/sdk';
import { Button } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ReactElement } from 'react';
import { formatNumber } from '../../../common/format.ts';
import { t } from '../../text.ts';

const PAGE_SIZE = 50;

type Read = (
  query: { page: number; size: number },
  signal: AbortSignal,
) => Promise<{ data: Session[]; pagination: { page: number; pages: number; total: number } }>;

export function useSessionPages(key: string, read: Read, enabled = true) {
  const query = useInfiniteQuery({
    queryKey: ['sessions of one', key],
    queryFn: ({ pageParam, signal }) => read({ page: pageParam, size: PAGE_SIZE }, signal),
    initialPageParam: 1,
    getNextPageParam: ({ pagination: { page, pages } }) => (page < pages ? page + 1 : undefined),
    enabled,
  });
  const pages = query.data?.pages;
  return {
    // A session that has begun since moves another one to the next page, where it comes again.
    sessions: pages && [...new Map(pages.flatMap(({ data }) => data).map((one) => [one.id, one])).values()],
    total: pages?.at(-1)?.pagination.total ?? 0,
    query,
  };
}

type MoreProps = { shown: number; total: number; query: ReturnType<typeof useSessionPages>['query'] };

/** Shows nothing if all sessions are on the page. */
export const MoreSessions = ({ shown, total, query }: MoreProps): ReactElement | null =>
  query.hasNextPage ? (
    <p className="sessions-more">
      <span className="muted">{t.sessions.shownOf(formatNumber(shown), formatNumber(total))}</span>
      <Button variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {t.sessions.more}
      </Button>
    </p>
  ) : null;
