// Introspection: what it tells about each kind of token, live and ended, to whom, and that nothing is cached.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { signIn, startTestService, type TestService } from '@castellan/testing/harness';
import { addApiKey, addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import {
  basicOf,
  clientToken,
  type Form,
  postForm,
} from '@castellan/testing/service-accounts/token-services';
import { hashOf, openSigningKey, readToken } from '@castellan/testing/sessions/own-tokens';
import { countStatements } from '@castellan/testing/statements';
import { addPerson, addRole, eventsOf, signedInWith } from '@castellan/testing/users/people';
import { createApiKey } from '../../src/platform/security/api-key.ts';
import { createSigner } from '../../src/platform/security/jwt.ts';

const service = await startTestService({ after }, { CONCURRENT_SESSION_LIMIT: '0' });
const twin = await service.another();
const caller = await addServiceAccount(service, { permissions: ['token.introspect'] });
const asCaller = { authorization: `Bearer ${caller.key}` };
const INACTIVE = '{"active":false}';

const introspect = (token: string, form: Record<string, string> = {}, at = service): Promise<Answer> =>
  postForm(at, 'introspect', { token, ...form }, asCaller);

/** Asserts that both instances call the token inactive, and say nothing else. */
async function assertInactive(token: string): Promise<void> {
  for (const at of [twin, service]) {
    const answer = await introspect(token, { include: 'permissions' }, at);
    assert.deepEqual([answer.status, answer.text], [200, INACTIVE]);
  }
}

async function assertActive(token: string): Promise<void> {
  for (const at of [service, twin]) {
    const answer = await introspect(token, {}, at);
    assert.equal(answer.body.active, true, answer.text);
  }
}

const secondsOf = (time: Date | undefined): number => Math.floor(Number(time) / 1_000);

test('the access token of a user: its claims and the email', async () => {
  const person = await addPerson(service);
  const { accessToken } = await signIn(service, person);
  const answer = await introspect(accessToken ?? '');
  const { type: _type, ...claims } = readToken(accessToken ?? '').claims;
  assert.deepEqual(answer.body, { active: true, ...claims, username: person.email, token_type: 'Bearer' });
  assert.equal(answer.body.sub, person.id);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.match(answer.headers.get('content-type') ?? '', /^application\/json\b/);
});

test('a token that an earlier version issued, without client_id and with nbf, is as good, and has a client_id here', async () => {
  const { sign } = createSigner(await openSigningKey(service));
  const account = await addServiceAccount(service);
  const person = await addPerson(service);
  for (const [table, issued, clientId] of [
    ['session_tokens', (await signIn(service, person)).accessToken ?? '', 'castellan'],
    ['client_tokens', await clientToken(service, account), account.id],
  ] as const) {
    const { client_id: _id, ...claims } = readToken(issued).claims;
    const { type, ...earlier } = { ...claims, nbf: claims.iat };
    const token =
      table === 'session_tokens'
        ? sign({ ...earlier, type })
        : sign({ ...earlier, sid: undefined, client_id: account.id, type: 'access' });
    await service.sql(`update ${table} set token_hash = $2 where token_hash = $1`, [
      hashOf(issued),
      hashOf(token),
    ]);
    for (const at of [service, twin]) {
      const { body } = await introspect(token, {}, at);
      const { username: _name, ...told } = body;
      assert.deepEqual(told, { active: true, ...earlier, client_id: clientId, token_type: 'Bearer' });
      const me = { headers: { authorization: `Bearer ${token}` } };
      const { status } = await at.client().get('/api/v1/users/me', me);
      assert.equal(status, table === 'session_tokens' ? 200 : 403);
    }
  }
});

test('the access token of a service account: its claims and the name', async () => {
  const account = await addServiceAccount(service);
  const token = await clientToken(service, account);
  const { type: _type, ...claims } = readToken(token).claims;
  const { body } = await introspect(token);
  assert.deepEqual(body, { active: true, ...claims, username: account.name, token_type: 'Bearer' });
  assert.deepEqual([body.sub, body.client_id, body.sid], [account.id, account.id, undefined]);
});

test('a token says that it ends with its key if the key has been rotated since', async () => {
  const account = await addServiceAccount(service);
  const token = await clientToken(service, account);
  const [row] = await service.sql<{ expires_at: Date }>(
    `update api_keys set expires_at = now() + interval '1 minute' where id = $1 returning expires_at`,
    [account.keyId],
  );
  assert.equal((await introspect(token)).body.exp, secondsOf(row?.expires_at));
});

test('an API key: the account, and the end of the key only if it has one', async () => {
  const account = await addServiceAccount(service);
  const rotated = await addApiKey(service, account.id, { expiresInSeconds: 3_600 });
  const rows = await service.sql<{ id: string; created_at: Date; expires_at: Date | null }>(
    'select id, created_at, expires_at from api_keys where service_account_id = $1',
    [account.id],
  );
  for (const { key, keyId } of [account, rotated]) {
    const row = rows.find(({ id }) => id === keyId);
    const { body } = await introspect(key);
    assert.deepEqual(body, {
      active: true,
      sub: account.id,
      username: account.name,
      client_id: account.id,
      token_type: 'Bearer',
      iat: secondsOf(row?.created_at),
      nbf: secondsOf(row?.created_at),
      ...(keyId === rotated.keyId ? { exp: secondsOf(row?.expires_at ?? undefined) } : {}),
      iss: 'http://castellan.test',
      aud: 'http://castellan.test',
      jti: keyId,
    });
  }
});

test('include=permissions adds the names of roles and of all that the token may do, as it is now', async () => {
  const role = await addRole(service, 'role.read', 'users.read');
  const [{ name: roleName } = {}] = await service.sql<{ name: string }>(
    'select name from roles where id = $1',
    [role],
  );
  const person = await addPerson(service, { roles: [role] });
  const account = await addServiceAccount(service, {
    roles: [role],
    narrowedTo: ['role.read', 'role.delete'],
  });
  const { key } = await addApiKey(service, account.id);
  const userToken = (await signIn(service, person)).accessToken ?? '';
  const expected: [token: string, permissions: string[]][] = [
    [userToken, ['role.read', 'users.read']],
    [account.key, ['role.read']],
    [await clientToken(service, account), ['role.read']],
    [key, ['role.read', 'users.read']],
  ];
  for (const [token, permissions] of expected) {
    const { body } = await introspect(token, { include: 'permissions' });
    assert.deepEqual([body.roles, body.permissions], [[roleName], permissions]);
    const { body: short } = await introspect(token);
    assert.deepEqual([short.roles, short.permissions], [undefined, undefined]);
  }
  await service.sql('delete from role_permissions where role_id = $1', [role]);
  for (const [token] of expected)
    assert.deepEqual((await introspect(token, { include: 'permissions' }, twin)).body.permissions, []);
});

test('the permissions of a superuser are all permissions', async () => {
  const person = await addPerson(service, { superuser: true });
  const { accessToken } = await signIn(service, person);
  const { body } = await introspect(accessToken ?? '', { include: 'permissions' });
  const names = await service.sql<{ name: string }>('select name from permissions order by name collate "C"');
  assert.deepEqual(
    body.permissions,
    names.map(({ name }) => name),
  );
});

test('no text that is not a live token is active', async () => {
  const person = await addPerson(service);
  const client = await signIn(service, person);
  const account = await addServiceAccount(service);
  const token = await clientToken(service, account);
  const texts = [
    client.refreshToken ?? '',
    `${client.accessToken}x`,
    `${client.accessToken}`.slice(0, -1),
    `${token} `,
    ` ${account.key}`,
    `${account.key.slice(0, -1)}!`,
    account.key.replace('castellan_', 'castellan_a'),
    account.prefix,
    account.keyId,
    'x',
    'a.b.c',
    '..',
    'x'.repeat(8_000),
    'schlüssel',
    caller.id,
  ];
  for (const text of texts) assert.equal((await introspect(text)).text, INACTIVE, text.slice(0, 80));
});

test('what has ended is inactive at the next request, at every instance', async () => {
  const ends: Record<string, (person: { id: string }, sessionId: string) => Promise<unknown>> = {
    'the session was revoked': (_person, id) =>
      service.sql('update sessions set revoked_at = now() where id = $1', [id]),
    'the session has expired': (_person, id) =>
      service.sql('update sessions set expires_at = now() where id = $1', [id]),
    'the token has expired': (_person, id) =>
      service.sql('update session_tokens set expires_at = now() where session_id = $1', [id]),
    'every session was ended': ({ id }) =>
      service.sql('update users set session_epoch = session_epoch + 1 where id = $1', [id]),
    'the user was deactivated': ({ id }) =>
      service.sql('update users set is_active = false where id = $1', [id]),
    'the user was deleted': ({ id }) => service.sql('delete from users where id = $1', [id]),
  };
  for (const [what, end] of Object.entries(ends)) {
    const person = await addPerson(service);
    const { accessToken } = await signIn(service, person);
    await assertActive(accessToken ?? '');
    await end(person, readToken(accessToken ?? '').claims.sid);
    await assertInactive(accessToken ?? '').catch((error) => assert.fail(`${what}: ${error}`));
  }
});

test('the token of a user who must change their password is inactive until they have done so', async () => {
  const person = await addPerson(service);
  const client = await signIn(service, person);
  const token = client.accessToken ?? '';
  await assertActive(token);
  const require = (value: boolean) =>
    service.sql('update users set must_change_password = $2 where id = $1', [person.id, value]);
  await require(true);
  await assertInactive(token);
  // The session itself is live: the user signs nowhere else in to change the password.
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
  await require(false);
  await assertActive(token);
});

test('a key and its token are inactive once the key or the account has ended', async () => {
  const ends = [
    'update api_keys set revoked_at = now() where id = $1 and service_account_id = $2',
    'update api_keys set expires_at = now() where id = $1 and service_account_id = $2',
    'update service_accounts set is_active = false where id = $2 and $1::uuid is not null',
    'delete from service_accounts where id = $2 and $1::uuid is not null',
  ];
  for (const end of ends) {
    const account = await addServiceAccount(service);
    const token = await clientToken(service, account);
    for (const one of [account.key, token]) await assertActive(one);
    await service.sql(end, [account.keyId, account.id]);
    for (const one of [account.key, token]) await assertInactive(one);
    await service.sql('update service_accounts set is_active = true where id = $1 and not is_active', [
      account.id,
    ]);
    await assertInactive(token);
  }
});

test('a caller authenticates with Basic, in the form, or with a bearer token of any kind', async () => {
  const { accessToken } = await signIn(service, await addPerson(service));
  const token = accessToken ?? '';
  const inForm = { token, client_id: caller.id, client_secret: caller.key };
  const user = await signedInWith(service, 'token.introspect');
  const ways: [form: Form, headers: Record<string, string>][] = [
    [{ token }, basicOf(caller.id, caller.key)],
    [{ token, client_id: caller.id }, basicOf(caller.id, caller.key)],
    [inForm, {}],
    [{ token }, asCaller],
    [{ token }, { authorization: `Bearer ${await clientToken(service, caller)}` }],
    [{ token }, { authorization: `Bearer ${user.client.accessToken}` }],
  ];
  for (const [form, headers] of ways) {
    const answer = await postForm(service, 'introspect', form, headers);
    assert.deepEqual([answer.status, answer.body.active], [200, true], answer.text);
  }
});

test('a caller without credentials, or with wrong ones, is 401 and told which scheme to use', async () => {
  const { accessToken } = await signIn(service, await addPerson(service));
  const token = accessToken ?? '';
  const other = await addServiceAccount(service);
  const wrong: [form: Form, headers: Record<string, string>, challenge: RegExp][] = [
    [{ token }, {}, /^Basic realm="/],
    [{}, {}, /^Basic realm="/],
    [{ token, client_id: caller.id }, {}, /^Basic realm="/],
    [{ token, client_id: other.id, client_secret: caller.key }, {}, /^Basic realm="/],
    [{ token }, basicOf(other.id, caller.key), /^Basic realm="/],
    [{ token }, { authorization: 'Bearer x' }, /^Bearer error="invalid_token"$/],
    [{ token }, { authorization: 'Bearer castellan_x' }, /^Bearer error="invalid_token"$/],
    [{ token }, { authorization: `Bearer ${token}x` }, /^Bearer error="invalid_token"$/],
    [{ token }, { authorization: 'Bearer' }, /^Basic realm="/],
  ];
  const texts = new Set<string>();
  for (const [form, headers, challenge] of wrong) {
    const answer = await postForm(service, 'introspect', form, headers);
    assert.deepEqual([answer.status, answer.body.error], [401, 'invalid_client'], answer.text);
    assert.match(answer.headers.get('www-authenticate') ?? '', challenge);
    texts.add(answer.text);
  }
  assert.equal(texts.size, 1);
});

test('a caller that authenticates twice is 400', async () => {
  const form = { token: 'x', client_id: caller.id, client_secret: caller.key };
  for (const headers of [asCaller, basicOf(caller.id, caller.key), basicOf('x', 'y')]) {
    const answer = await postForm(service, 'introspect', form, headers);
    const isBasicWrong = headers.authorization === basicOf('x', 'y').authorization;
    assert.deepEqual(
      [answer.status, answer.body.error],
      isBasicWrong ? [401, 'invalid_client'] : [400, 'invalid_request'],
    );
  }
});

test('a caller without token.introspect is 403, however it authenticates, and the refusal is recorded', async () => {
  const account = await addServiceAccount(service, { permissions: ['role.read'] });
  const narrowed = await addApiKey(service, caller.id, { narrowedTo: [] });
  const { client } = await signedInWith(service, 'role.read');
  const ways: [form: Form, headers: Record<string, string>][] = [
    [{ token: 'x' }, basicOf(account.id, account.key)],
    [{ token: 'x', client_id: account.id, client_secret: account.key }, {}],
    [{ token: 'x' }, { authorization: `Bearer ${account.key}` }],
    [{ token: 'x' }, { authorization: `Bearer ${await clientToken(service, account)}` }],
    [{ token: 'x' }, { authorization: `Bearer ${client.accessToken}` }],
    [{ token: 'x' }, basicOf(caller.id, narrowed.key)],
    [{}, basicOf(account.id, account.key)],
    [{ client_id: account.id, client_secret: account.key }, {}],
  ];
  for (const [form, headers] of ways) {
    const answer = await postForm(service, 'introspect', form, headers);
    assert.deepEqual([answer.status, answer.body.error], [403, 'insufficient_scope'], answer.text);
    const isBearer = headers.authorization?.startsWith('Bearer') ?? false;
    assert.equal(
      answer.headers.get('www-authenticate'),
      isBearer ? 'Bearer error="insufficient_scope"' : null,
    );
    const events = await eventsOf(service, answer);
    assert.deepEqual(
      events.map(({ action, details }) => [action, details.permission]),
      [['permission_denied', 'token.introspect']],
    );
  }
});

test('a missing token and an unknown include are 400; unknown fields and hints are ignored', async () => {
  for (const form of [
    {},
    { token: '' },
    { token_type_hint: 'access_token' },
    { token: 'x', include: 'roles' },
  ]) {
    const answer = await postForm(service, 'introspect', form as Form, asCaller);
    assert.deepEqual([answer.status, answer.body.error], [400, 'invalid_request'], answer.text);
  }
  const { accessToken } = await signIn(service, await addPerson(service));
  for (const hint of ['access_token', 'refresh_token', 'nonsense', ''])
    assert.equal(
      (await introspect(accessToken ?? '', { token_type_hint: hint, resource: 'x' })).body.active,
      true,
    );
});

test('a wrong key as the token counts as no attempt of the caller, and is not recorded', async (t) => {
  const target: TestService = await startTestService(t);
  const account = await addServiceAccount(target, { permissions: ['token.introspect'] });
  const stranger = await addServiceAccount(target, { permissions: ['token.introspect'] });
  const revoked = await addApiKey(target, account.id, { revoked: true });
  const send = (token: string, { id, key }: typeof account) =>
    postForm(target, 'introspect', { token }, basicOf(id, key));
  for (let sent = 0; sent < 40; sent += 1)
    for (const token of [`${account.key}x`, revoked.key])
      assert.equal((await send(token, account)).text, INACTIVE);
  // A key that was not used before would be refused if the network were over the limit.
  assert.equal((await send('x', stranger)).status, 200);
  assert.deepEqual(await target.sql(`select from audit_logs where action = 'api_key_refused'`), []);
});

test('30 wrong callers of one network in a minute are 401, then 429', async (t) => {
  const target = await startTestService(t);
  const account = await addServiceAccount(target, { permissions: ['token.introspect'] });
  const ways = [
    () => postForm(target, 'introspect', { token: 'x' }, basicOf(account.id, 'x')),
    () => postForm(target, 'introspect', { token: 'x', client_id: account.id, client_secret: 'x' }),
    () => postForm(target, 'introspect', { token: 'x' }, { authorization: 'Bearer castellan_x' }),
  ];
  for (let sent = 0; sent < 10; sent += 1) for (const send of ways) assert.equal((await send()).status, 401);
  for (const { status, body } of await Promise.all(ways.map((send) => send())))
    assert.deepEqual([status, body.error], [429, 'rate_limited']);
});

test('a token that this service signed but never issued is inactive', async () => {
  const account = await addServiceAccount(service);
  const { sign } = createSigner(await openSigningKey(service));
  const { accessToken } = await signIn(service, await addPerson(service));
  const ofUser = readToken(accessToken ?? '').claims;
  const { sid: _sid, ...common } = ofUser;
  const ofAccount = { ...common, sub: account.id, client_id: account.id, type: 'access' } as const;
  for (const claims of [
    ofAccount,
    { ...ofAccount, exp: ofAccount.exp + 1 },
    { ...ofUser, exp: ofUser.exp + 1 },
  ])
    await assertInactive(sign(claims));
});

test('RATE_LIMIT_ACCESS counts introspections that find something, however their caller authenticates', async (t) => {
  const limited = await startTestService(t, { RATE_LIMIT_ACCESS: '3/hour' });
  const account = await addServiceAccount(limited, { permissions: ['token.introspect'] });
  const other = await addServiceAccount(limited, { permissions: ['token.introspect'] });
  const inForm = { client_id: account.id, client_secret: account.key };
  const waysWith = (token: string): [form: Form, headers: Record<string, string>][] => [
    [{ token }, basicOf(account.id, account.key)],
    [{ token, ...inForm }, {}],
    [{ token }, { authorization: `Bearer ${account.key}` }],
  ];
  type Way = ReturnType<typeof waysWith>[number];
  const send = ([form, headers]: Way) => postForm(limited, 'introspect', form, headers);
  const ended = await addServiceAccount(limited, { revoked: true });
  const person = await addPerson(limited);
  const refreshToken = (await signIn(limited, person)).refreshToken ?? '';
  const worthless = ['x', ended.key, createApiKey().text, `${account.key}x`, refreshToken];
  for (const token of worthless)
    for (const { status, text } of await Promise.all(waysWith(token).map(send)))
      assert.deepEqual([status, text], [200, INACTIVE]);
  // Of six at once, three are within the limit.
  const useful = await Promise.all([...waysWith(other.key), ...waysWith(other.key)].map(send));
  assert.deepEqual(useful.map(({ status }) => status).sort(), [200, 200, 200, 429, 429, 429]);
  for (const token of ['x', other.key])
    for (const { status, body, headers } of await Promise.all(waysWith(token).map(send))) {
      assert.deepEqual([status, body.error], [429, 'rate_limited']);
      assert.match(headers.get('retry-after') ?? '', /^\d+$/);
    }
  const entries = await limited.sql("select from audit_logs where details->>'limit' = 'access'");
  assert.equal(entries.length, 1);
  assert.equal((await send([{ token: other.key }, basicOf(other.id, other.key)])).status, 200);
});

test('an introspection takes one statement for the token and one for the caller', async () => {
  const account = await addServiceAccount(service);
  const { accessToken } = await signIn(service, await addPerson(service));
  const tokens = [accessToken ?? '', account.key, await clientToken(service, account)];
  for (const token of tokens) {
    // Notes the use of the keys in this minute, so that the next request does not.
    await introspect(token);
    assert.equal(await countStatements(service, () => introspect(token, { include: 'permissions' })), 2);
  }
  assert.equal(await countStatements(service, () => introspect('x')), 1);
});
