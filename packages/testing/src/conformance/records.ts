// Starts the service that generated requests are sent to: its callers, and the records that a request may name.
// It must not judge answers.
import type { OpenApiDocument } from '@castellan/openapi';
import type { TestClient } from '../client.ts';
import { type Hooks, signIn, startTestService, type TestService } from '../harness.ts';
import { addIdentity, addProvider } from '../openid/providers.ts';
import { addPerson, addRole, type Person } from '../users/people.ts';
import type { Kind } from './requests.ts';

export type Caller = { person: Person; client: TestClient };
export type Callers = { 'a superuser': Caller; 'an ordinary user': Caller };
export type World = { service: TestService; document: OpenApiDocument; callers: Callers };

/** Starts a service whose callers do not run out of sessions or sign-in attempts. */
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

/**
 * Returns the records that a request may name, and adds some, because requests delete them. The callers are left out,
 * because they would lock themselves out. So are the emails in `unnamed`, because a sign-in with such an email and a
 * generated password may succeed.
 */
export async function existingRecords(
  { service, callers }: World,
  unnamed: readonly string[] = [],
): Promise<Record<Kind, string[]>> {
  const { client } = callers['a superuser'];
  const role = await addRole(service, 'role.read');
  const person = await addPerson(service, { roles: [role] });
  // People end only their own tokens.
  const expires_at = new Date(Date.now() + 3_600_000).toISOString();
  for (const one of [await signIn(service, person), ...Object.values(callers).map(({ client }) => client)])
    await one.post('/api/v1/users/me/tokens', { name: 'Token', expires_at });
  await addPerson(service, { verified: false });
  await addPerson(service, { superuser: true });
  const account = await client.post('/api/v1/service-accounts', { name: `Service of ${role}` });
  await client.post(`/api/v1/service-accounts/${account.body.data?.id}/keys`, { name: 'Key' });
  await client.post('/api/v1/applications', { client_id: `app-${role}`, name: `Application of ${role}` });
  await client.post('/api/v1/identity-providers', {
    slug: `provider-${account.body.data?.id.slice(-12)}`,
    name: `Provider of ${role}`,
    kind: 'oidc',
    issuer: 'https://id.example.com',
    client_id: 'castellan',
    client_auth: 'none',
  });
  await client.post('/api/v1/user-attributes', {
    name: `a_${account.body.data?.id.slice(-12)}`,
    label: 'Attribute',
    type: 'string',
  });
  await client.post('/api/v1/webhooks', {
    name: `Webhook of ${role}`,
    url: 'http://127.0.0.1:1/',
    events: ['webhook_*'],
  });
  await service.sql(
    `insert into deliveries (target_id, source_id, type, key, state)
     select w.id, gen_random_uuid(), 'user_created', 1, 'dead' from webhooks w order by w.created_at desc limit 3`,
  );
  for (const path of ['role-groups', 'permission-groups']) {
    const parent = await client.post(`/api/v1/${path}`, { name: `Parent ${role}` });
    await client.post(`/api/v1/${path}`, { name: `Child ${role}`, parent_id: parent.body.data?.id });
    if (path === 'permission-groups') {
      await client.post('/api/v1/permissions', { name: 'act', group_id: parent.body.data?.id });
      await client.post('/api/v1/api-resources', {
        identifier: `https://${role}.example.com`,
        name: `API of ${role}`,
        permission_group_ids: [parent.body.data?.id],
      });
    }
  }
  await service.service.deps.sealer.run();
  const mine = Object.values(callers).map((one) => one.person.id);
  // People forget only their own devices.
  await service.sql(
    `insert into devices (id, user_id, token_hash)
     select gen_random_uuid(), id, sha256(gen_random_uuid()::text::bytea) from unnest($1::uuid[]) id`,
    [mine],
  );
  // People disconnect only their own identities.
  const provider = await addProvider(service);
  for (const id of [...mine, person.id]) await addIdentity(service, provider, id);
  const column = async (text: string, but = mine) =>
    (await service.sql<{ value: string }>(text, text.includes('$1') ? [but] : [])).map(({ value }) => value);
  const newest = 'order by created_at desc limit 12';
  return {
    user: await column(`select id as value from users where id <> all($1) ${newest}`),
    email: await column(`select email as value from users where id <> all($1) ${newest}`, [
      ...mine,
      ...unnamed,
    ]),
    role: await column(`select id as value from roles ${newest}`),
    role_group: await column(`select id as value from role_groups ${newest}`),
    permission: await column(`select id as value from permissions ${newest}`),
    permission_group: await column(`select id as value from permission_groups ${newest}`),
    service_account: await column(`select id as value from service_accounts ${newest}`),
    application: await column(`select id as value from applications ${newest}`),
    user_attribute: await column(`select id as value from user_attributes ${newest}`),
    api_resource: await column(`select id as value from api_resources ${newest}`),
    identity: await column(`select id as value from identities ${newest}`),
    identity_provider: await column(`select id as value from identity_providers ${newest}`),
    webhook: await column(`select id as value from webhooks ${newest}`),
    delivery: await column(`select id::text as value from deliveries ${newest}`),
    access_grant: await column(`select id as value from access_grants ${newest}`),
    secret: await column(`select id as value from application_secrets ${newest}`),
    api_key: await column(`select id as value from api_keys ${newest}`),
    personal_token: await column(`select id as value from personal_tokens ${newest}`),
    audit_entry: await column(
      `select id as value from audit_logs where position is not null order by position limit 12`,
    ),
    seal_log: await column(`select id as value from audit_seal_logs ${newest}`),
    device: await column(`select id as value from devices ${newest}`),
    session:
      await column(`select s.id as value from sessions s join users u on u.id = s.user_id where is_live_session(s.revoked_at, s.expires_at, s.epoch, u.session_epoch, u.is_active)
      order by s.created_at desc limit 12`),
  };
}
