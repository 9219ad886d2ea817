// Role groups and permission groups by the same names, for what works alike on both: create, change, move, delete.
import { call, callVersioned } from './api.ts';

export type GroupFields = { name: string; description: string };
/** A group as the person saw it. The ETag is null for a new one. */
export type SeenGroup = { etag: string | null; fields: GroupFields };
export type SavedGroup = { id: string; name: string };

export type GroupKind = {
  /** In the audit log. */
  resourceType: 'role_group' | 'permission_group';
  read: (id: string) => Promise<SeenGroup>;
  create: (fields: GroupFields & { parent_id?: string }) => Promise<SavedGroup>;
  /** Changes the version that the ETag names. Returns the group with its new ETag. */
  update: (
    id: string,
    change: Partial<GroupFields> & { parent_id?: string | null },
    etag: string | null,
  ) => Promise<SavedGroup & { etag: string | null }>;
  remove: (id: string) => Promise<unknown>;
};

export const ifMatch = (etag: string | null): { 'if-match'?: string } =>
  etag === null ? {} : { 'if-match': etag };

const seenOf = ({ name, description }: GroupFields, etag: string | null): SeenGroup => ({
  etag,
  fields: { name, description },
});

export const roleGroupKind: GroupKind = {
  resourceType: 'role_group',
  read: async (id) => {
    const { result, etag } = await callVersioned('GET /api/v1/role-groups/{group_id}', {
      path: { group_id: id },
    });
    return seenOf(result.data, etag);
  },
  create: async (body) => (await call('POST /api/v1/role-groups', { body })).data,
  update: async (id, body, seen) => {
    const path = { group_id: id };
    const headers = ifMatch(seen);
    const { result, etag } = await callVersioned('PUT /api/v1/role-groups/{group_id}', {
      path,
      body,
      headers,
    });
    return { id, name: result.data.name, etag };
  },
  remove: (id) => call('DELETE /api/v1/role-groups/{group_id}', { path: { group_id: id } }),
};

export const permissionGroupKind: GroupKind = {
  resourceType: 'permission_group',
  read: async (id) => {
    const { result, etag } = await callVersioned('GET /api/v1/permission-groups/{group_id}', {
      path: { group_id: id },
    });
    return seenOf(result.data, etag);
  },
  create: async (body) => (await call('POST /api/v1/permission-groups', { body })).data,
  update: async (id, body, seen) => {
    const path = { group_id: id };
    const headers = ifMatch(seen);
    const { result, etag } = await callVersioned('PUT /api/v1/permission-groups/{group_id}', {
      path,
      body,
      headers,
    });
    return { id, name: result.data.name, etag };
  },
  remove: (id) => call('DELETE /api/v1/permission-groups/{group_id}', { path: { group_id: id } }),
};
