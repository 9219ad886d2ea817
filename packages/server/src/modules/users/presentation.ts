// A user record as the API shows it, and the columns that it takes. Whatever is not named here never leaves.
import type { User } from '@castellan/contract/users';
import { sql } from 'kysely';
import { permissionsOf, rolesOf } from '../authz/effective.ts';
import type { Graph } from '../authz/graph.ts';

export type UserRecord = {
  user_id: string;
  email: string;
  first_name: string;
  last_name: string;
  is_active: boolean;
  is_superuser: boolean;
  verified: boolean;
  created_at: Date;
  updated_at: Date;
  role_ids: readonly string[];
};

/** With the version that its ETag tells, and that of the role → permission graph in the same snapshot. */
export type VersionedUser = UserRecord & { version: number; authz_version: string };

/** Of `users u`. */
export const userColumns = sql`
  u.id as user_id, u.email, u.first_name, u.last_name, u.is_active, u.is_superuser, u.verified, u.created_at,
  u.updated_at, u.version,
  array(select r.role_id from user_roles r where r.user_id = u.id) as role_ids,
  (select version from authz_version) as authz_version`;

export function toUser(record: UserRecord, graph: Graph): User {
  return {
    id: record.user_id,
    email: record.email,
    first_name: record.first_name,
    last_name: record.last_name,
    is_active: record.is_active,
    is_superuser: record.is_superuser,
    verified: record.verified,
    roles: rolesOf(graph, record).map(({ id, name, description }) => ({ id, name, description })),
    permissions: [...permissionsOf(graph, record)],
    created_at: record.created_at.toISOString(),
    updated_at: record.updated_at.toISOString(),
  };
}
