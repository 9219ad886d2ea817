// Moves a group in its tree, and offers to move it back.
import { readAgain } from '../../data/api.ts';
import type { GroupKind } from '../../data/groups.ts';
import { t } from '../../text.ts';
import { notifyUndo } from '../page/notify.tsx';
import { childrenOf, pathTo, type TreeNode } from './tree.ts';

export type Move = { id: string; parentId: string | null };

/** Moves the version that the group has now, and back only that one: a change that somebody else makes in between is kept. */
export async function moveGroup(kind: GroupKind, nodes: readonly TreeNode[], move: Move): Promise<void> {
  const { id, parentId } = move;
  const before = pathTo(nodes, id, childrenOf);
  const place = parentId === null ? undefined : pathTo(nodes, parentId, childrenOf).at(-1);
  const seen = await kind.read(id);
  const { name, etag } = await kind.update(id, { parent_id: parentId }, seen.etag);
  notifyUndo(t.roleGroups.moved(name, place?.name ?? t.roleGroups.root), async () => {
    await kind.update(id, { parent_id: before.at(-2)?.id ?? null }, etag);
    await readAgain();
  });
}
