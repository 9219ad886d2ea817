// Which permission groups of the matrix show, and which of them are open.
import type { Permission } from '@castellan/sdk';
import { startTransition, useDeferredValue, useMemo, useState } from 'react';
import { filtered, type Section, sectionsOf } from '../../data/permissions/permission-sections.ts';

/** With more cells, groups begin closed: drawing all of them would take seconds on a slow machine. */
const MOST_OPEN_CELLS = 2_000;
/** A person who filters wants to see the cells. */
const MOST_FILTERED_CELLS = 5_000;

const beginClosed = (permissions: number, roles: number, isFiltered: boolean): boolean =>
  permissions * roles > (isFiltered ? MOST_FILTERED_CELLS : MOST_OPEN_CELLS);

type Filter = { f?: string | undefined; group?: string | undefined };

export type Sections = {
  all: readonly Section[];
  /** Those that match the filter, with the permissions that match. */
  shown: readonly Section[];
  isOpen: (section: Section) => boolean;
  toggle: (section: Section) => void;
  toggleAll: (open: boolean) => void;
};

export function useSections(
  permissions: readonly Permission[],
  columns: number,
  { f = '', group }: Filter,
): Sections {
  const all = useMemo(() => sectionsOf(permissions), [permissions]);
  const text = useDeferredValue(f);
  const shown = useMemo(() => filtered(all, text, group), [all, text, group]);
  const rows = shown.reduce((sum, one) => sum + one.permissions.length, 0);
  const closed = beginClosed(rows, columns, text !== '');
  // Groups whose state is not the one that they begin with.
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  return {
    all,
    shown,
    isOpen: ({ id }) => toggled.has(id) === closed,
    toggle: ({ id }) => {
      const next = new Set(toggled);
      if (!next.delete(id)) next.add(id);
      setToggled(next);
    },
    toggleAll: (open) =>
      startTransition(() => setToggled(open === closed ? new Set(all.map(({ id }) => id)) : new Set())),
  };
}
