// What a backup and a restore refuse, and what they leave when they are killed: nothing.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { eventually } from '@castellan/testing/harness';
import pg from 'pg';
import { castellan, launch, type Outcome } from './castellan.ts';
import { createEmptyDatabase, migrateUpTo, run } from './databases.ts';

let folder: string;
let file: string;
let source: { url: string; drop(): Promise<void> };
let target: { url: string; drop(): Promise<void> };

const own = (database: { url: string }): Record<string, string> => ({
  DATABASE_URL: database.url,
  DATA_DIR: join(folder, 'data'),
});
const restore = (from: string, ...more: string[]): Promise<Outcome> =>
  castellan(['restore', '--from', from, ...more], own(target));

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-refusals-'));
  [source, target] = await Promise.all([createEmptyDatabase(), createEmptyDatabase()]);
  await migrateUpTo(source.url, '9999');
  file = join(folder, 'whole.backup');
  const { code, err } = await castellan(['backup', '--to', file], own(source));
  assert.deepEqual([code, err], [0, '']);
});
after(async () => {
  await Promise.all([source.drop(), target.drop()]);
  await rm(folder, { recursive: true, force: true });
});

async function assertUntouched(): Promise<void> {
  assert.deepEqual(
    await run(target.url, `select relname from pg_class where relnamespace = 'public'::regnamespace`),
    [],
  );
}

async function changed(name: string, change: (whole: Buffer) => Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, change(await readFile(file)));
  return path;
}

test('a broken file is refused before the database is touched', async () => {
  const flip = (whole: Buffer): Buffer => {
    const at = Math.floor(whole.length / 2);
    return Buffer.concat([
      whole.subarray(0, at),
      Buffer.from([~(whole[at] ?? 0) & 0xff]),
      whole.subarray(at + 1),
    ]);
  };
  for (const [path, message] of [
    [await changed('cut', (whole) => whole.subarray(0, -20)), /incomplete|damaged/],
    [await changed('flipped', flip), /damaged/],
    [await changed('longer', (whole) => Buffer.concat([whole, Buffer.of(0)])), /something follows its end/],
    [await changed('text', () => Buffer.from('create table users ();')), /is not a backup of Castellan/],
    [join(folder, 'missing'), /The backup cannot be read: ENOENT/],
  ] as const) {
    const { code, out, err } = await restore(path);
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, message);
  }
  await assertUntouched();
});

test('a file that is not encrypted does not take the place of one that a passphrase protects', async () => {
  const passphrase = join(folder, 'passphrase');
  await writeFile(passphrase, 'a passphrase of this test\n');
  const option = ['--passphrase-file', passphrase];
  for (const { code, out, err } of [
    await restore(file, ...option),
    await castellan(['verify-backup', file], { CASTELLAN_BACKUP_PASSPHRASE_FILE: passphrase }),
  ]) {
    assert.deepEqual([code, out], [1, '']);
    assert.match(err, /^castellan: The file is not encrypted, so anybody may have put it there\./);
  }
  await assertUntouched();
});

test('what a forged backup says about itself reaches no terminal, and its key no file', async () => {
  const frame = (kind: string, content: object): Buffer => {
    const bytes = Buffer.from(JSON.stringify(content));
    const head = Buffer.from([kind.charCodeAt(0), 0, 0, 0, 0]);
    head.writeUInt32BE(bytes.length, 1);
    return Buffer.concat([head, bytes]);
  };
  const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
  const forged = Buffer.concat([
    frame('H', {
      castellan: '1\u001b[2J\nThe backup is whole.',
      postgres: '18\u009b31m',
      created_at: '2026-11-23T08:00:00.000Z',
      migrations: await run(source.url, 'select name, null as checksum from schema_migrations order by name'),
      left_out: [],
      secret_key: 'short',
    }),
    frame('T', { name: '\u001b]0;x\u0007', columns: [] }),
    frame('R', { rows: 0, bytes: 0, sha256: sha256(Buffer.alloc(0)) }),
    frame('S', []),
  ]);
  const end = frame('E', { tables: 1, rows: 0, sha256: sha256(forged) });
  const bytes = zstdCompressSync(Buffer.concat([forged, end]));
  const path = await changed('forged', () => Buffer.concat([Buffer.from('castellan-backup/1\n'), bytes]));
  const verified = await castellan(['verify-backup', path]);
  assert.equal(verified.code, 0);
  assert.doesNotMatch(verified.out, /(?!\n)\p{Cc}|^The backup is whole\.$/mu);
  assert.match(verified.out, /\\u001b\]0;x\\u0007/);
  const { code, err } = await restore(path);
  assert.equal(code, 1);
  assert.match(
    err,
    /^castellan: The SECRET_KEY of the backup has 5 bytes of text; it needs at least 32\. .+\n$/,
  );
  await assert.rejects(readFile(join(folder, 'data', 'secret.key')), /ENOENT/);
  await assertUntouched();
});

test('a backup of a newer version is refused', async (t) => {
  const newer = await createEmptyDatabase();
  t.after(newer.drop);
  await migrateUpTo(newer.url, '0002');
  await run(newer.url, `insert into schema_migrations values ('9999-future', '2027-01-01T00:00:00.000Z')`);
  const path = join(folder, 'newer.backup');
  assert.equal((await castellan(['backup', '--to', path], own(newer))).code, 0);
  const { code, err } = await restore(path);
  assert.equal(code, 1);
  assert.match(
    err,
    /^castellan: The backup is newer than this version of Castellan: it has 9999-future\. .+\n$/,
  );
  await assertUntouched();
});

test('a database that is not empty is refused, and so is one without tables of the service as a source', async (t) => {
  const before = await run(source.url, 'select email from users');
  const { code, err } = await castellan(['restore', '--from', file], own(source));
  assert.equal(code, 1);
  assert.match(err, /^castellan: The database is not empty\. Nothing was changed\. .+\n$/);
  assert.deepEqual(await run(source.url, 'select email from users'), before);

  const empty = await createEmptyDatabase();
  t.after(empty.drop);
  const path = join(folder, 'empty.backup');
  const none = await castellan(['backup', '--to', path], own(empty));
  assert.deepEqual([none.code, none.out], [1, '']);
  assert.match(none.err, /there is nothing to back up\.\n$/);
  assert.ok(!(await readdir(folder)).some((name) => name.startsWith('empty.backup')));
});

test('an existing file is replaced only with --overwrite, and standard output gets nothing but the backup', async () => {
  const path = join(folder, 'kept');
  await writeFile(path, 'kept');
  const refused = await castellan(['backup', '--to', path], own(source));
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(refused.err, /kept exists\. Name another file, or replace it with --overwrite\.\n$/);
  assert.equal(await readFile(path, 'utf8'), 'kept');
  assert.equal((await castellan(['backup', '--to', path, '--overwrite'], own(source))).code, 0);
  assert.match((await castellan(['verify-backup', path])).out, /The backup is whole/);

  const running = launch(['backup', '--to', '-'], own(source));
  const chunks: Buffer[] = [];
  running.child.stdout.removeAllListeners('data');
  // The text decoder of `launch` would change the bytes.
  running.child.stdout
    .setEncoding('latin1')
    .on('data', (text: string) => void chunks.push(Buffer.from(text, 'latin1')));
  const { code, err } = await running.ended;
  assert.equal(code, 0);
  assert.match(err, /^standard output: /m);
  const piped = launch(['verify-backup', '-']);
  piped.child.stdin.end(Buffer.concat(chunks));
  assert.match((await piped.ended).out, /The backup is whole/);
});

for (const [args, message] of [
  [['backup'], /--to is missing/],
  [['verify-backup', 'one', 'two'], /Unexpected argument 'two'/],
  [['restore', '--from', 'x', '--end-sessions', '--keep-sessions'], /exclude each other/],
  [
    ['backup', '--to', 'x', '--recipient', 'AGE-SECRET-KEY-1TEST'],
    /must be the public key of an age key pair: age1…/,
  ],
  [['backup', '--to', 'x', '--recipient', 'age1x', '--passphrase-file', 'y'], /exclude each other/],
] as const)
  test(`\`castellan ${args.join(' ')}\` is a usage error`, async () => {
    const { code, out, err } = await castellan([...args]);
    assert.deepEqual([code, out], [2, '']);
    assert.match(err, message);
    assert.ok(!err.includes('SECRET-KEY-1TEST'));
  });

/** Holds what both commands wait for, until the test ends it. */
async function hold(url: string, statement: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  await client.query('begin');
  await client.query(statement);
  return client;
}

const isWaiting = (url: string): Promise<true> =>
  eventually(async () => {
    const waiting = await run(
      url,
      `select from pg_stat_activity where datname = current_database() and application_name = 'castellan'
         and wait_event_type = 'Lock'`,
    );
    return waiting.length > 0 || undefined;
  }, 'the command to wait');

const hasNoConnections = (url: string): Promise<true> =>
  eventually(async () => {
    const open = await run(
      url,
      `select from pg_stat_activity where datname = current_database() and application_name = 'castellan'`,
    );
    return open.length === 0 || undefined;
  }, 'the end of the connections');

for (const signal of ['SIGKILL', 'SIGTERM'] as const)
  test(`a backup ended by ${signal} leaves no file under its name`, async (t) => {
    const holder = await hold(source.url, 'lock table users in access exclusive mode');
    t.after(() => holder.end());
    const path = join(folder, `${signal}.backup`);
    const running = launch(['backup', '--to', path], own(source));
    await isWaiting(source.url);
    running.child.kill(signal);
    const { code, err } = await running.ended;
    const left = (await readdir(folder)).filter((name) => name.startsWith(`${signal}.backup`));
    if (signal === 'SIGTERM') {
      assert.equal(code, 1);
      assert.match(err, /^castellan: interrupted\.\n$/);
      assert.deepEqual(left, []);
    } else assert.ok(left.every((name) => name.endsWith('.partial')));
    await holder.query('rollback');
    await hasNoConnections(source.url);
  });

test('a restore that is killed leaves the database empty, and two at once restore it once', async () => {
  // The migrations of the restore wait for this table's end.
  const holder = await hold(target.url, 'create table sessions ()');
  const killed = launch(['restore', '--from', file], own(target));
  await isWaiting(target.url);
  killed.child.kill('SIGKILL');
  await killed.ended;
  await holder.query('rollback');
  await hasNoConnections(target.url);
  await assertUntouched();

  await holder.query('begin');
  await holder.query('create table sessions ()');
  const first = launch(['restore', '--from', file], own(target));
  await isWaiting(target.url);
  // It keeps its start lock meanwhile. If it waited for the table, its lock timeout would end it on a slow machine.
  first.child.kill('SIGSTOP');
  await holder.query('rollback');
  await holder.end();
  const second = await restore(file);
  first.child.kill('SIGCONT');
  assert.equal(second.code, 1);
  assert.match(second.err, /^castellan: Another instance is preparing this database: .+\n$/);
  assert.equal((await first.ended).code, 0);
  assert.deepEqual(await run(target.url, 'select email from users'), [{ email: 'a@b.example' }]);
});
