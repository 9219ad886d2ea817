// Creates the users and roles of the administration tests directly in the database, which is faster and allows any state.
// It must not replace the operations that create them, which have tests of their own.
import { randomUUID } from 'node:crypto';
import type { TestClient } from '../client.ts';
import { newEmail, PASSWORD, signIn, type TestService } from '../harness.ts';
import { hashOnce } from '../hashing.ts';

export type Person = { id: string; email: string; password: string };

type State = {
  email?: string;
  firstName?: string;
  lastName?: string;
  superuser?: boolean;
  verified?: boolean;
  active?: boolean;
  /** Ids of roles. */
  roles?: string[];
};

/** Inserts a user with the password PASSWORD; verified, active and without roles unless `state` says otherwise. */
export async function addPerson(service: TestService, state: State = {}): Promise<Person> {
  const person = { id: randomUUID(), email: state.email ?? newEmail('person'), password: PASSWORD };
  await service.sql(
    `insert into users (id, email, first_name, last_name, password_hash, is_superuser, verified, is_active)
     values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      person.id,
      person.email,
      state.firstName ?? 'Ada',
      state.lastName ?? 'Lovelace',
      await hashOnce(service.service.deps.hasher, PASSWORD),
      state.superuser ?? false,
      state.verified ?? true,
      state.active ?? true,
    ],
  );
  for (const role of state.roles ?? [])
    await service.sql('insert into user_roles (user_id, role_id) values ($1, $2)', [person.id, role]);
  return person;
}

/** Inserts a role with these permissions and returns its id. */
export async function addRole(service: TestService, ...permissions: string[]): Promise<string> {
  const id = randomUUID();
  await service.sql('insert into roles (id, name) values ($1, $2)', [id, `Role ${id}`]);
  await service.sql(
    'insert into role_permissions (role_id, permission_id) select $1, id from permissions where name = any($2)',
    [id, permissions],
  );
  return id;
}

/** Creates a user with exactly these permissions and returns them with a client signed in as them. */
export async function signedInWith(
  service: TestService,
  ...permissions: string[]
): Promise<{ client: TestClient; person: Person }> {
  const person = await addPerson(service, { roles: [await addRole(service, ...permissions)] });
  return { client: await signIn(service, person), person };
}

export async function roleNamed(service: TestService, name: string): Promise<string> {
  const [role] = await service.sql<{ id: string }>('select id from roles where name = $1', [name]);
  if (!role) throw new Error(`there is no role ${name}`);
  return role.id;
}

/** Returns the audit entries of a request, found by the `X-Request-ID` of its response. */
export const eventsOf = (service: TestService, answer: { headers: Headers }) =>
  service.sql<{
    actor_id: string | null;
    action: string;
    resource_type: string;
    resource_id: string;
    details: { before?: Record<string, unknown>; after?: Record<string, unknown> } & Record<string, unknown>;
  }>(
    `select actor_id, action, resource_type, resource_id, details from audit_logs
     where details->>'request_id' = $1 order by "timestamp", id`,
    [answer.headers.get('x-request-id')],
  );

/** Returns whether the client's access token is still accepted. */
export async function isSignedIn(client: TestClient): Promise<boolean> {
  const answer = await client.get('/api/v1/users/me');
  if (answer.status !== 200 && answer.status !== 401) throw new Error(`/users/me answered ${answer.text}`);
  return answer.status === 200;
}

/** Counts the answers by status. */
export function tally(answers: readonly { status: number }[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
