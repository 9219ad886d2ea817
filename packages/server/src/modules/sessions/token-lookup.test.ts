// Tests the token lookup of the hot path on a real database: results, number of statements, failures.
import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, describe, test } from 'node:test';
import { stepsOf } from '@castellan/testing/plans';
import { createScratchDatabase } from '@castellan/testing/scratch-database';
import pg from 'pg';
import { createTokenLookup } from './token-lookup.ts';

const database = await createScratchDatabase({ migrated: true });
const admin = new pg.Pool({ connectionString: database.url, max: 4 });
after(async () => {
  await admin.end();
  await database.drop();
});

type Token = { userId: string; hash: Buffer; sessionId: string };

async function createToken(
  changes: { kind?: string; expired?: boolean; user?: string } = {},
): Promise<Token> {
  const userId = changes.user ?? randomUUID();
  const token = { userId, hash: randomBytes(32), sessionId: randomUUID() };
  if (changes.user === undefined) {
    await admin.query(
      "insert into users (id, email, first_name, last_name, verified) values ($1, $2, 'Ada', 'Lovelace', true)",
      [userId, `${userId}@example.com`],
    );
    await admin.query("insert into user_roles select $1, id from roles where name in ('User', 'Manager')", [
      userId,
    ]);
  }
  await admin.query(
    "insert into sessions (id, user_id, expires_at) values ($1, $2, now() + interval '1 day')",
    [token.sessionId, userId],
  );
  await admin.query(
    `insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     values ($1, $2, $3, $4, $5, $7, now() - interval '1 hour', now() + $6::interval)`,
    [
      userId,
      token.hash,
      token.sessionId,
      changes.kind ?? 'access',
      randomUUID(),
      changes.expired ? '-1 s' : '1 hour',
      `key of ${token.sessionId}`,
    ],
  );
  return token;
}

/** Returns a lookup with its own pool, and the number of statements that it sent. */
function createCounted(options: pg.PoolConfig = {}) {
  const pool = new pg.Pool({ connectionString: database.url, max: 4, ...options });
  const state = { statements: 0, text: '' };
  const send = pool.query.bind(pool) as (...args: unknown[]) => unknown;
  pool.query = ((...args: unknown[]) => {
    state.statements += 1;
    state.text = (args[0] as pg.QueryConfig).text;
    return send(...args);
  }) as typeof pool.query;
  after(() => pool.end());
  const lookUp = createTokenLookup(pool);
  return {
    lookUp: (userId: string, hash: Buffer) => lookUp(userId, hash.toString('hex')),
    state,
  };
}

describe('a lookup finds', () => {
  test('the session, the user and the roles of a live access token', async () => {
    const { lookUp } = createCounted();
    const token = await createToken();
    const found = await lookUp(token.userId, token.hash);
    assert.equal(found?.session_id, token.sessionId);
    assert.equal(found.user_id, token.userId);
    assert.equal(found.email, `${token.userId}@example.com`);
    assert.equal(found.role_ids.length, 2);
    assert.match(found.authz_stamp, /^[\da-f-]{36}$/);
    assert.ok(found.created_at instanceof Date);
    const began = await admin.query('select created_at from sessions where id = $1', [token.sessionId]);
    assert.deepEqual(found.auth_time, began.rows[0].created_at);
  });

  const refused: [string, (token: Token) => Promise<Token | unknown>, object?][] = [
    ['whose session was revoked', (token) => revoke(token)],
    [
      'whose session has expired',
      (token) => admin.query('update sessions set expires_at = now() where id = $1', [token.sessionId]),
    ],
    [
      'whose user was deactivated',
      (token) => admin.query('update users set is_active = false where id = $1', [token.userId]),
    ],
    [
      'whose signing key was revoked',
      (token) =>
        admin.query('insert into revoked_signing_keys (key_id) values ($1)', [`key of ${token.sessionId}`]),
    ],
    [
      'whose row was removed',
      (token) => admin.query('delete from session_tokens where token_hash = $1', [token.hash]),
    ],
    ['that has expired', async () => undefined, { expired: true }],
    ['that is a refresh token', async () => undefined, { kind: 'refresh' }],
  ];
  for (const [what, change, kind] of refused)
    test(`nothing for a token ${what}`, async () => {
      const { lookUp } = createCounted();
      const token = await createToken(kind);
      if (!kind) assert.ok(await lookUp(token.userId, token.hash));
      await change(token);
      assert.equal(await lookUp(token.userId, token.hash), undefined);
    });

  test("nothing for another user's token or an unknown hash", async () => {
    const { lookUp } = createCounted();
    const [one, other] = [await createToken(), await createToken()];
    assert.equal(await lookUp(one.userId, other.hash), undefined);
    assert.equal(await lookUp(one.userId, randomBytes(32)), undefined);
  });
});

const revoke = (token: Token) =>
  admin.query('update sessions set revoked_at = now() where id = $1', [token.sessionId]);

describe('parallel lookups', () => {
  test('in one tick share a few statements, and each gets its own result', async () => {
    const { lookUp, state } = createCounted();
    const tokens = await Promise.all(Array.from({ length: 100 }, () => createToken()));
    const hashes = tokens.map((token, at) => (at % 10 === 3 ? randomBytes(32) : token.hash));
    const found = await Promise.all(tokens.map((token, at) => lookUp(token.userId, hashes[at] as Buffer)));
    for (const [at, token] of tokens.entries())
      assert.equal(found[at]?.session_id, at % 10 === 3 ? undefined : token.sessionId);
    assert.equal(state.statements, 4);
  });

  test('beyond the size of one statement use a few statements', async () => {
    const { lookUp, state } = createCounted();
    const token = await createToken();
    const found = await Promise.all(Array.from({ length: 2_000 }, () => lookUp(token.userId, token.hash)));
    assert.ok(found.every((one) => one?.session_id === token.sessionId));
    assert.ok(state.statements <= 11, `${state.statements} statements`);
  });

  test('of an unchanged row get one immutable object, and of a changed row another', async () => {
    const { lookUp } = createCounted();
    const token = await createToken();
    const [one, two] = await Promise.all([
      lookUp(token.userId, token.hash),
      lookUp(token.userId, token.hash),
    ]);
    assert.ok(one && two);
    assert.equal(one, two);
    assert.ok(Object.isFrozen(one) && Object.isFrozen(one.role_ids));
    await admin.query("update users set first_name = 'Grace' where id = $1", [token.userId]);
    const changed = await lookUp(token.userId, token.hash);
    assert.equal(changed?.first_name, 'Grace');
    assert.equal(one.first_name, 'Ada');
    await admin.query('delete from user_roles where user_id = $1 and role_id = $2', [
      token.userId,
      one.role_ids[0],
    ]);
    assert.deepEqual((await lookUp(token.userId, token.hash))?.role_ids, one.role_ids.slice(1));
  });

  test('see every revocation that was committed before they began', async () => {
    const { lookUp } = createCounted();
    const tokens = await Promise.all(Array.from({ length: 16 }, () => createToken()));
    let isOver = false;
    const keepBusy = async (): Promise<void> => {
      const busy = await createToken();
      while (!isOver) assert.ok(await lookUp(busy.userId, busy.hash));
    };
    const load = Promise.all(Array.from({ length: 8 }, keepBusy));
    for (const token of tokens) {
      assert.ok(await lookUp(token.userId, token.hash));
      await revoke(token);
      assert.equal(await lookUp(token.userId, token.hash), undefined);
    }
    isOver = true;
    await load;
  });
});

describe('a failure', () => {
  test('rejects every lookup of its statement, and the next lookup succeeds', async () => {
    // A lock timeout, not a statement timeout: on a slow machine, a statement may take long once it has the lock.
    const { lookUp } = createCounted({ lock_timeout: 200 });
    const tokens = await Promise.all(Array.from({ length: 20 }, () => createToken()));
    const blocker = await admin.connect();
    await blocker.query('begin; lock table session_tokens in access exclusive mode');
    const outcomes = await Promise.allSettled(tokens.map((token) => lookUp(token.userId, token.hash)));
    await blocker.query('rollback');
    blocker.release();
    for (const outcome of outcomes) {
      assert.equal(outcome.status, 'rejected');
      // lock_not_available
      assert.equal(outcome.reason.code, '55P03');
    }
    assert.ok(await lookUp(tokens[0]?.userId ?? '', tokens[0]?.hash ?? Buffer.alloc(0)));
  });

  test('leaves the lookup usable, even after more failures than statements can run at once', async () => {
    const { lookUp } = createCounted();
    const token = await createToken();
    // The server reports an error for a user id that is not a UUID.
    for (let round = 0; round < 10; round += 1) await assert.rejects(lookUp('no uuid', token.hash));
    assert.ok(await lookUp(token.userId, token.hash));
  });
});

test('the generic plan of the statement uses indexes with 20,000 users', async () => {
  const { lookUp, state } = createCounted();
  await lookUp(randomUUID(), randomBytes(32));
  const client = await admin.connect();
  try {
    await client.query(`begin;
      create temp table made as
        select gen_random_uuid() as id, gen_random_uuid() as session_id from generate_series(1, 20000);
      insert into users (id, email, first_name, last_name) select id, id || '@example.com', 'A', 'B' from made;
      insert into user_roles select id, (select id from roles where name = 'User') from made;
      insert into sessions (id, user_id, expires_at) select session_id, id, now() + interval '1 day' from made;
      insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
        select id, sha256((id::text || kind)::bytea), session_id, kind, gen_random_uuid(), 'key', now(), now() + interval '1 hour'
        from made, unnest(array['access', 'refresh']) as kind;
      analyze users; analyze user_roles; analyze sessions; analyze session_tokens;
      set local plan_cache_mode = force_generic_plan;
      prepare kept (uuid[], text[]) as ${state.text}`);
    const { rows } = await client.query('explain execute kept (null, null)');
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    for (const index of [
      'session_tokens_user_id_token_hash_pkey',
      'sessions_id_pkey',
      'users_id_pkey',
      'user_roles_user_id_role_id_pkey',
    ])
      assert.match(plan, new RegExp(`using ${index} `));
    assert.doesNotMatch(plan, /Seq Scan on (?!authz_version|revoked_signing_keys)/);
  } finally {
    await client.query('rollback; deallocate all');
    client.release();
  }
});

/** Inserts a user with this many live access tokens of this many sessions. Returns the user and one hash. */
const insertTokens = async (client: pg.ClientBase, tokens: number, sessions: number) => {
  const { rows } = await client.query<{ user_id: string; hash: string }>(
    `with person as (insert into users (id, email, first_name, last_name)
         select id, id || '@example.com', 'A', 'B' from (select gen_random_uuid() as id) made returning id),
       opened as (insert into sessions (id, user_id, expires_at)
         select gen_random_uuid(), id, now() + interval '1 day' from person, generate_series(1, $2) returning id, user_id)
     insert into session_tokens (user_id, token_hash, session_id, kind, jti, key_id, issued_at, expires_at)
     select user_id, sha256((id::text || nr)::bytea), id, 'access', gen_random_uuid(), 'key', now(), now() + interval '1 hour'
     from opened, generate_series(1, $1 / $2) as nr returning user_id, encode(token_hash, 'hex') as hash`,
    [tokens, sessions],
  );
  assert.equal(rows.length, tokens);
  return rows[0];
};

const beginnings: readonly [what: string, prepare: (client: pg.ClientBase) => Promise<unknown>][] = [
  ['on an empty database, before any statistics', async () => undefined],
  [
    'when nearly every user had one token',
    async (client) => {
      for (let user = 0; user < 400; user += 1) await insertTokens(client, 1, 1);
      await client.query('vacuum analyze users, sessions, session_tokens');
    },
  ],
];
for (const [when, prepare] of beginnings)
  test(`the generic plan that was made ${when} reads one token of a user who has thousands`, async () => {
    const { state, lookUp } = createCounted();
    await lookUp(randomUUID(), randomBytes(32));
    const fresh = await createScratchDatabase({ migrated: true });
    const client = new pg.Client(fresh.url);
    await client.connect();
    try {
      await prepare(client);
      await client.query(
        `set enable_seqscan = off; set plan_cache_mode = force_generic_plan; prepare kept (uuid[], text[]) as ${state.text}`,
      );
      await client.query('explain execute kept (null, null)');
      const token = await insertTokens(client, 3_000, 30);
      const { rows } = await client.query(
        `explain (analyze, timing off, format json) execute kept ('{${token?.user_id}}', '{${token?.hash}}')`,
      );
      const read = stepsOf(rows[0]['QUERY PLAN'][0].Plan).filter((step) => step.table !== undefined);
      for (const table of ['session_tokens', 'sessions', 'users'])
        assert.deepEqual(
          read.filter((step) => step.table === table).map((step) => step.rows),
          [1],
          `rows read of ${table}`,
        );
    } finally {
      await client.end();
      await fresh.drop();
    }
  });
