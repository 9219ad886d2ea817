// The service that requests are made for: its callers, and the records that a request may name.
// It must not judge answers.
import type { OpenApiDocument } from '../../src/platform/http/reference/openapi.ts';
import type { TestClient } from '../client.ts';
import { type Hooks, signIn, startTestService, type TestService } from '../harness.ts';
import { addPerson, addRole, type Person } from '../users/people.ts';
import type { Kind } from './requests.ts';

export type Caller = { person: Person; client: TestClient };
export type Callers = { 'a superuser': Caller; 'an ordinary user': Caller };
export type World = { service: TestService; document: OpenApiDocument; callers: Callers };

/** No caller runs out of sessions, or of attempts soon. */
export async function openWorld(hooks: Hooks, environment: Record<string, string> = {}): Promise<World> {
  const service = await startTestService(hooks, {
    CONCURRENT_SESSION_LIMIT: '0',
    ACCOUNT_LOCKOUT_ATTEMPTS: '1000',
    ...environment,
  });
  const document: OpenApiDocument = (await service.client().get('/docs/openapi.json')).body;
  const callerWith = async (superuser: boolean): Promise<Caller> => {
    const person = await addPerson(service, { superuser });
    return { person, client: await signIn(service, person) };
  };
  const callers = { 'a superuser': await callerWith(true), 'an ordinary user': await callerWith(false) };
  return { service, document, callers };
}

/** What there is to name in a request; topped up, because requests delete. Never the callers: nobody locks himself out. */
export async function existingRecords({ service, callers }: World): Promise<Record<Kind, string[]>> {
  const { client } = callers['a superuser'];
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [role] });
  await signIn(service, person);
  await addPerson(service, { verified: false });
  await addPerson(service, { superuser: true });
  for (const path of ['role-groups', 'permission-groups']) {
    const parent = await client.post(`/api/v1/${path}`, { name: `Parent ${role}` });
    await client.post(`/api/v1/${path}`, { name: `Child ${role}`, parent_id: parent.body.data?.id });
    if (path === 'permission-groups')
      await client.post('/api/v1/permissions', { name: 'act', group_id: parent.body.data?.id });
  }
  const mine = Object.values(callers).map((one) => one.person.id);
  const column = async (text: string) =>
    (await service.sql<{ value: string }>(text, text.includes('$1') ? [mine] : [])).map(({ value }) => value);
  const newest = 'order by created_at desc limit 12';
  return {
    user: await column(`select id as value from users where id <> all($1) ${newest}`),
    email: await column(`select email as value from users where id <> all($1) ${newest}`),
    role: await column(`select id as value from roles ${newest}`),
    role_group: await column(`select id as value from role_groups ${newest}`),
    permission: await column(`select id as value from permissions ${newest}`),
    permission_group: await column(`select id as value from permission_groups ${newest}`),
    session: await column(`select id as value from sessions where revoked_at is null ${newest}`),
  };
}
