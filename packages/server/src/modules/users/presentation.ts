// A user record as the API shows it. Pure; whatever is not named here never leaves.
import type { User } from '@castellan/contract/users';
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
