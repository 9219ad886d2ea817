// Finds people for pickers, by the operation that the person may use.
import type { ListedUser } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { keepingRows, reading } from './api.ts';
import { nameOf, useMe } from './me.tsx';

const SHOWN_PEOPLE = 12;

type Named = Pick<ListedUser, 'id' | 'first_name' | 'last_name' | 'email'>;

export const labelOf = (person: Named): string => `${nameOf(person)} · ${person.email}`;

/** Returns the first people whose name or email contains the text, or whose id it is. */
export function usePeople(search: string) {
  const { can } = useMe();
  const query = { size: SHOWN_PEOPLE, ...(search === '' ? {} : { search }) };
  const mayList = can('user.read') || can('users.read');
  const found = useQuery({
    ...(can('user.read')
      ? reading('GET /api/v1/users', { query })
      : reading('GET /api/v1/users/list', { query })),
    ...keepingRows,
    enabled: mayList,
  });
  return { people: found.data?.data.items ?? [], isLoading: found.isLoading, error: found.error, mayList };
}

/** Returns one person; undefined while loading, and for somebody whom the person may not see. */
export function usePerson(id: string | undefined): Named | undefined {
  const me = useMe();
  const isMe = id === me.user.id;
  const mayRead = me.can('users.read');
  const person = useQuery({
    ...reading('GET /api/v1/users/{user_id}', { path: { user_id: id ?? '' } }),
    enabled: id !== undefined && !isMe && mayRead,
  });
  if (isMe) return me.user;
  return id === undefined ? undefined : person.data?.data;
}
