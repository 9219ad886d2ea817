// What the change feed tells: each change of a session, a token, an account or the graph, whoever makes it, and nothing else.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { openLiveFeed } from '@castellan/testing/feed/reader';
import { ADMIN, startTestService } from '@castellan/testing/harness';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import pg from 'pg';

// Hooks run in the order of their registration, and the database can only be dropped without other clients.
after(async () => {
  feed.close();
  await client.end();
});
const service = await startTestService({ after });
const watcher = await addServiceAccount(service, { permissions: ['access.watch'] });
/** psql, or any other client. */
const client = new pg.Client(service.databaseUrl);
await client.connect();
const feed = await openLiveFeed(service.url, watcher.key);

/** Returns the changes that the statement causes, in any order, without those that are told again. */
async function told(...statements: (string | [string, unknown[]])[]): Promise<string[]> {
  const before = feed.messages.length;
  for (const one of statements)
    await (typeof one === 'string' ? client.query(one) : client.query(one[0], one[1]));
  const marker = randomUUID();
  await client.query("insert into feed_queue (type, ref) values ('user', $1)", [marker]);
  await feed.change('user', marker);
  return feed.messages
    .slice(before)
    .flatMap(({ data }) => data.changes ?? [])
    .filter(({ id }) => id !== marker)
    .map(({ type, id }) => `${type} ${id}`)
    .sort();
}

async function newUser(): Promise<string> {
  const id = randomUUID();
  await client.query('insert into users (id, email, first_name, last_name) values ($1, $2, $3, $3)', [
    id,
    `${id}@example.com`,
    'Ada',
  ]);
  return id;
}

async function newSession(userId: string): Promise<string> {
  const id = randomUUID();
  await client.query(
    "insert into sessions (id, user_id, expires_at) values ($1, $2, now() + interval '1 day')",
    [id, userId],
  );
  return id;
}

async function newToken(userId: string, sessionId: string, kind = 'access'): Promise<string> {
  const jti = randomUUID();
  await client.query(
    `insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     values ($1, sha256($2::text::bytea), $3, $4, $2::text::uuid, 'key', now(), now() + interval '1 hour')`,
    [userId, jti, sessionId, kind],
  );
  return jti;
}

test('a sign-in, a refresh and a noted use tell nothing', async () => {
  const before = feed.changes().length;
  const browser = service.client();
  await browser.login(ADMIN);
  const refreshed = await browser.post('/api/v1/auth/refresh', { refresh_token: browser.refreshToken });
  assert.equal(refreshed.status, 200);
  assert.deepEqual(
    await told(
      'update sessions set last_used_at = now()',
      'update api_keys set last_used_at = now()',
      'update service_accounts set last_used_at = now(), description = $$x$$',
      "update users set language = 'de'",
    ),
    [],
  );
  // The marker of `told` alone.
  assert.equal(feed.changes().length, before + 1);
});

describe('a session', () => {
  test('that is revoked, shortened, moved or deleted is told', async () => {
    const user = await newUser();
    for (const change of [
      'revoked_at = now()',
      "expires_at = expires_at - interval '1 hour'",
      'epoch = epoch + 1',
    ]) {
      const session = await newSession(user);
      assert.deepEqual(await told([`update sessions set ${change} where id = $1`, [session]]), [
        `session ${session}`,
      ]);
    }
    const session = await newSession(user);
    assert.deepEqual(await told(['delete from sessions where id = $1', [session]]), [`session ${session}`]);
  });

  test('that is prolonged, or was revoked before, is not', async () => {
    const session = await newSession(await newUser());
    assert.deepEqual(
      await told([
        "update sessions set expires_at = expires_at + interval '1 hour' where id = $1",
        [session],
      ]),
      [],
    );
    await told(['update sessions set revoked_at = now() where id = $1', [session]]);
    assert.deepEqual(
      await told(
        ['update sessions set revoked_at = now() where id = $1', [session]],
        ['delete from sessions where id = $1', [session]],
      ),
      [],
    );
  });
});

test('an access token that ends early is told by its jti; a refresh token is not', async () => {
  const user = await newUser();
  const session = await newSession(user);
  const access = await newToken(user, session);
  const other = await newToken(user, session);
  const refresh = await newToken(user, session, 'refresh');
  assert.deepEqual(
    await told(
      ['update session_tokens set expires_at = now() where jti = any($1)', [[access, refresh]]],
      ['delete from session_tokens where jti = any($1)', [[other, refresh]]],
    ),
    [`token ${access}`, `token ${other}`].sort(),
  );
});

test('the tokens of a session that has ended are deleted without a word', async () => {
  const user = await newUser();
  const session = await newSession(user);
  await newToken(user, session);
  await told(['update sessions set revoked_at = now() where id = $1', [session]]);
  assert.deepEqual(await told(['delete from session_tokens where session_id = $1', [session]]), []);
});

test('a user is told when what others know of them changes, and with their roles', async () => {
  const user = await newUser();
  const { rows } = await client.query("select id from roles where name = 'User'");
  const role = rows[0].id;
  for (const statement of [
    'update users set session_epoch = session_epoch + 1 where id = $1',
    'update users set is_active = false where id = $1',
    'update users set verified = not verified where id = $1',
    'update users set must_change_password = true where id = $1',
    "update users set password_hash = 'x' where id = $1",
    "update users set email = 'x' || email where id = $1",
    "update users set first_name = 'Grace' where id = $1",
    `insert into user_roles (user_id, role_id) values ($1, '${role}')`,
    'delete from user_roles where user_id = $1',
    'delete from users where id = $1',
  ])
    assert.deepEqual(await told([statement, [user]]), [`user ${user}`], statement);
});

test('a service account is told with its keys, their permissions and its roles', async () => {
  const account = await addServiceAccount(service, { narrowedTo: ['access.check'] });
  // Narrowing the key is told, too.
  await told();
  const { rows } = await client.query("select id from roles where name = 'Service'");
  for (const [statement, id] of [
    ["update service_accounts set name = name || 'x' where id = $1", account.id],
    ['update service_accounts set is_active = not is_active where id = $1', account.id],
    ['update service_accounts set token_epoch = token_epoch + 1 where id = $1', account.id],
    [
      `insert into service_account_roles (service_account_id, role_id) values ($1, '${rows[0].id}')`,
      account.id,
    ],
    ['delete from service_account_roles where service_account_id = $1', account.id],
    ['delete from api_key_permissions where api_key_id = $1', account.keyId],
    ['update api_keys set is_narrowed = false where id = $1', account.keyId],
    ["update api_keys set expires_at = now() + interval '1 day' where id = $1", account.keyId],
    ['update api_keys set revoked_at = now() where id = $1', account.keyId],
    ['delete from service_accounts where id = $1', account.id],
  ] as const)
    assert.deepEqual(await told([statement, [id]]), [`service_account ${account.id}`], statement);
});

test('the graph is told with the roles and permissions that changed', async () => {
  const role = randomUUID();
  assert.equal((await told(["insert into roles (id, name) values ($1, 'Told')", [role]])).length, 1);
  const message = await feed.until(
    ({ data }) => data.changes?.some((one) => one.role_ids?.includes(role)) ?? false,
    'the role',
  );
  const change = message.data.changes?.find(({ type }) => type === 'graph');
  assert.deepEqual(change?.permission_ids, []);
  const { rows } = await client.query('select stamp from authz_version');
  assert.equal(change?.id, rows[0].stamp);
});

test('a revoked signing key is told by its kid', async () => {
  assert.deepEqual(await told("insert into revoked_signing_keys (key_id) values ('stolen')"), [
    'signing_key stolen',
  ]);
});

test('a personal access token is told by its id', async () => {
  const id = randomUUID();
  await client.query(
    `insert into personal_tokens (id, user_id, name, prefix, secret_hash, user_epoch, acr, is_narrowed, is_narrowed_by_maker, expires_at)
     values ($1::text::uuid, $2, 'CI', $1::text, sha256($1::text::bytea), 0, 'aal1', false, false, now() + interval '1 day')`,
    [id, await newUser()],
  );
  assert.deepEqual(await told(['update personal_tokens set last_used_at = now() where id = $1', [id]]), []);
  assert.deepEqual(await told(['update personal_tokens set revoked_at = now() where id = $1', [id]]), [
    `token ${id}`,
  ]);
});

test('more than 1,000 subjects of a statement, and a truncation, are everything', async () => {
  const user = await newUser();
  await client.query(
    `insert into sessions (id, user_id, expires_at) select gen_random_uuid(), $1, now() + interval '1 day'
     from generate_series(1, 1001)`,
    [user],
  );
  assert.deepEqual(await told(['update sessions set revoked_at = now() where user_id = $1', [user]]), [
    'everything *',
  ]);
  assert.deepEqual(await told('truncate session_tokens'), ['everything *']);
});

test('changes that are equal are told once, and those of a transaction that was rolled back never', async () => {
  const user = await newUser();
  const rename = ["update users set first_name = first_name || 'x' where id = $1", [user]] satisfies [
    string,
    unknown[],
  ];
  assert.deepEqual(await told('begin', rename, rename, 'commit'), [`user ${user}`]);
  assert.deepEqual(await told('begin', rename, 'rollback'), []);
});

test('a transaction with one snapshot tells what it changes, although it cannot see whether the feed is on', async () => {
  const user = await newUser();
  assert.deepEqual(
    await told(
      'begin isolation level serializable',
      ["update users set first_name = 'Serial' where id = $1", [user]],
      'commit',
    ),
    [`user ${user}`],
  );
});
