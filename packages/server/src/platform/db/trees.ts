// Trees kept as rows with a `parent_id`: may a node go under another, and rows made into nested objects.
// Nothing here recurses in JavaScript, and depth is bounded, so that no tree can exhaust a stack.
import { sql, type Transaction } from 'kysely';
import { AppError } from '../errors.ts';

/** Deepest nesting, levels. */
export const MAX_TREE_DEPTH = 32;

export type MoveVerdict = 'ok' | 'cycle' | 'too_deep';

/**
 * Whether the node `id` (null: a new one) may hang under `parentId`. True until the end of the transaction only when
 * the caller holds a lock that every move of this table takes.
 */
export async function judgeMove<D>(
  tx: Transaction<D>,
  table: string,
  id: string | null,
  parentId: string,
): Promise<MoveVerdict> {
  const { rows } = await sql<{ ancestors: number; is_above: boolean; height: number }>`
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
  const { ancestors, is_above, height } = rows[0] as (typeof rows)[number];
  if (is_above) return 'cycle';
  return ancestors + height > MAX_TREE_DEPTH ? 'too_deep' : 'ok';
}

/** As `judgeMove`, for callers who answer requests: throws `circular_dependency` or `hierarchy_too_deep`. */
export async function requireMove<D>(
  tx: Transaction<D>,
  table: string,
  id: string | null,
  parentId: string,
): Promise<void> {
  const verdict = await judgeMove(tx, table, id, parentId);
  if (verdict === 'cycle')
    throw new AppError('circular_dependency', { detail: 'A group cannot lie below itself.' });
  if (verdict === 'too_deep')
    throw new AppError('hierarchy_too_deep', {
      detail: `Groups can be nested ${MAX_TREE_DEPTH} levels deep at most.`,
    });
}

type Row = { id: string; parent_id: string | null };

/**
 * Nests rows under `childrenKey`, keeping their order. Answers the rows whose parent is not among them, in order.
 * The rows themselves become the nodes.
 */
export function nest<R extends Row, K extends string>(
  rows: readonly R[],
  childrenKey: K,
): (R & Record<K, R[]>)[] {
  type Node = R & Record<K, R[]>;
  const nodes = new Map(
    rows.map((row): [string, Node] => [row.id, Object.assign(row, { [childrenKey]: [] as R[] }) as Node]),
  );
  const roots: Node[] = [];
  for (const node of nodes.values()) {
    const parent = node.parent_id === null ? undefined : nodes.get(node.parent_id);
    if (parent) parent[childrenKey].push(node);
    else roots.push(node);
  }
  return roots;
}
