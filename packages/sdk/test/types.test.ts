// What the compiler refuses. The calls are never made: `tsc` checks this file.
import { test } from 'node:test';
import {
  type AccessPreview,
  type AuthenticationPreview,
  type Client,
  createClient,
  type Role,
  type User,
} from '../src/index.ts';

const path = { user_id: 'u' };

async function accepted(client: Client): Promise<void> {
  const { data }: { data: User } = await client.get('/api/v1/users/{user_id}', { path });
  data.email.toLowerCase();
  await client.get('/api/v1/users');
  await client.get('/api/v1/users', { query: { status: 'locked', size: 5 }, timeoutMs: 5 });
  await client.post('/api/v1/roles', { body: { name: 'Editors' }, idempotencyKey: 'k' });
  const nothing: undefined = await client.delete('/api/v1/role-groups/{group_id}', {
    path: { group_id: 'g' },
  });
  const stream: Response = await client.get('/api/v1/audit-logs/export');
  for await (const role of client.items('/api/v1/roles')) role.name.toLowerCase();
  for await (const entry of client.items('/api/v1/audit-logs')) entry.action.toLowerCase();
  for await (const { items } of client.pages('/api/v1/users')) items[0]?.email.toLowerCase();
  for await (const session of client.items('/api/v1/sessions')) session.user.email.toLowerCase();
  const role: Role = (await client.post('/api/v1/roles', { body: { name: 'Editors' } })).data;
  const preview: AccessPreview = (
    await client.delete('/api/v1/roles/{role_id}', { path: { role_id: role.id }, query: { dry_run: true } })
  ).data;
  const authentication = '/api/v1/roles/{role_id}/authentication';
  const body = { required_acr: 'aal2' as const };
  const required: Role = (await client.put(authentication, { path: { role_id: role.id }, body })).data;
  const concerned: AuthenticationPreview = (
    await client.put(authentication, { path: { role_id: role.id }, body, query: { dry_run: true } })
  ).data;
  createClient({ baseUrl: '' }).auth.state.toLowerCase();
  void [nothing, stream, preview, required, concerned];
}

function refused(client: Client): void {
  // @ts-expect-error: there is no such path.
  client.get('/api/v1/user');
  // @ts-expect-error: the path has no such method.
  client.post('/api/v1/users/me');
  // @ts-expect-error: the path parameter is missing.
  client.get('/api/v1/users/{user_id}');
  // @ts-expect-error: the path parameter has another name.
  client.get('/api/v1/users/{user_id}', { path: { id: 'u' } });
  // @ts-expect-error: an id is a string.
  client.get('/api/v1/users/{user_id}', { path: { user_id: 1 } });
  // @ts-expect-error: the body is missing.
  client.post('/api/v1/roles');
  // @ts-expect-error: a field of the body is missing.
  client.post('/api/v1/users', { body: { email: 'a@example.com' } });
  // @ts-expect-error: a field of the body has another type.
  client.post('/api/v1/roles', { body: { name: 5 } });
  // @ts-expect-error: a GET has no body.
  client.get('/api/v1/users', { body: {} });
  // @ts-expect-error: the query has no such parameter.
  client.get('/api/v1/users', { query: { colour: 'red' } });
  // @ts-expect-error: the parameter has no such value.
  client.get('/api/v1/users', { query: { status: 'lost' } });
  const body = { email: '', password: '', first_name: '', last_name: '' };
  // @ts-expect-error: the operation takes no Idempotency-Key.
  client.post('/api/v1/auth/register', { body, idempotencyKey: 'k' });
  // @ts-expect-error: the operation has no preview.
  client.post('/api/v1/permissions', { body: { name: 'a', group_id: 'g' }, query: { dry_run: true } });
  // @ts-expect-error: the type of the result must be known.
  client.post('/api/v1/roles', { body: { name: 'Editors' }, query: { dry_run: Math.random() > 1 } });
  // @ts-expect-error: it returns one record, not pages.
  client.pages('/api/v1/users/me');
  // @ts-expect-error: a list without pages.
  client.items('/api/v1/roles/list');
  // @ts-expect-error: a program has no session.
  createClient({ baseUrl: '', apiKey: 'k' }).auth;
  // @ts-expect-error: one credential only.
  createClient({ baseUrl: '', apiKey: 'k', accessToken: 't' });
  // @ts-expect-error: there is no default service.
  createClient({});
}

test('the types of this file compile', () => {
  void [accepted, refused];
});
