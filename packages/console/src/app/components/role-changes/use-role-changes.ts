// Unsaved changes of the permissions of roles, on the basis of what the person saw when they made them.
// It must not send anything: review.tsx saves.
import type { Permission } from '@castellan/sdk';
import { useMemo, useRef, useState } from 'react';
import type { CountedRole } from '../../data/catalogue.ts';
import {
  type Cell,
  changesByRole,
  flip,
  type Held,
  heldBy,
  nothingPending,
  type Pending,
  stillApplying,
} from './pending.ts';

export type RoleChanges = {
  /** The roles as the person sees them: one with unsaved changes stays as it was when they began to change it. */
  roles: readonly CountedRole[];
  /** The roles as they were last read. */
  latest: readonly CountedRole[];
  permissions: readonly Permission[];
  held: Held;
  pending: Pending;
  flip: (cell: Cell) => void;
  discard: () => void;
  /** Replaces the unsaved changes; the roles are then seen as they were last read. */
  rebase: (pending: Pending) => void;
};

type State = { pending: Pending; seen: ReadonlyMap<string, CountedRole> };

const nothing: State = { pending: nothingPending, seen: new Map() };

const keepSeen = (
  pending: Pending,
  seen: ReadonlyMap<string, CountedRole>,
  latest: readonly CountedRole[],
): ReadonlyMap<string, CountedRole> => {
  const marked = new Set(changesByRole(pending).map(({ roleId }) => roleId));
  return new Map(
    latest.filter(({ id }) => marked.has(id)).map((role) => [role.id, seen.get(role.id) ?? role]),
  );
};

const none: readonly never[] = [];

export function useRoleChanges(
  given: readonly CountedRole[] | undefined,
  permissions: readonly Permission[],
): RoleChanges {
  const latest = given ?? none;
  const [state, setState] = useState(nothing);
  const roles = useSameItems(latest.map((role) => state.seen.get(role.id) ?? role));
  const held = useMemo(() => heldBy(roles), [roles]);
  const ids = useMemo(() => new Set(permissions.map(({ id }) => id)), [permissions]);
  const pending = useMemo(() => stillApplying(state.pending, held, ids), [state.pending, held, ids]);
  const store = (next: Pending, seen: State['seen']): void =>
    setState({ pending: next, seen: keepSeen(next, seen, latest) });
  return {
    roles,
    latest,
    permissions,
    held,
    pending,
    flip: (cell) => store(flip(pending, cell, held), state.seen),
    discard: () => setState(nothing),
    rebase: (next) => store(stillApplying(next, heldBy(latest), ids), new Map()),
  };
}

/** Returns the list of the render before while it has the same items, so that what depends on it is not made again. */
function useSameItems<T>(items: readonly T[]): readonly T[] {
  const last = useRef(items);
  const isSame = last.current.length === items.length && items.every((one, at) => one === last.current[at]);
  if (!isSame) last.current = items;
  return last.current;
}
