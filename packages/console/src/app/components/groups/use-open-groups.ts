// Which groups of a tree are open. The browser remembers it for each person.
import { useState } from 'react';
import { readPreference, writePreference } from '../../../common/preferences.ts';
import { allIds, childrenOf, pathTo, type TreeNode } from './tree.ts';

/** So few groups begin open. */
const MOST_OPEN = 40;

/** Returns the open groups and a way to open and close one. What is above the selected group is open, too. */
export function useOpenGroups(
  preference: string,
  nodes: readonly TreeNode[],
  selectedId: string | undefined,
): [open: ReadonlySet<string>, toggle: (id: string, isOpen: boolean) => void] {
  const [stored, setStored] = useState(() => readPreference(preference));
  const [closedAbove, setClosedAbove] = useState<ReadonlySet<string>>(new Set());
  const ids = allIds(nodes);
  const base = stored === null ? (ids.length <= MOST_OPEN ? ids : []) : stored.split(',');
  const above = selectedId === undefined ? [] : pathTo(nodes, selectedId, childrenOf).slice(0, -1);
  const open = new Set([...base, ...above.map(({ id }) => id).filter((id) => !closedAbove.has(id))]);
  const toggle = (id: string, isOpen: boolean): void => {
    const next = new Set(open);
    const closed = new Set(closedAbove);
    if (isOpen) {
      next.add(id);
      closed.delete(id);
    } else {
      next.delete(id);
      closed.add(id);
    }
    const text = [...next].join(',');
    setClosedAbove(closed);
    setStored(text);
    writePreference(preference, text);
  };
  return [open, toggle];
}
