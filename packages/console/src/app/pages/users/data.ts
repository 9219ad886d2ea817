// What the pages of users read and write, whichever of the permissions the person has.
// It must not decide what is allowed: the service does.
import type { AccessPreview, ListedUser, SummarizedRole, UpdateUser, User } from '@castellan/sdk';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { PreviewQuery } from '../../components/dialogs/impact.tsx';
import type { Status } from '../../components/text/badges.tsx';
import {
  call,
  callPreview,
  callVersioned,
  keepingRows,
  type ReadState,
  reading,
  readingVersioned,
} from '../../data/api.ts';
import { allRoleNames } from '../../data/catalogue.ts';
import { listPathOf, withExtras } from '../../data/early-reads.ts';
import { useMe } from '../../data/me.tsx';

export type UserFilter = {
  search?: string;
  status?: Status;
  role_id?: string;
  roles?: 'none';
  verified?: boolean;
  is_active?: boolean;
  removal_within_hours?: number;
  second_factor?: 'on' | 'off' | 'missing';
  invited?: boolean;
  invitation?: 'open' | 'ended';
  [attribute: `attribute.${string}`]: string;
};

type UserSort = 'id' | 'created_at' | '-created_at' | 'email' | '-email' | 'last_name' | '-last_name';

/** Two operations return the list; each has its own permission. */
export const useListPath = () => listPathOf(useMe().can);

export type ListQuery = UserFilter & { page: number; size: number; sort: UserSort };

export const useUserPage = (query: ListQuery) =>
  useQuery({
    ...reading(`GET ${useListPath()}`, { query: { ...query, ...withExtras } }),
    ...keepingRows,
  });

/** Users that this page has deleted: reading them again would only be a 404. */
const deleted = new Set<string>();

export async function deleteUser(id: string, etag: string | null): Promise<void> {
  await call('DELETE /api/v1/users/{user_id}', { path: { user_id: id }, ...versionHeader(etag) });
  deleted.add(id);
}

/** Deletes an invited user with their roles. */
export async function withdrawInvitation(id: string): Promise<void> {
  await call('DELETE /api/v1/users/{user_id}/invitation', { path: { user_id: id } });
  deleted.add(id);
}

/** Erases a user. Returns how much was erased. */
export async function eraseUser(id: string, etag: string | null) {
  const path = { user_id: id };
  const { data } = await call('POST /api/v1/users/{user_id}/erase', { path, ...versionHeader(etag) });
  deleted.add(id);
  return data;
}

export const previewErasure = (id: string, asking: Asking): Previewed =>
  callPreview('POST /api/v1/users/{user_id}/erase', { path: { user_id: id }, ...asking });

/** The record of a user, with its ETag where the person may read single users, the activity, and the invitation. */
export function useUser(id: string) {
  const { can } = useMe();
  const listed = useQuery(
    reading(`GET ${useListPath()}`, { query: { search: id, size: 5, include: ['activity', 'invitation'] } }),
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
    invitation: found?.invitation ?? null,
    /** Read, and there is no such user. */
    isMissing: Boolean(listed.data) && !found,
    error,
    retry: () => void Promise.all([listed.refetch(), ...(can('users.read') ? [single.refetch()] : [])]),
  };
}

/**
 * The user as stored when the dialog opened, and after each later change: an act names this version, so that it meets what
 * the person sees. `seen` is what they saw before. Without `users.read`, there is no version to name. Not ready while `read` has
 * failed: the act would name no version or an old one.
 */
export function useStoredUser(seen: User) {
  const { can } = useMe();
  const [before] = useState(seen);
  const mayRead = can('users.read');
  const read = useQuery({
    ...readingVersioned('GET /api/v1/users/{user_id}', { path: { user_id: seen.id } }),
    enabled: () => mayRead && !deleted.has(seen.id),
    refetchOnMount: 'always',
  });
  return {
    before,
    stored: read.data?.result.data ?? seen,
    etag: read.data?.etag ?? null,
    isReady: !mayRead || (read.isFetchedAfterMount && !read.isError),
    read,
  };
}

export const statusOf = (user: User, activity?: ListedUser['activity'] | null): Status => {
  if (activity) return activity.status;
  if (!user.is_active) return 'inactive';
  return user.verified ? 'active' : 'unverified';
};

const versionHeader = (etag: string | null | undefined) => (etag ? { headers: { 'if-match': etag } } : {});

/** Changes a user. With an ETag, a change by somebody else in the meantime is refused (412). Returns the new one. */
export const changeUser = (id: string, body: UpdateUser, etag?: string | null) =>
  callVersioned('PUT /api/v1/users/{user_id}', { path: { user_id: id }, body, ...versionHeader(etag) });

type Previewed = Promise<{ data: AccessPreview }>;

type Asking = { signal: AbortSignal; query: PreviewQuery };

export const previewUser = (id: string, body: UpdateUser, asking: Asking): Previewed =>
  callPreview('PUT /api/v1/users/{user_id}', { path: { user_id: id }, body, ...asking });

/** Replaces all roles. Returns the new ETag. */
export const setRoles = (id: string, roleIds: readonly string[], etag: string | null) =>
  callVersioned('POST /api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    body: { role_ids: [...roleIds] },
    ...versionHeader(etag),
  });

/**
 * Returns a function that adds roles to a user and leaves all others as they are. Without `access.change`, the service only
 * replaces all roles of a user: then the roles are read first, and a change in between is refused (412).
 */
export function useAddRoles(): (user: User, roleIds: readonly string[]) => Promise<unknown> {
  const { can } = useMe();
  return async (user, roleIds) => {
    const id = user.id;
    if (can('access.change'))
      return call('POST /api/v1/access/changes', {
        body: { changes: [{ user_id: id, add_role_ids: [...roleIds] }] },
      });
    const { result, etag } = can('users.read')
      ? await callVersioned('GET /api/v1/users/{user_id}', { path: { user_id: id } })
      : { result: { data: user }, etag: null };
    const held = result.data.roles.map((role) => role.id);
    return setRoles(id, [...new Set([...held, ...roleIds])], etag);
  };
}

export const previewRoles = (id: string, roleIds: readonly string[], asking: Asking): Previewed =>
  callPreview('POST /api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    body: { role_ids: [...roleIds] },
    ...asking,
  });

/** Removes roles and leaves all others as they are. Returns the new ETag. */
export const removeRoles = (id: string, roleIds: readonly string[], etag: string | null = null) =>
  callVersioned('DELETE /api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    body: { role_ids: [...roleIds] },
    ...versionHeader(etag),
  });

export const previewRemoval = (id: string, roleIds: readonly string[], asking: Asking): Previewed =>
  callPreview('DELETE /api/v1/users/{user_id}/roles', {
    path: { user_id: id },
    body: { role_ids: [...roleIds] },
    ...asking,
  });

export const previewDeletion = (id: string, asking: Asking): Previewed =>
  callPreview('DELETE /api/v1/users/{user_id}', { path: { user_id: id }, ...asking });

export const endSessionsOf = (id: string) =>
  call('DELETE /api/v1/users/{user_id}/sessions', { path: { user_id: id } });

/** Returns all roles by id, as far as the person may read them, and the query that reads them. */
export function useAllRoles(): { roles: ReadonlyMap<string, SummarizedRole>; read: ReadState } {
  const { can } = useMe();
  const read = useQuery({ ...allRoleNames, enabled: can('role.read') });
  return { roles: new Map((read.data ?? []).map((role) => [role.id, role])), read };
}
