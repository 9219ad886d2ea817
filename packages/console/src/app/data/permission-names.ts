// The names of all permissions, to choose from.
import type { Permission } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { call } from './api.ts';
import { useCan } from './me.tsx';

const PAGE_SIZE = 100;

async function readAll(signal: AbortSignal): Promise<Permission[]> {
  const permissions: Permission[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const read = await call('GET /api/v1/permissions', { query: { page, size: PAGE_SIZE }, signal });
    permissions.push(...read.data);
    pages = read.pagination.pages;
  }
  return permissions;
}

/** Returns the permissions; none for people who may not read them. */
export function usePermissionNames() {
  const mayRead = useCan('permission.read');
  const query = useQuery({
    queryKey: ['GET /api/v1/permissions', 'names'],
    queryFn: ({ signal }) => readAll(signal),
    enabled: mayRead,
  });
  return { permissions: query.data, isLoading: query.isLoading, error: query.error, mayRead };
}
