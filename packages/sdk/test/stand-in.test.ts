// One contract for the stand-in of @castellan/sdk/testing and the real service: what holds here, a user's unit test may rely on.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ADMIN, newEmail, PASSWORD, startTestService } from '@castellan/testing/harness';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { addPerson, addRole, roleNamed } from '@castellan/testing/users/people';
import { createActingClient } from '../src/acting.ts';
import { CastellanError, createClient, createGuard, type Guard } from '../src/index.ts';
import { createTestCastellan } from '../src/testing.ts';
import { cookieFetch } from './cookie-fetch.ts';

type Person = { id: string; email: string; password: string };

/** A Castellan, whichever it is. */
type Place = {
  baseUrl: string;
  /** The `fetch` of a new browser. */
  browser(): typeof fetch;
  guard: Guard;
  addUser(...permissions: string[]): Promise<Person>;
  setPermissions(user: Person, ...permissions: string[]): Promise<unknown>;
  endSessions(user: Person): Promise<unknown>;
  deactivate(user: Person): Promise<unknown>;
  /** Verifies the email of somebody who has registered. */
  verify(email: string): Promise<unknown>;
  /** Returns a personal access token, narrowed to these permissions. */
  personalToken(user: Person, ...permissions: string[]): Promise<string>;
  /** Returns an access token of somebody who acts as the user, and who that is. */
  actingToken(user: Person): Promise<{ token: string; actor: string }>;
  /** Returns an API key. */
  addProgram(...permissions: string[]): Promise<{ id: string; name: string; key: string }>;
};

const READ = 'orders.read';
const CREATE = 'orders.create';

function standIn(): Place {
  const castellan = createTestCastellan();
  const users = new Map<string, ReturnType<typeof castellan.addUser>>();
  const userOf = ({ id }: Person) => {
    const user = users.get(id);
    if (!user) throw new Error('there is no such user');
    return user;
  };
  return {
    baseUrl: castellan.baseUrl,
    browser: () => castellan.browserFetch(),
    guard: castellan.guard,
    async addUser(...permissions) {
      const user = castellan.addUser({ email: newEmail(), password: PASSWORD, permissions });
      users.set(user.id, user);
      return user;
    },
    async setPermissions(person, ...permissions) {
      const user = userOf(person);
      user.revoke(READ, CREATE);
      user.grant(...permissions);
    },
    endSessions: async (person) => userOf(person).endSessions(),
    deactivate: async (person) => userOf(person).deactivate(),
    personalToken: async (person, ...permissions) => userOf(person).personalToken({ permissions }),
    async actingToken(person) {
      const actor = castellan.addUser({ email: newEmail() });
      return { token: await userOf(person).actingToken(actor), actor: actor.id };
    },
    async verify(email) {
      const user = castellan.verify(email);
      users.set(user.id, user);
    },
    async addProgram(...permissions) {
      const { id, name, apiKey } = castellan.addProgram({ name: newEmail('program'), permissions });
      return { id, name, key: apiKey };
    },
  };
}

async function realService(): Promise<Place> {
  const service = await startTestService({ after });
  const baseUrl = service.url;
  const admin = createClient({ baseUrl, fetch: cookieFetch() });
  await admin.auth.signIn(ADMIN);
  const { data: group } = await admin.post('/api/v1/permission-groups', { body: { name: 'orders' } });
  for (const name of ['read', 'create'])
    await admin.post('/api/v1/permissions', { body: { name, group_id: group.id } });
  const roles = new Map([
    [READ, await addRole(service, READ)],
    [CREATE, await addRole(service, CREATE)],
  ]);
  const rolesFor = (permissions: readonly string[]) => permissions.flatMap((one) => roles.get(one) ?? []);
  const guardian = await addServiceAccount(service, { roles: [await roleNamed(service, 'Service')] });
  const path = ({ id }: Person) => ({ path: { user_id: id } });
  return {
    baseUrl,
    browser: () => cookieFetch(),
    guard: createGuard({ baseUrl, apiKey: guardian.key }),
    addUser: (...permissions) => addPerson(service, { email: newEmail(), roles: rolesFor(permissions) }),
    setPermissions: (user, ...permissions) =>
      admin.put('/api/v1/users/{user_id}', { ...path(user), body: { role_id: rolesFor(permissions) } }),
    endSessions: (user) => admin.delete('/api/v1/users/{user_id}/sessions', path(user)),
    deactivate: (user) => admin.put('/api/v1/users/{user_id}', { ...path(user), body: { is_active: false } }),
    async personalToken({ email, password }, ...permissions) {
      const client = createClient({ baseUrl, fetch: cookieFetch() });
      await client.auth.signIn({ email, password });
      const expires_at = new Date(Date.now() + 86_400_000).toISOString();
      const body = { name: 'Deployment', expires_at, permissions };
      return (await client.post('/api/v1/users/me/tokens', { body })).data.token;
    },
    async actingToken(user) {
      const { data: self } = await admin.get('/api/v1/users/me');
      const body = { reason: 'A test of the stand-in' };
      const { data } = await admin.post('/api/v1/users/{user_id}/act-as', { ...path(user), body });
      return { token: data.access_token, actor: self.id };
    },
    async verify(email) {
      const { token } = await service.mailTo(email);
      await admin.auth.verifyEmail({ token: token ?? '' });
    },
    async addProgram(...permissions) {
      return addServiceAccount(service, { permissions });
    },
  };
}

// Both are open before the first test begins: the hooks of the file run when no test is left.
const places: [name: string, place: Place][] = [
  ['the stand-in', standIn()],
  ['the real service', await realService()],
];
const bearing = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
const refusedWith = (status: number, code: string) => (error: unknown) =>
  error instanceof CastellanError && error.status === status && error.code === code;

for (const [name, place] of places) {
  const openBrowser = () => {
    const tokens: string[] = [];
    const send = place.browser();
    const client = createClient({
      baseUrl: place.baseUrl,
      fetch: (input, init) => {
        const [, token] = /^Bearer (.+)$/.exec(new Headers(init?.headers).get('authorization') ?? '') ?? [];
        if (token) tokens.push(token);
        return send(input, init);
      },
    });
    return { client, latestToken: () => tokens.at(-1) ?? '' };
  };
  async function signedIn(user: Person) {
    const browser = openBrowser();
    await browser.client.auth.signIn({ email: user.email, password: user.password });
    await browser.client.get('/api/v1/users/me');
    return browser;
  }

  test(`${name}: a user registers, verifies the email, signs in and sees themselves`, async () => {
    const { client } = openBrowser();
    const email = newEmail();
    const account = { email, password: PASSWORD, first_name: 'Ada', last_name: 'Lovelace' };
    assert.equal((await client.auth.register(account)).verified, false);
    await assert.rejects(client.auth.register(account), refusedWith(409, 'email_taken'));
    await assert.rejects(
      client.auth.signIn({ email, password: PASSWORD }),
      refusedWith(422, 'email_not_verified'),
    );
    await place.verify(email);
    await client.auth.signIn({ email: ` ${email.toUpperCase()} `, password: PASSWORD });
    const { data } = await client.get('/api/v1/users/me');
    assert.deepEqual(
      [data.email, data.first_name, data.last_name, data.verified, data.is_active],
      [email, 'Ada', 'Lovelace', true, true],
    );
  });

  test(`${name}: an email with an internationalized domain is one account in every spelling, shown with its letters`, async () => {
    const [local] = newEmail('joerg').split('@');
    const letters = `${local}@münchen.example`;
    const ascii = `${local}@xn--mnchen-3ya.example`;
    const spellings = [letters, ascii, ` ${local}@MU\u0308NCHEN.Example `, ascii.toUpperCase()];
    const account = { password: PASSWORD, first_name: 'Jörg', last_name: 'Huber' };
    const user = await openBrowser().client.auth.register({ email: ascii, ...account });
    assert.equal(user.email, letters);
    await place.verify(ascii);
    await place.setPermissions({ ...user, password: PASSWORD }, READ);
    for (const email of spellings) {
      const { client, latestToken } = openBrowser();
      await assert.rejects(client.auth.register({ email, ...account }), refusedWith(409, 'email_taken'));
      await client.auth.signIn({ email, password: PASSWORD });
      assert.equal((await client.get('/api/v1/users/me')).data.email, letters);
      assert.equal((await place.guard.authenticate(bearing(latestToken()))).name, letters);
      assert.equal(await place.guard.can({ type: 'user', id: email }, READ), true, email);
    }
    // It could be read as apple.com, so it is shown in ASCII.
    const lookAlike = await openBrowser().client.auth.register({ email: `${local}@аррӏе.com`, ...account });
    assert.equal(lookAlike.email, `${local}@xn--80ak6aa92e.com`);
  });

  test(`${name}: a wrong password and an unknown email are the same refusal`, async () => {
    const user = await place.addUser();
    const { client } = openBrowser();
    for (const email of [user.email, newEmail()])
      await assert.rejects(
        client.auth.signIn({ email, password: 'WrongPassword!42' }),
        refusedWith(422, 'invalid_credentials'),
      );
  });

  test(`${name}: a session is restored by its cookie and ends with the sign-out`, async () => {
    const user = await place.addUser();
    const { client } = await signedIn(user);
    await client.auth.signOut();
    assert.equal(client.auth.state, 'anonymous');
    await assert.rejects(client.get('/api/v1/users/me'), refusedWith(401, 'token_missing'));
    await assert.rejects(
      client.post('/api/v1/auth/new_access_token'),
      refusedWith(401, 'refresh_token_invalid'),
    );
  });

  test(`${name}: a changed password ends other sessions and keeps this one`, async () => {
    const user = await place.addUser();
    const other = await signedIn(user);
    const { client } = await signedIn(user);
    await assert.rejects(
      client.auth.changePassword({
        current_password: 'WrongPassword!42',
        new_password: 'ReplacementPassword!42',
      }),
      refusedWith(400, 'wrong_current_password'),
    );
    await client.auth.changePassword({
      current_password: user.password,
      new_password: 'ReplacementPassword!42',
    });
    assert.equal((await client.get('/api/v1/users/me')).data.id, user.id);
    await assert.rejects(other.client.get('/api/v1/users/me'), CastellanError);
    assert.equal(other.client.auth.state, 'anonymous');
  });

  test(`${name}: the guard tells who sent a request`, async () => {
    const user = await place.addUser(READ);
    const { latestToken } = await signedIn(user);
    const identity = await place.guard.authenticate(bearing(latestToken()));
    assert.deepEqual([identity.type, identity.id, identity.name], ['user', user.id, user.email]);
    assert.ok(identity.sessionId && identity.tokenId && (identity.expiresAt ?? 0) > Date.now());
    const program = await place.addProgram(READ);
    const caller = await place.guard.authenticate(bearing(program.key));
    assert.deepEqual(
      [caller.type, caller.id, caller.name, caller.sessionId],
      ['service_account', program.id, program.name, undefined],
    );
  });

  test(`${name}: a permission counts from the next request on, and no longer`, async () => {
    const user = await place.addUser();
    const { latestToken } = await signedIn(user);
    const handler = place.guard.require(READ).fetch(() => new Response('the orders'));
    const send = async () =>
      (await handler(new Request('http://orders.example', bearing(latestToken())))).status;
    const can = () => place.guard.can({ type: 'user', id: user.id }, READ);
    assert.deepEqual([await send(), await can()], [403, false]);
    await place.setPermissions(user, READ, CREATE);
    assert.deepEqual([await send(), await can()], [200, true]);
    assert.equal(await place.guard.can({ type: 'user', id: user.email }, 'ORDERS.Create'), true);
    await place.setPermissions(user, CREATE);
    assert.deepEqual([await send(), await can()], [403, false]);
  });

  test(`${name}: the end of the sessions and a deactivation refuse the next request`, async () => {
    for (const end of [place.endSessions, place.deactivate]) {
      const user = await place.addUser(READ);
      const { client, latestToken } = await signedIn(user);
      await place.guard.authenticate(bearing(latestToken()));
      await end(user);
      await assert.rejects(place.guard.authenticate(bearing(latestToken())), { code: 'invalid_token' });
      await assert.rejects(client.get('/api/v1/users/me'), { status: 401 });
      assert.equal(client.auth.state, 'anonymous');
    }
  });

  test(`${name}: nobody and nothing unknown is permitted`, async () => {
    const { guard } = place;
    const user = await place.addUser(READ);
    assert.equal(await guard.can({ type: 'user', id: newEmail() }, READ), false);
    assert.equal(await guard.can({ type: 'service_account', id: user.id }, READ), false);
    assert.equal(
      await guard.can(user.id ? { type: 'user', id: user.id } : { type: 'user', id: 'x' }, 'orders.burn'),
      false,
    );
    for (const token of ['castellan_000000000000', 'x.y.z'])
      await assert.rejects(guard.authenticate(bearing(token)), { code: 'invalid_token' });
  });

  test(`${name}: a program is decided about by its API key`, async () => {
    const { guard } = place;
    const program = await place.addProgram(READ);
    const identity = await guard.authenticate(bearing(program.key));
    assert.deepEqual([await guard.can(identity, READ), await guard.can(identity, CREATE)], [true, false]);
    assert.equal(
      await guard.canAll([
        { subject: identity, permission: READ },
        { subject: { type: 'service_account', id: program.name }, permission: READ },
      ]),
      true,
    );
  });

  test(`${name}: an API key has no account of a person, and is not revoked as a token`, async () => {
    const program = await place.addProgram(READ);
    const client = createClient({ baseUrl: place.baseUrl, apiKey: program.key, fetch: place.browser() });
    await assert.rejects(client.get('/api/v1/users/me'), refusedWith(403, 'user_required'));
    await client.post('/api/v1/oauth/revoke', { body: { token: program.key } });
    assert.equal((await place.guard.authenticate(bearing(program.key))).id, program.id);
  });

  const clientWith = (token: string) =>
    createClient({ baseUrl: place.baseUrl, apiKey: token, fetch: place.browser() });

  test(`${name}: a personal access token does what it is narrowed to, for as long as its owner may, and not with the account`, async () => {
    const user = await place.addUser(READ, CREATE);
    const token = await place.personalToken(user, READ);
    const handler = (permission: string) =>
      place.guard.require(permission).fetch(() => new Response('the orders'));
    const send = async (permission: string) =>
      (await handler(permission)(new Request('http://orders.example', bearing(token)))).status;
    const identity = await place.guard.authenticate(bearing(token));
    assert.deepEqual(
      [identity.type, identity.id, identity.name, identity.sessionId],
      ['user', user.id, user.email, undefined],
    );
    assert.deepEqual([await send(READ), await send(CREATE)], [200, 403]);
    const client = clientWith(token);
    assert.equal((await client.get('/api/v1/users/me')).data.id, user.id);
    await assert.rejects(client.post('/api/v1/auth/logout/all'), refusedWith(403, 'user_session_required'));
    await place.setPermissions(user, CREATE);
    assert.deepEqual([await send(READ), await send(CREATE)], [403, 403]);
    await place.endSessions(user);
    await assert.rejects(place.guard.authenticate(bearing(token)), { code: 'invalid_token' });
  });

  test(`${name}: the guard names who acts as a user, who cannot enter the account`, async () => {
    const user = await place.addUser(READ);
    const { token, actor } = await place.actingToken(user);
    const identity = await place.guard.authenticate(bearing(token));
    assert.deepEqual([identity.id, identity.name, identity.actedBy], [user.id, user.email, actor]);
    const { latestToken } = await signedIn(user);
    assert.equal((await place.guard.authenticate(bearing(latestToken()))).actedBy, undefined);
    const acting = createActingClient({ baseUrl: place.baseUrl, fetch: place.browser() }, token);
    await acting.auth.restore();
    await assert.rejects(acting.post('/api/v1/auth/logout/all'), refusedWith(403, 'acting_as'));
    await place.endSessions(user);
    await assert.rejects(place.guard.authenticate(bearing(token)), { code: 'invalid_token' });
  });

  test(`${name}: a guard whose service account lacks the role Service refuses everybody`, async () => {
    const program = await place.addProgram(READ);
    const guard = createGuard({ baseUrl: place.baseUrl, apiKey: program.key, fetch: place.browser() });
    const user = await place.addUser(READ);
    const { latestToken } = await signedIn(user);
    await assert.rejects(guard.can({ type: 'user', id: user.id }, READ), { code: 'unavailable' });
    await assert.rejects(guard.authenticate(bearing(latestToken())), { code: 'unavailable' });
  });

  test(`${name}: an ended access token is revoked alone`, async () => {
    const { client, latestToken } = await signedIn(await place.addUser());
    const token = latestToken();
    await client.post('/api/v1/oauth/revoke', { body: { token } });
    await assert.rejects(place.guard.authenticate(bearing(token)), { code: 'invalid_token' });
    // The session is live: the client gets another token.
    await client.get('/api/v1/users/me');
    assert.notEqual(latestToken(), token);
  });
}

test('the stand-in fails as it is told to, and the guard refuses', async () => {
  const castellan = createTestCastellan();
  const user = castellan.addUser({ email: 'ada@example.com', permissions: [READ] });
  const token = await user.accessToken();
  for (const how of [500, 503, 'no answer'] as const) {
    castellan.fail(how);
    await assert.rejects(castellan.guard.authenticate(bearing(token)), { code: 'unavailable', status: 503 });
    await assert.rejects(castellan.guard.can({ type: 'user', id: user.id }, READ), { code: 'unavailable' });
  }
  castellan.recover();
  assert.equal((await castellan.guard.authenticate(bearing(token))).id, user.id);
});

test('the stand-in says which operation it lacks, and answers it as the test wants', async () => {
  const castellan = createTestCastellan();
  const user = castellan.addUser({ email: 'ada@example.com' });
  const client = castellan.browser();
  await client.auth.signIn({ email: user.email, password: user.password });
  const path = { role_id: 'a role' };
  await assert.rejects(client.get('/api/v1/roles/{role_id}', { path }), {
    status: 501,
    message: 'The stand-in has no GET /api/v1/roles/a%20role. Answer it with on(), or use a Castellan.',
  });
  castellan.on('GET /api/v1/roles/{role_id}/holders', ({ path: { role_id = '' } }) => ({
    data: [],
    next_cursor: role_id,
    total: 0,
    message: 'These are all holders.',
  }));
  assert.equal((await client.get('/api/v1/roles/{role_id}/holders', { path })).next_cursor, 'a role');
  await assert.rejects(castellan.browser().get('/api/v1/roles/{role_id}/holders', { path }), {
    code: 'token_missing',
  });
});

test('a deactivated user of the stand-in cannot sign in', async () => {
  const user = createTestCastellan().addUser({ email: 'ada@example.com' });
  user.deactivate();
  await assert.rejects(user.accessToken(), /deactivated/);
});

test('browsers of the stand-in share no session', async () => {
  const castellan = createTestCastellan();
  const user = castellan.addUser({ email: 'ada@example.com' });
  const [one, other] = [castellan.browser(), castellan.browser()];
  await one.auth.signIn({ email: user.email, password: user.password });
  assert.equal(await one.auth.restore(), 'authenticated');
  assert.equal(await other.auth.restore(), 'anonymous');
  assert.throws(() => castellan.addUser({ email: ' ADA@example.com' }), /already an account/);
  assert.equal(castellan.addUser({ email: 'joerg@xn--mnchen-3ya.de' }).email, 'joerg@münchen.de');
  assert.throws(() => castellan.addUser({ email: 'Joerg@MÜNCHEN.de' }), /already an account/);
});

test('the guard of the real service agrees with its stand-in about an unknown permission of a superuser', async () => {
  const service = await startTestService({ after });
  const { key } = await addServiceAccount(service, { roles: [await roleNamed(service, 'Service')] });
  const guard = createGuard({ baseUrl: service.url, apiKey: key });
  assert.equal(await guard.can({ type: 'user', id: ADMIN.email }, 'users.read'), true);
  assert.equal(await guard.can({ type: 'user', id: ADMIN.email }, 'orders.burn'), false);
});

test('a token of an application carries its scopes to guards of its audience, and opens no operation', async () => {
  const castellan = createTestCastellan();
  const audience = 'https://orders.example.com';
  const ada = castellan.addUser({ email: 'ada@example.com', permissions: ['orders.read', 'orders.write'] });
  const token = await ada.applicationToken({
    clientId: 'shop',
    audience,
    scopes: ['orders.read', 'orders.ship'],
  });
  const request = new Request('http://orders.test/', { headers: { authorization: `Bearer ${token}` } });
  const guard = castellan.guardFor(audience);
  const identity = await guard.authenticate(request);
  assert.deepEqual([identity.id, identity.clientId, identity.scopes], [ada.id, 'shop', ['orders.read']]);
  assert.deepEqual(
    await Promise.all(['orders.read', 'orders.write', 'orders.ship'].map((one) => guard.can(identity, one))),
    [true, false, false],
  );
  for (const other of [castellan.guard, castellan.guardFor('https://invoices.example.com')])
    await assert.rejects(other.authenticate(request), { code: 'invalid_token' });
  const me = await castellan.fetch(`${castellan.baseUrl}/api/v1/users/me`, { headers: request.headers });
  assert.equal(me.status, 401);
  ada.revoke('orders.read');
  assert.equal(await guard.can(identity, 'orders.read'), false);
  ada.endSessions();
  await assert.rejects(guard.authenticate(request), { code: 'invalid_token' });
});
