// Reads all users that match a filter, with progress. It can be stopped.
import type { ListedUser } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../../../data/api.ts';
import { withExtras } from '../../../data/early-reads.ts';
import { type UserFilter, useListPath } from '../data.ts';

type ListPath = ReturnType<typeof useListPath>;

const PAGE_SIZE = 100;

type Options = {
  path: ListPath;
  filter: UserFilter;
  signal: AbortSignal;
  onProgress: (read: number) => void;
};

/**
 * Returns all users that match, in the order of their ids, which is about that of their creation. Each page begins after the
 * last id of the one before: users who are created, deleted or changed while it reads neither repeat nor skip another one.
 */
export async function readUsers({ path, filter, signal, onProgress }: Options): Promise<ListedUser[]> {
  const found: ListedUser[] = [];
  for (;;) {
    const last = found.at(-1);
    const { data } = await call(`GET ${path}`, {
      query: {
        ...filter,
        sort: 'id',
        size: PAGE_SIZE,
        ...withExtras,
        ...(last ? { after: last.id } : {}),
      },
      signal,
    });
    // The permissions are most of the memory, and nothing here needs them.
    for (const user of data.items) found.push({ ...user, permissions: [] });
    onProgress(found.length);
    if (data.items.length === 0 || data.total <= data.items.length) return found;
  }
}

/** Reads them when the dialog opens; nothing is read again while it is open, so that what is confirmed is what was shown. */
export function useFrozenUsers(given: readonly ListedUser[] | null, filter: UserFilter) {
  const path = useListPath();
  const [read, setRead] = useState(0);
  const query = useQuery({
    queryKey: ['frozen users', path, filter],
    queryFn: ({ signal }) => readUsers({ path, filter, signal, onProgress: setRead }),
    enabled: given === null,
    // Not read again either after a write, which has everything on screen read again.
    staleTime: 'static',
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  return { users: given ?? query.data ?? null, read, error: query.error, retry: () => void query.refetch() };
}
