// Trees of groups as flat lists of rows: what is open, what a search keeps. Pure functions.
import { searchFor } from '../../text-search.ts';

export type TreeNode = {
  id: string;
  name: string;
  /** What shows at the end of the row, such as the number of roles. */
  count: number;
  children: readonly TreeNode[];
};

export type TreeRow = {
  id: string;
  name: string;
  count: number;
  level: number;
  /** From 1. */
  position: number;
  siblings: number;
  parentId: string | null;
  hasChildren: boolean;
  isOpen: boolean;
};

/** Keeps matching groups with everything below them, and the groups above them. */
function matching(nodes: readonly TreeNode[], isFound: (name: string) => boolean): TreeNode[] {
  return nodes.flatMap((node) => {
    if (isFound(node.name)) return [node];
    const children = matching(node.children, isFound);
    return children.length > 0 ? [{ ...node, children }] : [];
  });
}

/** Returns the rows that show. A search opens everything that it keeps. */
export function rowsOf(nodes: readonly TreeNode[], open: ReadonlySet<string>, search: string): TreeRow[] {
  const isSearch = search.trim() !== '';
  const rows: TreeRow[] = [];
  const walk = (list: readonly TreeNode[], level: number, parentId: string | null): void => {
    for (const [index, { id, name, count, children }] of list.entries()) {
      const isOpen = children.length > 0 && (isSearch || open.has(id));
      rows.push({
        id,
        name,
        count,
        level,
        position: index + 1,
        siblings: list.length,
        parentId,
        hasChildren: children.length > 0,
        isOpen,
      });
      if (isOpen) walk(children, level + 1, id);
    }
  };
  walk(isSearch ? matching(nodes, searchFor(search)) : nodes, 1, null);
  return rows;
}

/** Returns the nodes from the root to the one with the id, which is the last; empty without one. */
export function pathTo<T extends { id: string }>(
  nodes: readonly T[],
  id: string,
  childrenOf: (node: T) => readonly T[],
): T[] {
  for (const node of nodes) {
    if (node.id === id) return [node];
    const below = pathTo(childrenOf(node), id, childrenOf);
    if (below.length > 0) return [node, ...below];
  }
  return [];
}

export const childrenOf = ({ children }: TreeNode): readonly TreeNode[] => children;

/** Returns the ids of a group and of everything below it. */
export function subtreeOf(nodes: readonly TreeNode[], id: string): ReadonlySet<string> {
  const top = pathTo(nodes, id, childrenOf).at(-1);
  const ids = new Set<string>();
  const walk = (node: TreeNode): void => {
    ids.add(node.id);
    for (const child of node.children) walk(child);
  };
  if (top) walk(top);
  return ids;
}

export type Place = { id: string; label: string };

/** Returns where a group can move, with paths as labels: not below itself, and not where it is. */
export function placesFor(nodes: readonly TreeNode[], id: string): Place[] {
  const own = subtreeOf(nodes, id);
  const parent = pathTo(nodes, id, childrenOf).at(-2)?.id;
  const places: Place[] = [];
  const walk = (list: readonly TreeNode[], above: readonly string[]): void => {
    for (const node of list) {
      if (own.has(node.id)) continue;
      const path = [...above, node.name];
      if (node.id !== parent) places.push({ id: node.id, label: path.join(' / ') });
      walk(node.children, path);
    }
  };
  walk(nodes, []);
  return places;
}

export const allIds = (nodes: readonly TreeNode[]): string[] =>
  nodes.flatMap(({ id, children }) => [id, ...allIds(children)]);
