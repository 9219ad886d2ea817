// What tests of webhooks share: an administrator, and a webhook that is told of roles.
import type { Answer, TestClient } from '../client.ts';
import { signIn, type TestService } from '../harness.ts';
import { addPerson } from '../users/people.ts';

export const signInAdmin = async (service: TestService): Promise<TestClient> =>
  signIn(service, await addPerson(service, { superuser: true }));

export type Endpoint = { id: string; secret: string; path: string };

/** Creates a webhook. */
export async function addWebhook(
  admin: TestClient,
  url: string,
  more: Record<string, unknown> = {},
): Promise<Endpoint> {
  const answer = await admin.post('/api/v1/webhooks', { name: 'Roles', url, events: ['role_*'], ...more });
  if (answer.status !== 201) throw new Error(`no webhook: ${answer.text}`);
  const { id, secret } = answer.body.data;
  return { id, secret, path: `/api/v1/webhooks/${id}` };
}

let roles = 0;
/** Causes an event of a new record. */
export async function addRoles(admin: TestClient, count: number): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; i < count; i += 1) {
    roles += 1;
    const { body }: Answer = await admin.post('/api/v1/roles', { name: `Role ${process.pid} ${roles}` });
    made.push(body.data.id);
  }
  return made;
}

/**
 * Inserts an entry of the audit log about a record in one transaction, as a change of it does. Faster than requests, and as good: the
 * trigger queues the event.
 */
export const insertEntries = (
  service: Pick<TestService, 'sql'>,
  resource: string,
  count = 1,
): Promise<unknown> =>
  service.sql(
    `insert into audit_logs (id, action, resource_type, resource_id, details, "timestamp")
     select gen_random_uuid(), 'role_updated', 'role', $1, '{}', clock_timestamp() from generate_series(1, $2::integer)`,
    [resource, count],
  );
