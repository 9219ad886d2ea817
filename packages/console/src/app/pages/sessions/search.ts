// What of the list of sessions is in the address.
import { getRouteApi } from '@tanstack/react-router';

const route = getRouteApi('/sessions');

export type SessionSearch = ReturnType<typeof route.useSearch>;

export type SessionFilter = { search?: string; user_id?: string; address?: string; older_than?: string };

const keys = ['q', 'user', 'address', 'older_than'] as const;

/** Whether the service is asked for some sessions only: then they may be ended together. */
export const hasFilters = (search: SessionSearch): boolean => Object.keys(filterOf(search)).length > 0;

export const noFilters: Partial<SessionSearch> = Object.fromEntries(keys.map((key) => [key, undefined]));

/** Returns the filter as the service takes it. */
export const filterOf = ({ q, user, address, older_than }: SessionSearch): SessionFilter => ({
  ...(q ? { search: q } : {}),
  ...(user ? { user_id: user } : {}),
  ...(address ? { address } : {}),
  ...(older_than ? { older_than } : {}),
});

export function useSessionSearch() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return {
    search,
    change: (change: Partial<SessionSearch>): void =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: true, resetScroll: false }),
  };
}
