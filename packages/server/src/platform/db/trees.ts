// Trees stored as rows with a `parent_id`: checks moves, and turns rows into nested objects.
// It must not recurse in JavaScript, and it limits the depth, so that no tree can overflow the stack.
import { sql, type Transaction } from 'kysely';
import { AppError } from '../errors.ts';
import { onlyRow } from './sql.ts';

/** Deepest nesting, levels. */
export const MAX_TREE_DEPTH = 32;

export type MoveVerdict = 'ok' | 'cycle' | 'too_deep';

/**
 * Tells whether the node `id` (null: a new one) may be moved under `parentId`. The result holds until the end of the
 * transaction only if the caller holds the lock that every move in this table takes.
 */
export async function judgeMove<D>(
  tx: Transaction<D>,
  table: string,
  id: string | null,
  parentId: string,
): Promise<MoveVerdict> {
  const result = await sql<{ ancestors: number; is_above: boolean; height: number }>`
    with recursive up as (
      select id, parent_id, 1 as depth from ${sql.table(table)} where id = ${parentId}
      union all
      select node.id, node.parent_id, up.depth + 1 from ${sql.table(table)} node join up on node.id = up.parent_id
      where up.depth <= ${MAX_TREE_DEPTH}
    ), down as (
      select id, 1 as depth from ${sql.table(table)} where id = ${id}
      union all
      select node.id, down.depth + 1 from ${sql.table(table)} node join down on node.parent_id = down.id
      where down.depth <= ${MAX_TREE_DEPTH}
    )
    select (select count(*)::integer from up) as ancestors,
           exists (select from up where id = ${id}) as is_above,
           coalesce((select max(depth) from down), 1) as height`.execute(tx);
  const { ancestors, is_above, height } = onlyRow(result);
  if (is_above) return 'cycle';
  return ancestors + height > MAX_TREE_DEPTH ? 'too_deep' : 'ok';
}

/** Throws `circular_dependency` or `hierarchy_too_deep` unless `judgeMove` allows the move. */
export async function requireMove<D>(
  tx: Transaction<D>,
  table: string,
  id: string | null,
  parentId: string,
): Promise<void> {
  const verdict = await judgeMove(tx, table, id, parentId);
  if (verdict === 'cycle')
    throw new AppError('circular_dependency', { detail: 'A group cannot be its own ancestor.' });
  if (verdict === 'too_deep')
    throw new AppError('hierarchy_too_deep', {
      detail: `Groups can be nested at most ${MAX_TREE_DEPTH} levels deep.`,
    });
}

type Row = { id: string; parent_id: string | null };

/**
 * Nests rows under `childrenKey`, keeping their order. Returns the rows whose parent is not among them. Adds the
 * children to the given row objects.
 */
export function nest<R extends Row, K extends string>(
  rows: readonly R[],
  childrenKey: K,
): (R & Record<K, R[]>)[] {
  type Node = R & Record<K, R[]>;
  const nodes = new Map<string, Node>();
  for (const row of rows) {
    const children: R[] = [];
    // The compiler widens a computed key to any string.
    nodes.set(row.id, Object.assign(row, { [childrenKey]: children }) as Node);
  }
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = node.parent_id === null ? undefined : nodes.get(node.parent_id);
    if (parent) parent[childrenKey].push(node);
    else roots.push(node);
  }
  return roots;
}
