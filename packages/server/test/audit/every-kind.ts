// Sends requests that write an audit entry of nearly every action.
// It must do the same on every service, so that two services can be compared; it asserts nothing.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { linkTo } from '@castellan/testing/accounts/self-service';
import type { Answer, TestClient } from '@castellan/testing/client';
import { ADMIN, eventually, PASSWORD, type TestService } from '@castellan/testing/harness';
import { startIssuer } from '@castellan/testing/openid/issuer';
import { addIdentity, addProvider } from '@castellan/testing/openid/providers';
import { portOf } from '@castellan/testing/ports';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { postForm } from '@castellan/testing/service-accounts/token-services';
import { addPerson } from '@castellan/testing/users/people';
import { createSecretText } from '../../src/platform/security/secret-text.ts';
import { act, ask, interactionOf, ledTo, resume } from '../openid/authorize/fixture.ts';
import { begin, lookUp, poll } from '../openid/device/fixture.ts';
import {
  addGrant,
  addSignedIn,
  exchange,
  post,
  REDIRECT,
  refresh,
  type TestApplication,
} from '../openid/fixture.ts';
import { takePart } from '../openid/notices/fixture.ts';

/** Settings that the requests need. */
export const environment = {
  RATE_LIMIT_RESEND_VERIFICATION: '2/hour',
  ACCOUNT_LOCKOUT_ATTEMPTS: '3',
  SELF_DELETION_DAYS: '14',
};

const NEW_PASSWORD = 'Marble?Tundra61Fox';
const THIRD_PASSWORD = 'Copper+Violin95Moss';
const WRONG_PASSWORD = 'Walnut*Beacon74Surf';

export type CausedActions = {
  /** The answers in order: `POST /api/v1/roles: 201`. */
  outcomes: string[];
  /** Every password and token that was sent or returned. */
  secrets: string[];
};

export async function causeActions(service: TestService): Promise<CausedActions> {
  const outcomes: string[] = [];
  const secrets = new Set([PASSWORD, NEW_PASSWORD, THIRD_PASSWORD, WRONG_PASSWORD, ADMIN.password]);
  const note = (what: string, answer: Answer): Answer => {
    outcomes.push(`${what}: ${answer.status} ${answer.body?.code ?? ''}`.trim());
    const { access_token, refresh_token, csrf_token, key, token } = answer.body?.data ?? {};
    for (const secret of [access_token, refresh_token, csrf_token, key, token])
      if (secret) secrets.add(secret);
    return answer;
  };
  const caller = (client: TestClient) => async (method: string, path: string, json?: unknown) =>
    note(
      `${method} ${path.replaceAll(/[0-9a-f-]{36}/g, ':id')}`,
      await client.request(method, `/api/v1${path}`, json === undefined ? {} : { json }),
    );
  const context: Context = { service, caller, note, secrets };
  await accounts(context);
  await emailChanges(context);
  await leaving(context);
  await acting(context);
  await administration(context);
  await serviceAccounts(context);
  await applications(context);
  await programs(context);
  await providers(context);
  await webhooks(context);
  return { outcomes, secrets: [...secrets] };
}

type Send = (method: string, path: string, json?: unknown) => Promise<Answer>;
type Context = {
  service: TestService;
  caller(client: TestClient): Send;
  note(what: string, answer: Answer): Answer;
  secrets: Set<string>;
};

async function accounts({ service, caller, note, secrets }: Context): Promise<void> {
  const client = service.client();
  const send = caller(client);
  const email = 'walker@example.com';
  const names = { first_name: 'Nelly', last_name: 'Bly' };
  await send('POST', '/auth/register', { email, password: PASSWORD, ...names });
  await send('POST', '/auth/register', { email, password: PASSWORD, ...names });
  await send('POST', '/auth/verify-email', { token: 'no such token' });
  const other = 'somebody@example.com';
  await send('POST', '/auth/register', { email: other, password: PASSWORD, ...names });
  const unwanted = await linkTo(service, other, 'verification');
  secrets.add(unwanted);
  await send('POST', '/auth/registration/decline', { token: unwanted });
  const link = await linkTo(service, email, 'verification');
  secrets.add(link);
  await send('POST', '/auth/verify-email', { token: link });
  for (let asked = 0; asked < 3; asked += 1) await send('POST', '/auth/resend-verification-email', { email });
  const bare = await client.request('POST', '/api/v1/auth/login', {
    json: { email, password: PASSWORD },
    headers: { 'x-csrf-token': 'none' },
  });
  note('login without CSRF', bare);
  for (const password of [WRONG_PASSWORD, PASSWORD]) note('login', await client.login({ email, password }));
  await send('GET', '/roles');
  await send('PUT', '/users/me', { first_name: 'Elizabeth' });
  const refreshed = await send('POST', '/auth/refresh', { refresh_token: client.refreshToken });
  await send('POST', '/auth/refresh', { refresh_token: 'no such token' });
  await send('POST', '/auth/new_access_token', { refresh_token: refreshed.body.data?.refresh_token });
  await send('POST', '/auth/change_password', { current_password: PASSWORD, new_password: 'weak' });
  await send('POST', '/auth/change_password', { current_password: PASSWORD, new_password: NEW_PASSWORD });
  note('login', await client.login({ email, password: NEW_PASSWORD }));
  await send('POST', '/auth/logout');
  note('login', await client.login({ email, password: NEW_PASSWORD }));
  const later = new Date(Date.now() + 86_400_000).toISOString();
  const made = await send('POST', '/users/me/tokens', { name: 'Walk', expires_at: later });
  await send('DELETE', `/users/me/tokens/${made.body.data.id}`);
  const program = service.client();
  program.accessToken = made.body.data.token;
  await caller(program)('GET', '/users/me');
  await send('POST', '/auth/logout/all');
  for (let failed = 0; failed < 4; failed += 1)
    note('wrong password', await client.login({ email, password: WRONG_PASSWORD }));
  await send('POST', '/auth/password-reset/request', { email });
  const reset = await linkTo(service, email, 'password_reset');
  secrets.add(reset);
  await send('POST', '/auth/password-reset/confirm', { token: reset, new_password: THIRD_PASSWORD });
}

async function emailChanges({ service, caller, note, secrets }: Context): Promise<void> {
  const { email } = await addPerson(service, { email: 'mover@example.com' });
  const client = service.client();
  note('login', await client.login({ email, password: PASSWORD }));
  const send = caller(client);
  const to = 'moved@example.com';
  await send('POST', '/users/me/email', { new_email: to });
  const link = await linkTo(service, to, 'email_change');
  secrets.add(link);
  await send('POST', '/auth/confirm-email-change', { token: link });
  const undo = await linkTo(service, email, 'email_changed');
  secrets.add(undo);
  await send('POST', '/auth/revert-email-change', { token: undo });
}

async function invitations({ service, secrets }: Context, send: Send): Promise<void> {
  const email = 'invited@example.com';
  const body = { email, first_name: 'Mary', last_name: 'Kingsley' };
  await send('POST', '/users/invitations/bulk', { invitations: [body, body] });
  const link = await linkTo(service, email, 'invitation');
  secrets.add(link);
  await send('POST', '/auth/accept-invitation', { token: link, password: THIRD_PASSWORD });
  const other = await send('POST', '/users/invitations', { ...body, email: 'uninvited@example.com' });
  const { id } = other.body.data;
  await send('POST', `/users/${id}/invitation`);
  await send('DELETE', `/users/${id}/invitation`);
}

async function leaving({ service, caller, note, secrets }: Context): Promise<void> {
  const person = await addPerson(service);
  const client = service.client();
  note('login', await client.login(person));
  const send = caller(client);
  await send('DELETE', '/users/me', { current_password: person.password });
  const link = await linkTo(service, person.email, 'deletion_planned');
  secrets.add(link);
  await send('POST', '/auth/undo-deletion', { token: link });
}

async function acting({ service, caller, note }: Context): Promise<void> {
  const { id } = await addPerson(service);
  const client = service.client();
  note('login', await client.login(ADMIN));
  const began = await caller(client)('POST', `/users/${id}/act-as`, { reason: 'To see what Nelly sees' });
  const acted = service.client();
  acted.accessToken = began.body.data.access_token;
  await caller(acted)('POST', '/auth/logout', {});
}

async function administration(context: Context): Promise<void> {
  const { service, caller, note } = context;
  const client = service.client();
  note('login', await client.login(ADMIN));
  const send = caller(client);
  const idOf = async (answer: Promise<Answer>): Promise<string> => (await answer).body.data.id;

  const permissionGroup = await idOf(send('POST', '/permission-groups', { name: 'walks' }));
  const childGroup = await idOf(send('POST', '/permission-groups', { name: 'strolls' }));
  await send('PUT', `/permission-groups/${childGroup}`, { parent_id: permissionGroup });
  await send('PUT', `/permission-groups/${childGroup}`, { description: 'Slow ones' });
  const permission = await idOf(send('POST', '/permissions', { name: 'take', group_id: permissionGroup }));

  const roleGroup = await idOf(send('POST', '/role-groups', { name: 'Walkers' }));
  const other = await idOf(send('POST', '/role-groups', { name: 'Strollers' }));
  await send('PUT', `/role-groups/${other}`, { parent_id: roleGroup });
  await send('PUT', `/role-groups/${other}`, { description: 'Slow ones' });
  const role = await idOf(send('POST', '/roles', { name: 'Walker' }));
  await send('PUT', `/roles/${role}`, { description: 'Walks' });
  await send('POST', `/roles/${role}/permissions?dry_run=true`, { permission_ids: [permission] });
  await send('POST', `/roles/${role}/permissions`, { permission_ids: [permission] });
  await send('POST', `/role-groups/${roleGroup}/roles`, { role_ids: [role] });
  const clone = await idOf(send('POST', `/role-groups/${roleGroup}/clone`, { name: 'Hikers' }));
  await send('DELETE', `/role-groups/${roleGroup}/roles`, { role_ids: [role] });
  await send('DELETE', `/role-groups/${clone}/roles`, { role_ids: [role] });
  await service.sql('update roles set role_group_id = $2 where id = $1', [role, other]);
  await send('POST', '/role-groups/sync-roles');
  await send('DELETE', `/role-groups/${other}/roles`, { role_ids: [role] });

  const user = await idOf(
    send('POST', '/users', {
      email: 'hiker@example.com',
      password: PASSWORD,
      first_name: 'Ida',
      last_name: 'Wells',
      role_id: [role],
    }),
  );
  await send('PUT', `/users/${user}`, { first_name: 'Ada', password: NEW_PASSWORD });
  await send('PUT', '/users/bulk-update', { user_ids: [user], updates: { last_name: 'Bell' } });
  const attribute = { name: 'boot_size', label: 'Boot size', type: 'integer' };
  const { id: attributeId } = (await send('POST', '/user-attributes', attribute)).body.data;
  await send('PUT', `/user-attributes/${attributeId}`, { description: 'European' });
  await send('PATCH', `/users/${user}/attributes`, { boot_size: 38 });
  await send('DELETE', `/user-attributes/${attributeId}?force=true`);
  note('login', await service.client().login({ email: 'hiker@example.com', password: NEW_PASSWORD }));
  await send('DELETE', `/users/${user}/sessions`);
  await send('POST', `/users/${user}/unlock`);
  const identity = await addIdentity(service, await addProvider(service), user);
  await send('DELETE', `/users/${user}/identities/${identity.id}`);
  const unverified = await addPerson(service, { verified: false });
  await send('POST', `/users/${unverified.id}/resend-verification`);
  await send('POST', `/users/${unverified.id}/erase`);
  await invitations(context, send);
  await send('DELETE', `/users/${user}`);
  await send('POST', `/users/${user}/roles`, { role_ids: [] });
  await send('DELETE', `/users/${user}`);

  await send('DELETE', `/roles/${role}/permissions/${permission}`);
  await send('DELETE', `/roles/${role}`);
  await send('DELETE', '/role-groups/bulk', [other, clone]);
  await send('DELETE', `/role-groups/${roleGroup}`);
  await send('DELETE', `/permissions/${permission}`);
  await send('DELETE', `/permission-groups/${childGroup}`);
  await send('DELETE', `/permission-groups/${permissionGroup}`);
}

async function serviceAccounts({ service, caller, note }: Context): Promise<void> {
  const client = service.client();
  note('login', await client.login(ADMIN));
  const send = caller(client);
  const { id: role } = (await send('POST', '/roles', { name: 'Walking service' })).body.data;
  const { id: account } = (await send('POST', '/service-accounts', { name: 'Walker' })).body.data;
  const path = `/service-accounts/${account}`;
  await send('PUT', path, { description: 'Walks', role_ids: [role] });
  const { id: first, key } = (await send('POST', `${path}/keys`, { name: 'Key' })).body.data;
  const { id: second } = (await send('POST', `${path}/keys/${first}/rotate`)).body.data;
  await send('DELETE', `${path}/keys/${first}`);
  const robot = service.client();
  robot.accessToken = key;
  await caller(robot)('GET', '/roles');
  const watcher = await addServiceAccount(service, { permissions: ['access.watch'] });
  robot.accessToken = watcher.key;
  await caller(robot)('GET', '/access/feed');
  await send('DELETE', `${path}/keys/${second}`);
  await send('DELETE', path);
  await send('DELETE', `/roles/${role}`);
}

async function applications({ service, caller, note, secrets }: Context): Promise<void> {
  const client = service.client();
  note('login', await client.login(ADMIN));
  const send = caller(client);
  const body = { client_id: 'walks', name: 'Walks' };
  const { id, client_secret } = (await send('POST', '/applications', body)).body.data;
  const path = `/applications/${id}`;
  await send('PUT', path, { description: 'Where walks are planned' });
  const resource = { identifier: 'https://walks.example.com', name: 'Walks' };
  const { id: resourceId } = (await send('POST', '/api-resources', resource)).body.data;
  await send('PUT', `/api-resources/${resourceId}`, { description: 'The walks themselves' });
  await send('DELETE', `/api-resources/${resourceId}`);
  const clientSecret = 'wJalrXUtnFEMI-K7MDENG-bPxRfiCY';
  secrets.add(clientSecret);
  const provider = { slug: 'walks', name: 'Walks', kind: 'google', client_id: 'walks' };
  const { id: providerId } = (
    await send('POST', '/identity-providers', { ...provider, client_secret: clientSecret })
  ).body.data;
  await send('PUT', `/identity-providers/${providerId}`, { name: 'Walkers' });
  await send('DELETE', `/identity-providers/${providerId}`);
  const { id: secretId, secret } = (await send('POST', `${path}/secrets`, {})).body.data;
  for (const one of [client_secret, secret]) secrets.add(one);
  await send('DELETE', `${path}/secrets/${secretId}`);
  await refusedNotice(service, { id, path }, send);
  await tokensOfApplications(service, { id, client_id: body.client_id, client_secret }, note, secrets);
  // Browsers that signed in before there was an application are unknown to it.
  note('login', await client.login(ADMIN));
  await consentOf(client, { id, client_id: body.client_id, client_secret }, send, secrets);
  await answerDevices(
    service,
    client,
    { id, client_id: body.client_id, client_secret },
    { send, note, secrets },
  );
  await send('DELETE', path);
}

/** Signs in to an application after consent, takes that back, and is refused without it. */
async function consentOf(
  client: TestClient,
  application: TestApplication,
  send: Send,
  secrets: Set<string>,
): Promise<void> {
  await send('PUT', `/applications/${application.id}`, { first_party: false, redirect_uris: [REDIRECT] });
  const id = interactionOf(await ask(client, application));
  await act(client, id, 'consent', { decision: 'allow' });
  const { code } = ledTo(await resume(client, id)).fields;
  if (code !== undefined) secrets.add(code);
  await send('DELETE', `/users/me/applications/${application.id}`);
  await ask(client, application, { prompt: 'none' });
}

/** Allows a device of an application, and denies another one. */
async function answerDevices(
  service: TestService,
  client: TestClient,
  application: TestApplication,
  { send, note, secrets }: { send: Send } & Pick<Context, 'note' | 'secrets'>,
): Promise<void> {
  await send('PUT', `/applications/${application.id}`, { grant_types: ['device_code'] });
  for (const decision of ['allow', 'deny']) {
    const { device_code, user_code } = await begin(service, application, { scope: 'openid' });
    secrets.add(device_code);
    await act(client, await lookUp(client, { user_code }), 'consent', { decision });
    const { body } = note('POST /oauth/token', await poll(service, application, { device_code }));
    for (const token of [body.access_token, body.id_token]) if (token) secrets.add(token);
  }
}

/** Ends a session of an application that refuses to learn of it. */
async function refusedNotice(
  service: TestService,
  { id, path }: { id: string; path: string },
  send: Send,
): Promise<void> {
  const refusing = createServer((_request, response) => response.writeHead(400).end());
  refusing.listen(0, '127.0.0.1');
  await once(refusing, 'listening');
  try {
    const url = `http://127.0.0.1:${portOf(refusing)}/logout`;
    await send('PUT', path, { backchannel_logout_url: url });
    const who = await addSignedIn(service);
    await takePart(service, { id }, who);
    await service.sql('update sessions set revoked_at = now() where id = $1', [who.sessionId]);
    await eventually(
      async () => (await service.sql(`select from logout_notices where state = 'refused'`))[0],
      'the failed notice',
    );
  } finally {
    refusing.closeAllConnections();
    refusing.close();
  }
}

async function tokensOfApplications(
  service: TestService,
  application: TestApplication,
  note: Context['note'],
  secrets: Set<string>,
): Promise<void> {
  const { keyRing } = service.service.deps;
  await eventually(() => (keyRing.hasActiveApplication() ? true : undefined), 'the keys of applications');
  const who = await addSignedIn(service);
  const begin = async () => {
    const grant = await addGrant(service, application, who);
    const { body } = note('POST /oauth/token', await exchange(service, application, grant));
    for (const secret of [grant.code, body.access_token, body.refresh_token, body.id_token])
      secrets.add(secret);
    return { grant, token: body.refresh_token };
  };
  const next = async (token: string): Promise<string> => {
    const { body } = note('POST /oauth/token', await refresh(service, application, token));
    if (body.refresh_token) secrets.add(body.refresh_token);
    return body.refresh_token;
  };
  const { grant } = await begin();
  note('POST /oauth/token', await exchange(service, application, grant));
  const { token } = await begin();
  await next(await next(token));
  await next(token);
  note('POST /oauth/revoke', await post(service, 'revoke', application, { token: (await begin()).token }));
}

async function providers({ service, note, secrets }: Context): Promise<void> {
  const ends: (() => Promise<void>)[] = [];
  const issuer = await startIssuer({ after: (end) => void ends.push(end) });
  const provider = await addProvider(service, { issuer: issuer.issuer, domains: ['example.com'] });
  await service.sql(
    "update identity_providers set sign_up = 'domains', email_trust = 'domains' where id = $1",
    [provider.id],
  );
  issuer.person = { sub: 'newcomer', email: 'newcomer@example.com', email_verified: true };
  const path = `/api/v1/auth/providers/${provider.slug}`;
  const client = service.client();
  try {
    const begun = note('POST /auth/providers/:slug/start', await client.post(`${path}/start`, {}));
    const came = issuer.approve(begun.body.data.redirect_to).parameters;
    for (const secret of [came.get('code'), came.get('state')]) if (secret) secrets.add(secret);
    for (const _ of ['right', 'used up'])
      note('GET /auth/providers/:slug/callback', await client.get(`${path}/callback?${came}`));
  } finally {
    for (const end of ends) await end();
  }
}

/** Nothing listens at the address, which pauses no webhook. */
async function webhooks({ service, caller, note, secrets }: Context): Promise<void> {
  const client = service.client();
  note('login', await client.login(ADMIN));
  const call = caller(client);
  const created = await call('POST', '/webhooks', {
    name: 'Audit',
    url: 'http://127.0.0.1:1/',
    events: ['role_*'],
  });
  secrets.add(created.body.data.secret);
  const path = `/webhooks/${created.body.data.id}`;
  secrets.add((await call('POST', `${path}/secrets`, { overlap_seconds: 0 })).body.data.secret);
  await call('PUT', path, { status: 'paused' });
  await call('PUT', path, { status: 'active', url: 'http://127.0.0.1:2/', personal: true });
  await call('POST', `${path}/test`, {});
  await call('POST', `${path}/replay`, { from: new Date().toISOString(), only: 'dead' });
  await call('DELETE', path);
}

async function programs({ service, note, secrets }: Context): Promise<void> {
  const { id, key } = await addServiceAccount(service);
  const send = async (endpoint: 'token' | 'revoke', form: Record<string, string>): Promise<Answer> =>
    note(`POST /oauth/${endpoint}`, await postForm(service, endpoint, form));
  const client = { grant_type: 'client_credentials', client_id: id };
  const { body } = await send('token', { ...client, client_secret: key });
  for (const secret of [key, body.access_token]) secrets.add(secret);
  await send('token', { ...client, client_secret: 'wrong' });
  await send('token', { ...client, client_secret: createSecretText('cas_cs_') });
  await send('revoke', { token: body.access_token });
}
