// What of the list of users is in the address.
import { getRouteApi } from '@tanstack/react-router';
import { firstUsers } from '../../data/early-reads.ts';
import type { ListQuery, UserFilter } from './data.ts';

const route = getRouteApi('/users');

export type UserSearch = ReturnType<typeof route.useSearch>;
export type UserTab = NonNullable<UserSearch['tab']>;

const filterKeys = [
  'q',
  'status',
  'role',
  'roles',
  'verified',
  'is_active',
  'removal_within_hours',
  'second_factor',
  'invited',
  'invitation',
  'attribute',
] as const;

export const hasFilters = (search: UserSearch): boolean =>
  filterKeys.some((key) => search[key] !== undefined);

export const noFilters: Partial<UserSearch> = Object.fromEntries(filterKeys.map((key) => [key, undefined]));

/** Returns the filter as the service takes it. */
export const filterOf = ({ q, status, role, ...rest }: UserSearch): UserFilter => ({
  ...(q ? { search: q } : {}),
  ...(status ? { status } : {}),
  ...(role ? { role_id: role } : {}),
  ...(rest.roles ? { roles: rest.roles } : {}),
  ...(rest.verified === undefined ? {} : { verified: rest.verified }),
  ...(rest.is_active === undefined ? {} : { is_active: rest.is_active }),
  ...(rest.removal_within_hours === undefined ? {} : { removal_within_hours: rest.removal_within_hours }),
  ...(rest.second_factor ? { second_factor: rest.second_factor } : {}),
  ...(rest.invited === undefined ? {} : { invited: rest.invited }),
  ...(rest.invitation ? { invitation: rest.invitation } : {}),
  ...attributeFilterOf(rest.attribute),
});

/** Returns the name and the value of a condition such as `cost_center=4711`. */
export function conditionIn(text: string): { name: string; value: string } {
  const at = text.indexOf('=');
  return { name: text.slice(0, at), value: text.slice(at + 1) };
}

function attributeFilterOf(text: string | undefined): UserFilter {
  if (text === undefined) return {};
  const { name, value } = conditionIn(text);
  return { [`attribute.${name}`]: value };
}

export const queryOf = (search: UserSearch): ListQuery => ({
  ...filterOf(search),
  ...firstUsers(),
  ...(search.page === undefined ? {} : { page: search.page }),
  ...(search.size === undefined ? {} : { size: search.size }),
  ...(search.sort === undefined ? {} : { sort: search.sort }),
});

export function useUserSearch() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  return {
    search,
    /** Replaces the entry of the history: filters are no steps to go back through. Begins at the first page. */
    filter: (change: Partial<UserSearch>): void =>
      void navigate({ search: (before) => ({ ...before, page: undefined, ...change }), replace: true }),
    /** A step that "Back" undoes. */
    go: (change: Partial<UserSearch>): void =>
      void navigate({ search: (before) => ({ ...before, ...change }), resetScroll: false }),
  };
}
