// Finds people for pickers, by the operation that the person may use.
import type { ListedUser } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { keepingRows, reading } from './api.ts';
import { nameOf, useMe } from './me.tsx';

const SHOWN_PEOPLE = 12;

type Named = Pick<ListedUser, 'id' | 'first_name' | 'last_name' | 'email'>;

export const labelOf = (person: Named): string => `${nameOf(person)} · ${person.email}`;

/** Returns the first people whose name or email contains the text, or whose id it is. */
export function usePeople(search: string, isWanted = true) {
  const { can } = useMe();
  const query = { size: SHOWN_PEOPLE, ...(search === '' ? {} : { search }) };
  const mayList = can('user.read') || can('users.read');
  const found = useQuery({
    ...(can('user.read')
      ? reading('GET /api/v1/users', { query })
      : reading('GET /api/v1/users/list', { query })),
    ...keepingRows,
    enabled: mayList && isWanted,
  });
  return { people: found.data?.data.items ?? [], read: found, mayList };
}

/**
 * Returns one person and the query that reads them. `person` is undefined while loading, for somebody whom the signed-in person
 * may not see, and for an id that nobody has: a search finds nothing then, where reading the record would be an error.
 */
export function usePerson(id: string | undefined) {
  const { user } = useMe();
  const isMe = id === user.id;
  const { people, read } = usePeople(id ?? '', id !== undefined && !isMe);
  const person: Named | undefined = isMe ? user : people.find((one) => one.id === id);
  return { person, read };
}
