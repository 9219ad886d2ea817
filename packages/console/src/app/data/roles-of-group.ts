// Adds roles to a role group and removes them. Each returns how to undo it, on the version that it has made.
import { callVersioned, readAgain } from './api.ts';
import { ifMatch } from './groups.ts';

type Undo = () => Promise<void>;

const change = async (act: 'POST' | 'DELETE', groupId: string, roleIds: string[], seen: string | null) => {
  const { etag } = await callVersioned(`${act} /api/v1/role-groups/{group_id}/roles`, {
    path: { group_id: groupId },
    body: { role_ids: roleIds },
    headers: ifMatch(seen),
  });
  return etag;
};

const undoOf =
  (act: 'POST' | 'DELETE', groupId: string, roleIds: string[], etag: string | null): Undo =>
  async () => {
    await change(act, groupId, roleIds, etag);
    await readAgain();
  };

const read = async (groupId: string) => {
  const { result, etag } = await callVersioned('GET /api/v1/role-groups/{group_id}', {
    path: { group_id: groupId },
  });
  return { etag, ids: new Set(result.data.roles.map(({ id }) => id)) };
};

/** Adds those that the group does not have yet: only they go again by the undo. */
export async function addRoles(groupId: string, roleIds: readonly string[]): Promise<Undo> {
  const seen = await read(groupId);
  const missing = roleIds.filter((id) => !seen.ids.has(id));
  return undoOf('DELETE', groupId, missing, await change('POST', groupId, missing, seen.etag));
}

export async function removeRole(groupId: string, roleId: string): Promise<Undo> {
  const seen = await read(groupId);
  return undoOf('POST', groupId, [roleId], await change('DELETE', groupId, [roleId], seen.etag));
}
