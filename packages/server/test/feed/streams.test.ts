// How the change feed is read: who may, from where, how streams end, and what a reader who is behind is told.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import type { FeedPage } from '@castellan/contract/feed';
import { type FeedReader, openFeed, openLiveFeed } from '@castellan/testing/feed/reader';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { clientToken } from '@castellan/testing/service-accounts/token-services';

const service = await startTestService({ after }, { FEED_STREAMS: '6', FEED_STREAMS_PER_CALLER: '3' });
const twin = await service.another();
const FEED = '/api/v1/access/feed';

const watcher = () => addServiceAccount(service, { permissions: ['access.watch'] });

/** Notes a change of a user who does not exist, as a trigger would. Returns the id. */
async function change(id = randomUUID()): Promise<string> {
  await service.sql("insert into feed_queue (type, ref) values ('user', $1)", [id]);
  return id;
}

async function read(credential: string, query = '', accept = 'application/json') {
  const answer = await fetch(`${service.url}${FEED}${query}`, {
    headers: { authorization: `Bearer ${credential}`, accept },
  });
  return {
    status: answer.status,
    headers: answer.headers,
    body: (await answer.json()) as FeedPage & { code?: string },
  };
}

test('an API key and an access token made from it open a stream, on every instance', async () => {
  const account = await watcher();
  for (const credential of [account.key, await clientToken(service, account)])
    for (const url of [service.url, twin.url]) {
      const feed = await openLiveFeed(url, credential);
      const [hello] = feed.messages;
      assert.deepEqual([hello?.event, hello?.data.resumed, hello?.data.beat_ms], ['hello', false, 1_000]);
      assert.match(hello?.id ?? '', /^\d+\.[0-9a-f-]{36}$/);
      const { headers } = feed.response;
      assert.equal(headers['content-type'], 'text/event-stream; charset=utf-8');
      assert.equal(headers['cache-control'], 'no-store');
      assert.equal(headers['x-accel-buffering'], 'no');
      assert.equal(headers['content-encoding'], undefined);
      await feed.change('user', await change());
      // A transaction in another database delays it.
      const beat = await feed.until(({ event, data }) => event === 'beat' && data.live === true, 'a beat');
      assert.equal(beat.id, undefined);
      feed.close();
    }
});

test('people, callers without the permission, and bad requests are refused', async () => {
  const account = await watcher();
  const admin = await signIn(service, ADMIN);
  assert.equal((await admin.get(FEED)).body.code, 'service_account_required');
  const other = await addServiceAccount(service, { permissions: ['access.check'] });
  assert.equal((await read(other.key)).body.code, 'permission_denied');
  for (const cursor of [
    '1',
    `1.${randomUUID()}.2`,
    `-1.${randomUUID()}`,
    'x.y',
    `${'9'.repeat(16)}.${randomUUID()}`,
  ]) {
    const refused = await read(account.key, `?after=${cursor}`);
    assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_cursor'], cursor);
    await assert.rejects(openFeed(service.url, account.key, { cursor }), /^Error: 400 .*invalid_cursor/);
  }
  assert.deepEqual((await read(account.key, '', 'text/html')).status, 406);
  for (const query of ['?limit=0', '?limit=1001', '?wait=21', '?wait=x'])
    assert.equal((await read(account.key, query)).status, 422, query);
});

test('without FEED there is no such resource', async (t) => {
  const off = await startTestService(t, { FEED: 'off' });
  const account = await addServiceAccount(off, { permissions: ['access.watch'] });
  await assert.rejects(openFeed(off.url, account.key), /^Error: 404 .*route_not_found/);
});

test('a stream goes on from a cursor, also at another instance, and misses nothing in between', async () => {
  const { key } = await watcher();
  const feed = await openLiveFeed(service.url, key);
  await feed.change('user', await change());
  feed.close();
  const cursor = feed.cursor();
  const missed = [await change(), await change(), await change()];
  for (const url of [twin.url, service.url]) {
    const next = await openFeed(url, key, { cursor });
    const hello = await next.until(({ event }) => event === 'hello', 'hello');
    assert.deepEqual([hello.data.resumed, hello.id], [true, cursor]);
    for (const id of missed) await next.change('user', id);
    assert.equal(next.changes().length, missed.length);
    next.close();
  }
});

test('a cursor that the log does not have is told so, and the stream goes on from now', async () => {
  const { key } = await watcher();
  const feed = await openLiveFeed(service.url, key);
  await feed.change('user', await change());
  const [seq = ''] = feed.cursor().split('.');
  feed.close();
  for (const [cursor, reason] of [
    [`${Number(seq) + 1000}.${randomUUID()}`, 'other_history'],
    [`${seq}.${randomUUID()}`, 'unknown_cursor'],
  ] as const) {
    const next = await openFeed(service.url, key, { cursor });
    const reset = await next.until(({ event }) => event === 'reset', 'reset');
    assert.equal(next.messages[0]?.data.resumed, false);
    assert.equal(reset.data.reason, reason);
    const id = await change();
    await next.change('user', id);
    assert.deepEqual(
      next.changes().map((one) => one.id),
      [id],
    );
    next.close();
  }
});

test('another timeline of PostgreSQL is another history, also if it has every row of the log', async (t) => {
  const other = await startTestService(t);
  const { key } = await addServiceAccount(other, { permissions: ['access.watch'] });
  const feed = await openLiveFeed(other.url, key);
  const id = randomUUID();
  await other.sql("insert into feed_queue (type, ref) values ('user', $1)", [id]);
  await feed.change('user', id);
  const cursor = feed.cursor();
  // What connections find after a failover to a standby that lacks only what nobody notes, such as a sign-in.
  await other.sql(`create function public.pg_walfile_name(pg_lsn) returns text language sql
    as $$ select '00000002' || repeat('0', 16) $$`);
  const database = new URL(other.databaseUrl).pathname.slice(1);
  await other.sql(`alter database "${database}" set search_path = public, pg_catalog`);
  await other.sql(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name = 'castellan'`);
  await feed.until(({ event, data }) => event === 'reset' && data.reason === 'other_history', 'reset');
  const next = feed.cursor();
  feed.close();
  for (const [from, resumed] of [
    [cursor, false],
    [next, true],
  ] as const) {
    const again = await openFeed(other.url, key, { cursor: from });
    const hello = await again.until(({ event }) => event === 'hello', 'hello');
    assert.equal(hello.data.resumed, resumed, from);
    again.close();
  }
});

test('JSON: pages go on from cursors, and wait for the first change', async (t) => {
  const { key } = await watcher();
  // What made the account has been told by then, and the instance stays live.
  const feed = await openLiveFeed(service.url, key);
  t.after(feed.close);
  await feed.change('user', await change());
  const first = await read(key);
  assert.deepEqual([first.status, first.body.resumed, first.body.changes], [200, false, []]);
  const waiting = read(key, `?after=${first.body.cursor}&wait=20`);
  const id = await change();
  const page = (await waiting).body;
  assert.deepEqual(page.changes, [{ type: 'user', id }]);
  assert.deepEqual([page.resumed, page.live, page.more], [true, true, false]);
  const ids: string[] = [];
  for (let at = 0; at < 3; at += 1) {
    const next = await change();
    ids.push(next);
    // Each becomes a row of the log, and this instance has it.
    await feed.change('user', next);
  }
  const found: string[] = [];
  let { cursor } = page;
  // An instance may not have read yet what another one has numbered.
  for (let more = true; more || found.length < ids.length; ) {
    const { body } = await read(key, `?after=${cursor}&limit=1&wait=20`);
    assert.equal(body.changes.length, 1);
    found.push(...body.changes.map((one) => one.id));
    ({ cursor, more } = body);
  }
  assert.deepEqual(found, ids);
  const lost = await read(key, `?after=7.${randomUUID()}`);
  assert.deepEqual([lost.body.resumed, lost.body.changes, lost.body.cursor], [false, [], cursor]);
});

test('JSON: a reader that loses its key or its permission while it waits is refused as a new request is', async (t) => {
  const endings: [string, 'key' | 'token', number, string][] = [
    ['update api_keys set revoked_at = now() where service_account_id = $1', 'key', 401, 'api_key_revoked'],
    ['update service_accounts set is_active = false where id = $1', 'key', 401, 'service_account_inactive'],
    [
      'update client_tokens set expires_at = now() where service_account_id = $1',
      'token',
      401,
      'token_revoked',
    ],
    ['delete from service_account_roles where service_account_id = $1', 'key', 403, 'permission_denied'],
  ];
  for (const [statement, kind, refusal, code] of endings) {
    const account = await watcher();
    const { id } = account;
    const key = kind === 'key' ? account.key : await clientToken(service, account);
    const feed = await openLiveFeed(service.url, (await watcher()).key);
    t.after(feed.close);
    const told = await change();
    await feed.change('user', told);
    const { cursor } = (await read(key)).body;
    const waiting = read(key, `?after=${cursor}&wait=20`);
    // By then the request waits.
    await pause(1_000);
    await service.sql(statement, [id]);
    const { status, body } = await waiting;
    feed.close();
    assert.deepEqual([status, body.code], [refusal, code], statement);
    const again = await read(key);
    assert.deepEqual([again.status, again.body.code], [refusal, code], statement);
  }
});

test('readers beyond the limits get 429 and 503', async (t) => {
  const [one, other, third] = [await watcher(), await watcher(), await watcher()];
  const open: FeedReader[] = [];
  t.after(() => {
    for (const feed of open) feed.close();
  });
  for (let count = 0; count < 3; count += 1) open.push(await openLiveFeed(service.url, one.key));
  await assert.rejects(openFeed(service.url, one.key), /^Error: 429 .*rate_limited/);
  for (let count = 0; count < 3; count += 1) open.push(await openLiveFeed(service.url, other.key));
  await assert.rejects(openFeed(service.url, third.key), /^Error: 503 .*overloaded/);
  for (const feed of open) feed.close();
  await eventually(async () => ((await read(third.key)).status === 200 ? true : undefined), 'a place');
});

test('a stream is cut off when its caller may no longer read it', async () => {
  const endings: [string, string][] = [
    ['update service_accounts set is_active = false where id = $1', 'deactivated'],
    ['delete from service_account_roles where service_account_id = $1', 'role taken'],
    [
      `delete from role_permissions where role_id in (select role_id from service_account_roles where service_account_id = $1)`,
      'permission taken',
    ],
    ['update api_keys set revoked_at = now() where service_account_id = $1', 'key revoked'],
    ['truncate service_account_roles', 'truncated'],
  ];
  for (const [statement, what] of endings) {
    const account = await watcher();
    const feed = await openLiveFeed(service.url, account.key);
    await service.sql(statement, statement.includes('$1') ? [account.id] : []);
    await feed.ended;
    await assert.rejects(openFeed(service.url, account.key), what);
  }
});

test('a stream of an access token is cut off when the token or its signing key is revoked', async () => {
  const endings = [
    'update client_tokens set expires_at = now() where service_account_id = $1',
    'insert into revoked_signing_keys (key_id) select key_id from client_tokens where service_account_id = $1',
  ];
  for (const statement of endings) {
    const account = await watcher();
    const feed = await openLiveFeed(service.url, await clientToken(service, account));
    await service.sql(statement, [account.id]);
    // Without a change, a credential is looked at once a minute.
    const outcome = await Promise.race([
      feed.ended.then(() => 'ended'),
      pause(20_000, 'open', { ref: false }),
    ]);
    feed.close();
    assert.equal(outcome, 'ended', statement);
  }
  await service.sql('delete from revoked_signing_keys');
});

test('an opened stream is in the audit log', async () => {
  const account = await watcher();
  (await openLiveFeed(service.url, account.key)).close();
  const rows = await service.sql("select * from audit_logs where action = 'feed_opened' and actor_id = $1", [
    account.id,
  ]);
  assert.equal(rows.length, 1);
  const [{ details }] = rows as [{ details: Record<string, unknown> }];
  assert.deepEqual([details.stream, details.resumed, details.key_id], [true, false, account.keyId]);
});

test('an instance counts its streams, and says how far it is behind only while somebody reads', async () => {
  const { key } = await watcher();
  const idle = await service.another();
  assert.deepEqual(idle.service.deps.feed?.stats(), {
    streams: 0,
    lagSeconds: null,
    resets: { unknown_cursor: 0, other_history: 0, behind: 0, off: 0 },
  });
  const feed = await openLiveFeed(idle.url, key, `1.${randomUUID()}`);
  const { streams, lagSeconds, resets } = idle.service.deps.feed?.stats() ?? {};
  assert.equal(streams, 1);
  assert.ok(Number(lagSeconds) >= 0);
  assert.equal(
    Object.values(resets ?? {}).reduce((sum, count) => sum + count, 0),
    1,
  );
  feed.close();
});

test('an instance that stops answers those that wait for a change', async (t) => {
  const { key } = await watcher();
  const third = await service.another();
  const feed = await openLiveFeed(third.url, key);
  t.after(feed.close);
  await feed.change('user', await change());
  const answer = fetch(`${third.url}${FEED}?after=${feed.cursor()}&wait=20`, {
    headers: { authorization: `Bearer ${key}`, accept: 'application/json' },
  });
  // By then the request waits.
  await pause(1_000);
  await third.stop();
  const response = await answer;
  const body = (await response.json()) as FeedPage;
  assert.deepEqual(
    [response.status, body.resumed, body.changes, body.more],
    [200, true, [], false],
    JSON.stringify(body),
  );
});

test('an instance that stops says good-bye', async () => {
  const { key } = await watcher();
  const third = await service.another();
  const feed = await openLiveFeed(third.url, key);
  await third.stop();
  await feed.ended;
  const last = feed.messages.at(-1);
  assert.equal(last?.event, 'bye');
  assert.ok(Number(last?.data.retry_ms) >= 0 && Number(last?.data.retry_ms) <= 1_000);
});
