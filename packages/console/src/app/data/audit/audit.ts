// Reads the audit log page by page, newest first.
import type { AuditLogEntry, InputOf } from '@castellan/sdk';
import { useInfiniteQuery } from '@tanstack/react-query';
import { call, reading } from '../api.ts';
import { useCan } from '../me.tsx';

/** The filters of the service. */
export type AuditFilter = Omit<
  NonNullable<InputOf<'GET /api/v1/audit-logs'>['query']>,
  'size' | 'cursor' | 'sealing'
>;

const LIVE_MS = 5_000;

/** The newest entry by a person or about a record. Entries keep names of what has been deleted since. */
export const newestEntry = (filter: Pick<AuditFilter, 'actor_id' | 'resource_id'>) => ({
  ...reading('GET /api/v1/audit-logs', { query: { ...filter, size: 1 } }),
  select: ({ data }: { data: AuditLogEntry[] }): AuditLogEntry | undefined => data[0],
});

// Filters that rarely match together are searched step by step: a page may be empty and not the last.
const MAX_STEPS = 20;

async function readPage(filter: AuditFilter, from: string, signal: AbortSignal) {
  const read = (cursor: string) =>
    call('GET /api/v1/audit-logs', {
      query: { ...filter, sealing: true, ...(cursor === '' ? {} : { cursor }) },
      signal,
    });
  let page = await read(from);
  for (let step = 1; step < MAX_STEPS && page.data.length === 0 && page.next_cursor !== null; step += 1)
    page = { ...page, ...(await read(page.next_cursor)) };
  return page;
}

/**
 * Reads the entries that match. While `isLive`, the newest are read again every five seconds, but not in a hidden tab and not
 * while older pages show.
 */
export function useAuditLog(filter: AuditFilter, isLive: boolean) {
  const mayRead = useCan('audit_log.read');
  const query = useInfiniteQuery({
    queryKey: ['GET /api/v1/audit-logs', filter, 'pages'],
    queryFn: ({ pageParam, signal }) => readPage(filter, pageParam, signal),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    enabled: mayRead,
    refetchInterval: ({ state }) => (isLive && (state.data?.pages.length ?? 0) < 2 ? LIVE_MS : false),
  });
  const entries: AuditLogEntry[] | undefined = query.data?.pages.flatMap(({ data }) => data);
  const pages = query.data?.pages ?? [];
  const seals = new Map(pages.flatMap(({ sealing }) => sealing?.entries ?? []).map((one) => [one.id, one]));
  // Only the first page has what is left out, and it is the newest.
  const { routine_left_out: leftOut, sealing } = pages[0] ?? {};
  return { query, entries, seals, leftOut, sealing, mayRead };
}
