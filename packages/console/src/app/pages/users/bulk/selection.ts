// Which users are selected: some, kept while pages change, or all that match the filter.
import type { ListedUser } from '@castellan/sdk';
import { useState } from 'react';

export type Selection = {
  ids: ReadonlySet<string>;
  users: readonly ListedUser[];
  /** All that match the filter are meant, not only those of `users`. */
  isEveryMatch: boolean;
  count: number;
  /** Every row of the page is selected. */
  coversPage: boolean;
  select: (ids: ReadonlySet<string>) => void;
  selectEveryMatch: () => void;
  keep: (users: readonly ListedUser[]) => void;
  clear: () => void;
};

/** A change of `filterKey` clears the selection: what is not on the list must not be changed. */
export function useSelection(rows: readonly ListedUser[] | undefined, filterKey: string): Selection {
  const [state, setState] = useState<{ key: string; users: ReadonlyMap<string, ListedUser>; all: boolean }>({
    key: filterKey,
    users: new Map(),
    all: false,
  });
  const { users, all } =
    state.key === filterKey ? state : { users: new Map<string, ListedUser>(), all: false };
  const set = (next: ReadonlyMap<string, ListedUser>, isAll = false): void =>
    setState({ key: filterKey, users: next, all: isAll });
  return {
    ids: new Set(users.keys()),
    users: [...users.values()],
    isEveryMatch: all,
    count: users.size,
    coversPage: (rows?.length ?? 0) > 0 && (rows ?? []).every(({ id }) => users.has(id)),
    select: (ids) => {
      const known = new Map([...users, ...(rows ?? []).map((row) => [row.id, row] as const)]);
      set(new Map([...known].filter(([id]) => ids.has(id))));
    },
    selectEveryMatch: () => set(users, true),
    keep: (kept) => set(new Map(kept.map((one) => [one.id, one]))),
    clear: () => set(new Map()),
  };
}
