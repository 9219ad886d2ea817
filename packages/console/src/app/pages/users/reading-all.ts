// Reads all users that match a filter, page by page, with progress. It can be stopped.
import type { ListedUser } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../data/api.ts';
import { type UserFilter, type UserSort, useListPath } from './data.ts';

type ListPath = ReturnType<typeof useListPath>;

const PAGE_SIZE = 100;

type Options = {
  path: ListPath;
  filter: UserFilter;
  sort: UserSort;
  max: number;
  signal: AbortSignal;
  onProgress: (read: number) => void;
};

/** Returns at most `max` users. Each comes once, also if the list changes while it is read. */
export async function readUsers({
  path,
  filter,
  sort,
  max,
  signal,
  onProgress,
}: Options): Promise<ListedUser[]> {
  const found = new Map<string, ListedUser>();
  for (let page = 1; ; page += 1) {
    const { data } = await call(`GET ${path}`, {
      query: { ...filter, sort, page, size: PAGE_SIZE, include: 'activity' },
      signal,
    });
    for (const user of data.items) found.set(user.id, user);
    onProgress(Math.min(found.size, max));
    if (page >= data.pages || found.size >= max) return [...found.values()].slice(0, max);
  }
}

/** Reads them when the dialog opens; nothing is read again while it is open, so that what is confirmed is what was shown. */
export function useFrozenUsers(given: readonly ListedUser[] | null, filter: UserFilter, max: number) {
  const path = useListPath();
  const [read, setRead] = useState(0);
  const query = useQuery({
    queryKey: ['frozen users', path, filter],
    queryFn: ({ signal }) =>
      readUsers({ path, filter, sort: 'created_at', max, signal, onProgress: setRead }),
    enabled: given === null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  return { users: given ?? query.data ?? null, read, error: query.error, retry: () => void query.refetch() };
}
