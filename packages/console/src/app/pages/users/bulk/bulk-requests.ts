// The requests of an act on many users, of its preview and of its undo.
// None names a version: each adds or removes roles, or sets one switch that the user did not have so when the dialog opened.
// Whatever somebody else changes stays.
import type { AccessPreview, ListedUser } from '@castellan/sdk';
import type { PreviewQuery } from '../../../components/dialogs/impact.tsx';
import { call, callPreview } from '../../../data/api.ts';
import { endSessionsOf } from '../data.ts';
import { type BulkAct, chunksOf, joinPreviews, type ReversibleAct } from './bulk.ts';

/** Sessions have no operation for many users, so each takes a separate request. */
export const chunksFor = (act: BulkAct, users: readonly ListedUser[]): ListedUser[][] =>
  chunksOf(users, act === 'endSessions' ? 1 : undefined);

const idsOf = (users: readonly ListedUser[]): string[] => users.map(({ id }) => id);

const roleChanges = (act: BulkAct, users: readonly ListedUser[], roleIds: readonly string[]) =>
  users.map(({ id }) => ({
    user_id: id,
    ...(act === 'addRoles' ? { add_role_ids: [...roleIds] } : { remove_role_ids: [...roleIds] }),
  }));

export async function send(
  act: BulkAct,
  users: readonly ListedUser[],
  roleIds: readonly string[],
): Promise<unknown> {
  if (act === 'endSessions') return Promise.all(users.map(({ id }) => endSessionsOf(id)));
  if (act === 'activate' || act === 'deactivate')
    return call('PUT /api/v1/users/bulk-update', {
      body: { user_ids: idsOf(users), updates: { is_active: act === 'activate' } },
    });
  // Adds and removes without replacing roles that others change at the same time, which `role_id` of bulk-update would.
  return call('POST /api/v1/access/changes', { body: { changes: roleChanges(act, users, roleIds) } });
}

type Asking = { roleIds: readonly string[]; signal: AbortSignal; query: PreviewQuery };

export async function previewAll(
  act: BulkAct,
  users: readonly ListedUser[],
  { roleIds, signal, query }: Asking,
): Promise<AccessPreview> {
  const previews: AccessPreview[] = [];
  for (const chunk of chunksOf(users)) {
    const { data } =
      act === 'activate' || act === 'deactivate'
        ? await callPreview('PUT /api/v1/users/bulk-update', {
            query,
            body: { user_ids: idsOf(chunk), updates: { is_active: act === 'activate' } },
            signal,
          })
        : await callPreview('POST /api/v1/access/changes', {
            query,
            body: { changes: roleChanges(act, chunk, roleIds) },
            signal,
          });
    previews.push(data);
  }
  return joinPreviews(previews);
}

const opposite = { activate: 'deactivate', deactivate: 'activate' } as const;

/** Takes back only what the act changed: a role that a user already had stays. */
export function undo(
  act: ReversibleAct,
  users: readonly ListedUser[],
  roleIds: readonly string[],
): Promise<unknown> {
  if (act === 'activate' || act === 'deactivate') return send(opposite[act], users, roleIds);
  const changes = users.map((user) => {
    const held = new Set(user.roles.map(({ id }) => id));
    const changed = roleIds.filter((id) => held.has(id) === (act === 'removeRoles'));
    return {
      user_id: user.id,
      ...(act === 'addRoles' ? { remove_role_ids: changed } : { add_role_ids: changed }),
    };
  });
  return call('POST /api/v1/access/changes', { body: { changes } });
}
