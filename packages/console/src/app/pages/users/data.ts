// What the pages of users read and write, whichever of the permissions the person has.
// It must not decide what is allowed: the service does.
import type { AccessPreview, ListedUser, Role, UpdateUser, User } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { client } from '../../../common/client.ts';
import type { Status } from '../../components/badges.tsx';
import { call, keepingRows, reading, readingVersioned } from '../../data/api.ts';
import { useMe } from '../../data/me.tsx';

export type UserFilter = {
  search?: string;
  status?: Status;
  role_id?: string;
  roles?: 'none';
  verified?: boolean;
  is_active?: boolean;
  removal_within_hours?: number;
};

export type UserSort = 'created_at' | '-created_at' | 'email' | '-email' | 'last_name' | '-last_name';

/** Two operations return the list; each has a permission of its own. */
export const useListPath = (): '/api/v1/users' | '/api/v1/users/list' =>
  useMe().can('user.read') ? '/api/v1/users' : '/api/v1/users/list';

export type ListQuery = UserFilter & { page: number; size: number; sort: UserSort };

export const useUserPage = (query: ListQuery) =>
  useQuery({
    ...reading(`GET ${useListPath()}`, { query: { ...query, include: 'activity' } }),
    ...keepingRows,
  });

/** Users that this page has deleted: reading them again would only be a 404. */
const deleted = new Set<string>();

export async function deleteUser(id: string): Promise<void> {
  await call('DELETE /api/v1/users/{user_id}', { path: { user_id: id } });
  deleted.add(id);
}

/** The record of a user, with its ETag where the person may read single users, and the activity. */
export function useUser(id: string) {
  const { can } = useMe();
  const listed = useQuery(
    reading(`GET ${useListPath()}`, { query: { search: id, size: 5, include: 'activity' } }),
  );
  const single = useQuery({
    ...readingVersioned('GET /api/v1/users/{user_id}', { path: { user_id: id } }),
    enabled: () => can('users.read') && !deleted.has(id),
  });
  const found = listed.data?.data.items.find((one) => one.id === id);
  const error = single.error ?? listed.error;
  return {
    user: single.data?.result.data ?? found ?? null,
    etag: single.data?.etag ?? null,
    activity: found?.activity ?? null,
    /** Read, and there is no such user. */
    isMissing: Boolean(listed.data) && !found,
    error,
    retry: () => void Promise.all([listed.refetch(), ...(can('users.read') ? [single.refetch()] : [])]),
  };
}

export const statusOf = (user: User, activity?: ListedUser['activity'] | null): Status => {
  if (activity) return activity.status;
  if (!user.is_active) return 'inactive';
  return user.verified ? 'active' : 'unverified';
};

const versionHeader = (etag: string | null | undefined) => (etag ? { headers: { 'if-match': etag } } : {});

/** Changes a user. With an ETag, a change by somebody else in the meantime is refused (412). */
export const changeUser = (id: string, body: UpdateUser, etag?: string | null) =>
  call('PUT /api/v1/users/{user_id}', { path: { user_id: id }, body, ...versionHeader(etag) });

type Previewed = Promise<{ data: AccessPreview }>;

export const previewUser = (id: string, body: UpdateUser, signal: AbortSignal): Previewed =>
  client.put('/api/v1/users/{user_id}', { path: { user_id: id }, query: { dry_run: true }, body, signal });

/** Replaces all roles. */
export const setRoles = (id: string, roleIds: readonly string[], etag?: string | null) =>
  call('POST /api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    body: { role_ids: [...roleIds] },
    ...versionHeader(etag),
  });

/** Adds roles and leaves all others as they are. Needs `access.change`. */
export const addRoles = (id: string, roleIds: readonly string[]) =>
  call('POST /api/v1/access/changes', { body: { changes: [{ user_id: id, add_role_ids: [...roleIds] }] } });

export const previewRoles = (id: string, roleIds: readonly string[], signal: AbortSignal): Previewed =>
  client.post('/api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    query: { dry_run: true },
    body: { role_ids: [...roleIds] },
    signal,
  });

export const removeRoles = (id: string, roleIds: readonly string[], etag?: string | null) =>
  call('DELETE /api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    body: { role_ids: [...roleIds] },
    ...versionHeader(etag),
  });

export const previewRemoval = (id: string, roleIds: readonly string[], signal: AbortSignal): Previewed =>
  client.delete('/api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    query: { dry_run: true },
    body: { role_ids: [...roleIds] },
    signal,
  });

export const previewDeletion = (id: string, signal: AbortSignal): Previewed =>
  client.delete('/api/v1/users/{user_id}', { path: { user_id: id }, query: { dry_run: true }, signal });

export const endSessionsOf = (id: string) =>
  call('DELETE /api/v1/users/{user_id}/sessions', { path: { user_id: id } });

/** All roles by id, as far as the person may read them. */
export function useAllRoles(): ReadonlyMap<string, Role> {
  const { can } = useMe();
  const roles = useQuery({ ...reading('GET /api/v1/roles/list', {}), enabled: can('role.read') });
  return new Map((roles.data?.data ?? []).map((role) => [role.id, role]));
}
