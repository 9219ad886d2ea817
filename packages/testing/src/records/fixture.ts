// What the tests of roles, permissions and groups share: a service with its administrator, and records created by HTTP.
// It must not judge answers beyond "the record was created".
import type { Answer, Body, TestClient } from '../client.ts';
import { ADMIN, type Hooks, signIn, startTestService, type TestService } from '../harness.ts';
import { addUser } from '../sessions/accounts.ts';

export type ServiceWithAdmin = { service: TestService; admin: TestClient };

/** Starts a service on a new database and signs in as its superuser. */
export async function startServiceWithAdmin(hooks: Hooks): Promise<ServiceWithAdmin> {
  const service = await startTestService(hooks);
  return { service, admin: await signIn(service, ADMIN) };
}

let counter = 0;
/** Returns a name that no other record of this process has. */
export function newName(prefix = 'record'): string {
  counter += 1;
  return `${prefix}-${counter}`;
}

async function make(client: TestClient, path: string, fields: object): Promise<Body> {
  const answer = await client.post(`/api/v1/${path}`, fields);
  if (answer.status !== 201) throw new Error(`POST ${path} answered ${answer.status}: ${answer.text}`);
  return answer.body.data;
}

export const makeRole = (client: TestClient, fields: object = {}): Promise<Body> =>
  make(client, 'roles', { name: newName('role'), ...fields });

export const makeRoleGroup = (client: TestClient, fields: object = {}): Promise<Body> =>
  make(client, 'role-groups', { name: newName('role-group'), ...fields });

export const makePermissionGroup = (client: TestClient, fields: object = {}): Promise<Body> =>
  make(client, 'permission-groups', { name: newName('permission-group'), ...fields });

/** Creates a permission, in a new group unless `group_id` is given. */
export async function makePermission(
  client: TestClient,
  fields: { group_id?: string; name?: string; description?: string } = {},
): Promise<Body> {
  const groupId = fields.group_id ?? (await makePermissionGroup(client)).id;
  return make(client, 'permissions', { name: newName('action'), ...fields, group_id: groupId });
}

/** Creates a user who holds exactly these permissions through a new role, and signs in as them. */
export async function signInWith(
  service: TestService,
  permissions: readonly string[],
): Promise<{ client: TestClient; userId: string; roleId: string }> {
  const user = await addUser(service);
  const [role] = await service.sql<{ id: string }>(
    'insert into roles (id, name) values (gen_random_uuid(), $1) returning id',
    [newName('held')],
  );
  if (!role) throw new Error('the role was not inserted');
  const roleId = role.id;
  await service.sql(
    'insert into role_permissions (role_id, permission_id) select $1, id from permissions where name = any($2)',
    [roleId, permissions],
  );
  await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [user.id, roleId]);
  return { client: await signIn(service, user), userId: user.id, roleId };
}

export async function permissionId(service: TestService, name: string): Promise<string> {
  const [row] = await service.sql<{ id: string }>('select id from permissions where name = $1', [name]);
  if (!row) throw new Error(`there is no permission ${name}`);
  return row.id;
}

export async function roleId(service: TestService, name: string): Promise<string> {
  const [row] = await service.sql<{ id: string }>('select id from roles where name = $1', [name]);
  if (!row) throw new Error(`there is no role ${name}`);
  return row.id;
}

export type Change = { action: string; actor_id: string; resource_type: string; details: Body };

/** Returns the audit entries about a record, oldest first. */
export const changesOf = (service: TestService, resourceId: string): Promise<Change[]> =>
  service.sql<Change>(
    'select action, actor_id, resource_type, details from audit_logs where resource_id = $1 order by "timestamp", id',
    [resourceId],
  );

export const etagOf = (answer: Answer): string => {
  const etag = answer.headers.get('etag');
  if (etag === null) throw new Error('the answer has no ETag');
  return etag;
};

export const idsOf = (records: readonly { id: string }[]): string[] => records.map(({ id }) => id);
export const namesOf = (records: readonly { name: string }[]): string[] => records.map(({ name }) => name);

/** Returns the ids in the column `other` of a link table where the column `own` is `id`. */
export async function linkedIds(
  service: TestService,
  table: 'role_group_roles' | 'role_permissions',
  [own, other]: ['role_id', 'role_group_id' | 'permission_id'] | ['role_group_id', 'role_id'],
  id: string,
): Promise<string[]> {
  const rows = await service.sql<{ id: string }>(`select ${other} as id from ${table} where ${own} = $1`, [
    id,
  ]);
  return idsOf(rows);
}
