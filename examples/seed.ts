// Creates what the orders API needs in Castellan: permissions, roles, a clerk, and a service account with an API key.
// It can run any number of times.
import { type BrowserClient, createClient } from '@castellan/sdk';

export const CLERK = { email: 'clerk@example.com', password: 'Hazel!Lantern47River' };

const actions = {
  read: 'See all orders.',
  create: 'Place an order.',
  ship: 'Mark an order as shipped.',
};
/** Roles and what they may do with orders. People who register get the role Customer (DEFAULT_ROLE in start.ts). */
const roles = {
  Customer: ['read', 'create'],
  Clerk: ['read', 'create', 'ship'],
};

/** Signs in as the superuser, creates what is missing, and returns a new API key for the orders APIs. */
export async function seed(baseUrl: string, superuser: { email: string; password: string }): Promise<string> {
  const client = createClient({ baseUrl, fetch: fetchWithCookies() });
  await client.auth.signIn(superuser);
  const roleIds = await seedRoles(client);
  await seedClerk(client, roleIds);
  const key = await seedServiceAccount(client, roleIds);
  await client.auth.signOut();
  client.close();
  return key;
}

async function seedRoles(client: BrowserClient): Promise<Map<string, string>> {
  const roleIds = new Map<string, string>();
  for await (const role of client.items('/api/v1/roles')) roleIds.set(role.name, role.id);
  if (roleIds.has('Clerk')) return roleIds;

  const group = await client.post('/api/v1/permission-groups', { body: { name: 'orders' } });
  const permissionIds = new Map<string, string>();
  for (const [name, description] of Object.entries(actions)) {
    const body = { name, description, group_id: group.data.id };
    permissionIds.set(name, (await client.post('/api/v1/permissions', { body })).data.id);
  }
  for (const [name, allowed] of Object.entries(roles)) {
    const permission_ids = allowed.flatMap((action) => permissionIds.get(action) ?? []);
    const { data } = await client.post('/api/v1/roles', { body: { name, permission_ids } });
    roleIds.set(name, data.id);
  }
  return roleIds;
}

async function seedClerk(client: BrowserClient, roleIds: Map<string, string>): Promise<void> {
  const { data } = await client.get('/api/v1/users', { query: { email: CLERK.email } });
  if (data.total > 0) return;
  const role_id = [roleIds.get('Clerk') ?? ''];
  await client.post('/api/v1/users', {
    body: { ...CLERK, first_name: 'Clara', last_name: 'Clerk', role_id },
  });
}

/** The role Service may ask about tokens and permissions of others. */
async function seedServiceAccount(client: BrowserClient, roleIds: Map<string, string>): Promise<string> {
  const name = 'Orders API';
  const query = { search: name };
  const { data: found } = await client.get('/api/v1/service-accounts', { query });
  const existing = found.find((one) => one.name === name);
  // A key is shown only once, so each start makes a new one. Deleting the account ends the old ones.
  if (existing)
    await client.delete('/api/v1/service-accounts/{service_account_id}', {
      path: { service_account_id: existing.id },
    });
  const body = { name, role_ids: [roleIds.get('Service') ?? ''] };
  const { data: account } = await client.post('/api/v1/service-accounts', { body });
  const { data } = await client.post('/api/v1/service-accounts/{service_account_id}/keys', {
    path: { service_account_id: account.id },
    body: { name: 'example' },
  });
  if (!data.key) throw new Error('Castellan returned no key.');
  return data.key;
}

/** Node keeps no cookies, and signing in as a person needs them. Your service uses an API key instead. */
function fetchWithCookies(): typeof fetch {
  const jar = new Map<string, string>();
  return async (input, init) => {
    const request = new Request(input, init);
    if (jar.size > 0) request.headers.set('cookie', [...jar].map((pair) => pair.join('=')).join('; '));
    const response = await fetch(request);
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      const equals = pair.indexOf('=');
      jar.set(pair.slice(0, equals), pair.slice(equals + 1));
    }
    return response;
  };
}
