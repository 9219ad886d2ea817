// Backups that were restored: on the same kind of database, on the other one and back, with sessions kept and ended.
// The suite runs on PostgreSQL 18 and 15, so the embedded database is the same version in one run and another in the other.
import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { dataDirWithCluster } from '@castellan/embedded-postgres/testing';
import { confirmReset, resetLink } from '@castellan/testing/accounts/self-service';
import { createClient, type TestClient } from '@castellan/testing/client';
import {
  ADMIN,
  createVerifiedUser,
  eventually,
  PASSWORD,
  signIn,
  startTestService,
  TEST_SECRET_KEY,
  type TestService,
} from '@castellan/testing/harness';
import { assertSound } from '@castellan/testing/invariants';
import { addServiceAccount } from '@castellan/testing/service-accounts/accounts';
import { generateX25519Identity, identityToRecipient } from 'age-encryption';
import { castellan, launch } from './castellan.ts';
import { createEmptyDatabase, migrateUpTo, run } from './databases.ts';

const cleanups: (() => Promise<void>)[] = [];
let service: TestService;
let folder: string;
let client: TestClient;
let link: string;
let apiKey: string;
/** Of attributes, with what COPY and JSON have to escape. */
const values = { badge: 'B-\\ 7"', prefs: { 'a\tb': [1, null, 'ü\\n'], dark: false } };

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-backup-'));
  await chmod(folder, 0o755);
  service = await startTestService({ after: (hook) => void cleanups.push(hook) }, { AUDIT_SEALING: 'off' });
  const user = await createVerifiedUser(service, { email: 'ada@example.com' });
  // What COPY has to escape.
  await service.sql('update users set first_name = $1 where id = $2', ['A\tb\\n "c"\nd', user.id]);
  client = await signIn(service, user);
  link = await resetLink(service, user.email);
  const admin = await signIn(service, ADMIN);
  const made = await admin.post('/api/v1/applications', { client_id: 'grafana', name: 'Grafana' });
  assert.equal(made.status, 201, made.text);
  for (const attribute of [
    { name: 'badge', label: 'Badge', type: 'string', unique: true, searchable: true },
    { name: 'prefs', label: 'Preferences', type: 'json', self: 'write' },
  ])
    assert.equal((await admin.post('/api/v1/user-attributes', attribute)).status, 201);
  const given = await admin.patch(`/api/v1/users/${user.id}/attributes`, values);
  assert.equal(given.status, 200, given.text);
  apiKey = (await addServiceAccount(service, { permissions: ['access.check'] })).key;
  // A row of an identity column, whose sequence has to go on after it.
  await service.sql(
    `insert into session_ends (user_id, session_id, reason) values (gen_random_uuid(), gen_random_uuid(), 'test')`,
  );
});
after(async () => {
  for (const cleanup of cleanups) await cleanup();
  await rm(folder, { recursive: true, force: true });
});

const environment = (): Record<string, string> => ({
  DATABASE_URL: service.databaseUrl,
  SECRET_KEY: TEST_SECRET_KEY,
  DATA_DIR: join(folder, 'data'),
});

async function succeed(args: string[], own: Record<string, string>): Promise<string> {
  const { code, out, err } = await castellan(args, own);
  assert.deepEqual([code, err], [0, '']);
  return out;
}

/** A digest of the rows of each table, without those of which a restore changes something. */
async function rowsOf(url: string): Promise<Record<string, string>> {
  const tables = await run<{ name: string }>(
    url,
    `select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
       and relname not in ('audit_log_head', 'authz_version', 'authz_changes', 'feed_state', 'rate_limits', 'used_proofs', 'schema_migrations',
         'job_schedule')
     order by 1`,
  );
  const digests: Record<string, string> = {};
  for (const { name } of tables) {
    const where = name === 'audit_logs' ? `where action <> 'database_restored'` : '';
    const [row] = await run<{ digest: string }>(
      url,
      `select count(*) || ' ' || coalesce(md5(string_agg(t::text, '|' order by t::text)), '') as digest from ${name} t ${where}`,
    );
    digests[name] = row?.digest ?? '';
  }
  return digests;
}

/** What holds rows together: constraints, indexes, triggers, sequences. A restore writes an audit entry. */
const schemaOf = (url: string): Promise<{ what: string }[]> =>
  run(
    url,
    `select conrelid::regclass || ' ' || conname || ' ' || convalidated || ' ' || pg_get_constraintdef(oid) as what
       from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'
     union all select indexdef from pg_indexes where schemaname = 'public'
     union all select tgrelid::regclass || ' ' || tgname || ' ' || tgenabled::text from pg_trigger where not tgisinternal
     union all select sequencename || ' ' || coalesce(last_value, 0) from pg_sequences
       where schemaname = 'public' and sequencename <> 'audit_logs_position_seq'
     order by 1`,
  );

test('moved to the embedded database and back, with its sessions, the database is the same', async (t) => {
  const first = join(folder, 'first.backup');
  const out = await succeed(['backup', '--to', first], environment());
  assert.match(out, /^Backed up PostgreSQL at .+ as of \S+Z: \d+ tables, \d+ rows, in .+ s\.\n/);
  assert.match(out, /first\.backup: .+ kB, not encrypted\. It has the password hashes/);
  assert.match(
    out,
    /It does not have the SECRET_KEY .+ and the rows of: feed_log, feed_queue, feed_state, rate_limits, used_proofs\.\n$/,
  );
  assert.equal((await stat(first)).mode & 0o777, 0o600);
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.includes('partial')),
    [],
  );
  const before = await rowsOf(service.databaseUrl);

  const embedded = { DATA_DIR: await dataDirWithCluster(t), SECRET_KEY: TEST_SECRET_KEY };
  const moved = await succeed(['restore', '--from', first, '--keep-sessions'], embedded);
  assert.match(moved, /^Restored into PostgreSQL 18\.\S+, as user .+: \d+ tables, \d+ rows, in .+ s\.$/m);
  assert.match(moved, /^Sessions, links and signing keys that ended after .+ are valid again\.$/m);
  const second = join(folder, 'second.backup');
  await succeed(['backup', '--to', second], embedded);

  const { url, drop } = await createEmptyDatabase();
  t.after(drop);
  await succeed(['restore', '--from', second, '--keep-sessions'], { ...environment(), DATABASE_URL: url });
  assert.deepEqual(await rowsOf(url), before);
  assert.deepEqual(await schemaOf(url), await schemaOf(service.databaseUrl));
  const [stamps] = await run<{ differ: boolean; changes: number }>(
    url,
    `select stamp <> $1 as differ, (select count(*)::integer from authz_changes) as changes from authz_version`,
    [(await service.sql<{ stamp: string }>('select stamp from authz_version'))[0]?.stamp],
  );
  assert.deepEqual(stamps, { differ: true, changes: 0 });
  const [head] = await run<{ is_restored: boolean }>(url, 'select is_restored from audit_log_head');
  // The sealed audit log goes on in a new log.
  assert.deepEqual(head, { is_restored: true });

  // The next session end takes the next number, and triggers count again.
  const [next] = await run<{ id: string }>(
    url,
    `insert into session_ends (user_id, reason) values (gen_random_uuid(), 'test') returning id`,
  );
  const [last] = await service.sql<{ id: string }>('select max(id) as id from session_ends');
  assert.ok(Number(next?.id) > Number(last?.id));
});

test('restored with the defaults, passwords work, and no session, token or link of before does', async (t) => {
  const file = join(folder, 'ended.backup');
  await succeed(['backup', '--to', file], environment());
  // After the backup, in the original: what must not live again does not depend on it.
  assert.equal((await client.get('/api/v1/users/me')).status, 200);
  const { url, drop } = await createEmptyDatabase();
  t.after(drop);
  // Another SECRET_KEY: without its sessions, a backup can be restored when the key is lost.
  const own = {
    DATABASE_URL: url,
    SECRET_KEY: 'another secret key, of 32 bytes or more',
    DATA_DIR: join(folder, 'data'),
    PUBLIC_URL: 'http://castellan.test',
    PORT: '0',
    // A second worker holds the start lock for a moment after the service is ready.
    WORKERS: '1',
    LOG_LEVEL: 'warn',
    SHUTDOWN_GRACE_SECONDS: '0',
  };
  const refused = await castellan(['restore', '--from', file, '--keep-sessions'], own);
  assert.equal(refused.code, 1);
  assert.match(
    refused.err,
    /^castellan: The signing key \S+ in the database cannot be decrypted with this SECRET_KEY\./,
  );
  const out = await succeed(['restore', '--from', file], own);
  assert.match(out, /^Ended: 2 sessions, 1 mailed link, 0 waiting mails\. Every signing key is revoked;/m);
  assert.match(out, /^Valid: 1 API key, with any that was revoked after .+ --revoke-api-keys\.$/m);
  assert.match(
    out,
    /^Valid: 1 secret of applications, with any that was revoked after .+ --revoke-api-keys\.$/m,
  );

  const restored = {
    sql: <T>(text: string, values?: unknown[]) => run(url, text, values) as unknown as Promise<T[]>,
  };
  await assertSound(restored);
  assert.deepEqual(
    await run(
      url,
      `select (select total = (select count(*) from users) from user_counts) as counted,
         not exists (select from live_session_counts) as is_counted_again,
         (select count(*) from session_tokens) + (select count(*) from signing_keys)
           + (select count(*) from application_keys) = 0 as no_keys`,
    ),
    [{ counted: true, is_counted_again: true, no_keys: true }],
  );
  const [entry] = await run<{ details: Record<string, unknown> }>(
    url,
    `select details from audit_logs where action = 'database_restored'`,
  );
  assert.deepEqual(Object.keys(entry?.details ?? {}).sort(), [
    'api_keys_revoked',
    'backup_time',
    'sessions_ended',
    'via',
  ]);

  const again = launch(['serve'], own);
  try {
    const base = await eventually(() => {
      if (!again.out().includes('"msg":"ready"}\n')) return undefined;
      return /"url":"([^"]+)","msg":"listening"/.exec(again.out())?.[1];
    }, 'the service');
    const old = client.at(base);
    assert.equal((await old.get('/api/v1/users/me')).status, 401);
    const refresh = await createClient(base).post('/api/v1/auth/refresh', {
      refresh_token: client.refreshToken,
    });
    assert.equal(refresh.status, 401);
    assert.ok((await confirmReset(createClient(base), link, 'ReplacementPassword!42')).status >= 400);
    const anew = createClient(base);
    assert.equal((await anew.login({ email: 'ada@example.com', password: PASSWORD })).status, 200);
    assert.equal((await anew.get('/api/v1/users/me')).status, 200);
    assert.deepEqual((await anew.get('/api/v1/users/me/attributes')).body.data, { prefs: values.prefs });
    const admin = createClient(base);
    assert.equal((await admin.login(ADMIN)).status, 200);
    const found = await admin.get(
      `/api/v1/users?attribute.badge=${encodeURIComponent(values.badge)}&include=attributes`,
    );
    assert.deepEqual(found.body.data.items[0]?.attributes, values, found.text);
    const [other] = (await admin.get('/api/v1/users?email=admin@example.com')).body.data.items;
    const taken = await admin.patch(`/api/v1/users/${other.id}/attributes`, {
      badge: values.badge.toLowerCase(),
    });
    assert.equal(taken.body.code, 'user_attribute_taken', 'what is unique stays so');
    // The start has made keys for the application that the backup has.
    assert.deepEqual(await run(url, 'select alg from application_keys order by alg'), [
      { alg: 'ES256' },
      { alg: 'RS256' },
    ]);
    const machine = createClient(base);
    const asked = await machine.get('/api/v1/users/me', { headers: { authorization: `Bearer ${apiKey}` } });
    assert.notEqual(asked.status, 401, asked.text);

    // A service that uses the database, even an emptied one, keeps a restore out.
    const inUse = await castellan(['restore', '--from', file], own);
    assert.equal(inUse.code, 1);
    assert.match(
      inUse.err,
      /^castellan: Castellan uses this database: it has \d+ other connections?\. Stop every/,
    );
  } finally {
    again.child.kill('SIGTERM');
  }
  assert.equal((await again.ended).code, 0);
});

test('restored with --revoke-api-keys, no API key and no secret of an application is valid', async (t) => {
  const file = join(folder, 'revoked.backup');
  await succeed(['backup', '--to', file], environment());
  const { url, drop } = await createEmptyDatabase();
  t.after(drop);
  const own = { ...environment(), DATABASE_URL: url };
  const out = await succeed(['restore', '--from', file, '--revoke-api-keys'], own);
  assert.match(out, /^Revoked: 1 API key\.\nRevoked: 1 secret of applications\. Create new ones\.$/m);
  assert.doesNotMatch(out, /^Valid:/m);
  assert.deepEqual(
    await run(
      url,
      `select (select count(*)::integer from application_secrets where revoked_at is null) as secrets,
         (select count(*)::integer from api_keys where revoked_at is null) as keys`,
    ),
    [{ secrets: 0, keys: 0 }],
  );
});

test('a table that a later migration adds is backed up, and one that no migration made is not restored', async (t) => {
  const [first, second] = [await createEmptyDatabase(), await createEmptyDatabase()];
  t.after(() => Promise.all([first.drop(), second.drop()]));
  await migrateUpTo(first.url, '0012');
  await run(first.url, `create table notes (id integer primary key, "a ""text""" text)`);
  await run(first.url, `insert into notes values (1, E'line\\nfeed'), (2, null)`);
  const file = join(folder, 'notes.backup');
  await succeed(['backup', '--to', file], { ...environment(), DATABASE_URL: first.url });
  assert.match(await succeed(['verify-backup', file], {}), /^ {2}notes +2 rows {2}18 bytes$/m);
  const out = await succeed(['restore', '--from', file, '--revoke-api-keys'], {
    ...environment(),
    DATABASE_URL: second.url,
  });
  assert.match(out, /^Not restored, because they are not tables of Castellan: notes\.$/m);
  assert.match(out, /^Migrated: 0012-service-accounts, .+0024-live-sessions.*\.$/m);
  assert.deepEqual(await run(second.url, 'select email, version, session_epoch from users'), [
    { email: 'a@b.example', version: 1, session_epoch: 0 },
  ]);
});

test('the SECRET_KEY travels only in an encrypted backup, and arrives only where none is', async (t) => {
  const [identity, passphrase] = [join(folder, 'key.txt'), join(folder, 'passphrase')];
  const key = await generateX25519Identity();
  await writeFile(identity, `# a key for tests\n${key}\n`);
  await writeFile(passphrase, 'the wrong passphrase\n');
  const recipient = await identityToRecipient(key);
  const file = join(folder, 'key.backup');
  assert.equal((await castellan(['backup', '--to', file, '--with-secret-key'], environment())).code, 2);
  await succeed(['backup', '--to', file, '--with-secret-key', '--recipient', recipient], environment());
  const shown = await succeed(['verify-backup', file, '--identity', identity], {});
  assert.match(shown, /encrypted for 1 age key, with the SECRET_KEY\.$/m);
  assert.ok(!shown.includes(TEST_SECRET_KEY));
  for (const [args, message] of [
    [[], /is encrypted for an age key: name the file of the key with --identity\.$/m],
    [['--passphrase-file', passphrase], /cannot be decrypted with this key or passphrase\.$/m],
    [['--identity', passphrase], /--identity has no age key that can be read\./],
  ] as const) {
    const { code, err } = await castellan(['verify-backup', file, ...args]);
    assert.equal(code, 1);
    assert.match(err, message);
  }
  const { url, drop } = await createEmptyDatabase();
  t.after(drop);
  const dataDir = join(folder, 'data-of-key');
  const args = ['restore', '--from', file, '--identity', identity, '--keep-sessions'];
  const { SECRET_KEY: _, ...used } = environment();
  const refused = await castellan(args, { ...used, DATA_DIR: dataDir });
  assert.match(refused.err, /Castellan uses this database/);
  await assert.rejects(stat(join(dataDir, 'secret.key')), { code: 'ENOENT' });
  const out = await succeed(args, { DATABASE_URL: url, DATA_DIR: dataDir });
  assert.match(out, /^The SECRET_KEY of the backup is in .+secret\.key\.$/m);
  assert.equal((await stat(join(dataDir, 'secret.key'))).mode & 0o777, 0o600);
});

test('a restore whose commit fails leaves no SECRET_KEY behind, unless nobody knows how it ended', async (t) => {
  const identity = join(folder, 'key-of-commit.txt');
  const key = await generateX25519Identity();
  await writeFile(identity, `${key}\n`);
  const file = join(folder, 'commit.backup');
  const recipient = await identityToRecipient(key);
  await succeed(['backup', '--to', file, '--with-secret-key', '--recipient', recipient], environment());
  for (const [fault, message, isLeft] of [
    [`raise exception 'a fault of the commit'`, /a fault of the commit/, false],
    ['perform pg_terminate_backend(pg_backend_pid())', /delete it if the database is empty/, true],
  ] as const) {
    const { url, drop } = await createEmptyDatabase();
    t.after(drop);
    await run(
      url,
      `create schema faults;
       create function faults.fail() returns trigger language plpgsql as $$ begin ${fault}; return null; end $$;
       create function faults.watch() returns event_trigger language plpgsql as $$ begin
         if to_regclass('public.audit_logs') is not null
           and not exists (select from pg_trigger where tgname = 'fails') then
           create constraint trigger fails after insert on public.audit_logs deferrable initially deferred
             for each row execute function faults.fail();
         end if; end $$;
       create event trigger watch on ddl_command_end when tag in ('CREATE TABLE') execute function faults.watch()`,
    );
    const dataDir = join(folder, `data-of-commit-${isLeft}`);
    const { code, out, err } = await castellan(['restore', '--from', file, '--identity', identity], {
      DATABASE_URL: url,
      DATA_DIR: dataDir,
    });
    assert.equal(code, 1);
    assert.match(out + err, message);
    assert.doesNotMatch(out, /^The SECRET_KEY of the backup is in/m);
    const left = await readdir(dataDir).catch(() => []);
    assert.deepEqual(
      left.filter((name) => name.startsWith('secret.key')),
      isLeft ? ['secret.key'] : [],
    );
    assert.deepEqual(await run(url, `select from pg_tables where schemaname = 'public'`), []);
  }
});
