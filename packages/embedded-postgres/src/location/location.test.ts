/**
 * Tests where the cluster is if the user that runs it cannot reach DATA_DIR, and which folders are refused. Most cases
 * need root, because an ordinary user runs the server itself. They must not use the real system folder.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { copyBinaries, settings } from '../../test/fixture.ts';
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbeddedPostgres } from '../index.ts';
import { atEnd, postmasterPid, query, removeSystemHome, root, temporaryFolder } from '../testing.ts';

type Setting = { dataDir: string; systemDir: string };

/** Returns a DATA_DIR in a folder that only root can enter. */
function behindRoot(t: TestContext): Setting {
  const closed = join(temporaryFolder(t), 'closed');
  mkdirSync(closed, { mode: 0o700 });
  // Not below /tmp: no folder above it may be writable for others.
  return { dataDir: join(closed, 'data'), systemDir: join(temporaryFolder(t, '/var/lib'), 'castellan') };
}

async function start(t: TestContext, options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbeddedPostgres({ settings, ...options });
  atEnd(t, () => server.stop());
  return server;
}

async function startOnce(t: TestContext, options: EmbeddedOptions): Promise<string> {
  const server = await start(t, options);
  await query(server.connection, 'create table if not exists kept as select 7 as number');
  await server.stop();
  return server.cluster;
}

function refuses(options: EmbeddedOptions, message: RegExp): Promise<void> {
  return assert.rejects(startEmbeddedPostgres({ settings, ...options }), {
    name: 'EmbeddedPostgresError',
    message,
  });
}

test('a missing DATA_DIR is created, private, with the cluster in its folder postgres', async (t) => {
  const dataDir = join(temporaryFolder(t), 'not', 'there', 'yet');
  const server = await start(t, { dataDir });
  assert.equal(server.cluster, join(dataDir, 'postgres'));
  assert.equal(statSync(dataDir).mode & 0o007, 0);
  assert.equal(statSync(server.cluster).mode & 0o777, 0o700);
});

test('DATA_DIR by a relative path or through a link is the same cluster', async (t) => {
  const folder = temporaryFolder(t);
  await startOnce(t, { dataDir: join(folder, 'data') });
  symlinkSync(join(folder, 'data'), join(folder, 'link'));
  const server = await start(t, { dataDir: join(folder, 'link') });
  assert.equal(server.cluster, join(folder, 'data', 'postgres'));
  assert.equal((await query(server.connection, 'select number from kept')).length, 1);
});

if (root) {
  describe('as root', () => {
    test('a DATA_DIR that only root can enter keeps its database: the user that runs it may traverse it, not list it', async (t) => {
      const dataDir = join(temporaryFolder(t), 'data');
      mkdirSync(dataDir, { mode: 0o700 });
      const server = await start(t, { dataDir });
      assert.equal(dirname(server.cluster), dataDir);
      assert.equal(statSync(dataDir).uid, 0);
      assert.equal(statSync(dataDir).mode & 0o777, 0o710);
      await server.stop();
      chmodSync(dataDir, 0o700);
      chownSync(dataDir, 0, 0);
      assert.equal((await start(t, { dataDir })).joined, false);
    });

    test('inside a folder that only root can enter, the database is in the system folder, and is found again', async (t) => {
      const setting = behindRoot(t);
      const lines: string[] = [];
      const first = await start(t, { ...setting, log: (line) => lines.push(line) });
      assert.equal(dirname(dirname(first.cluster)), setting.systemDir);
      assert.match(lines.join('\n'), /the database is kept in .* cannot reach/);
      assert.equal(readFileSync(join(setting.dataDir, 'postgres.location'), 'utf8').trim(), first.cluster);
      assert.equal(statSync(dirname(setting.dataDir)).mode & 0o777, 0o700);
      for (const folder of [setting.systemDir, dirname(first.cluster)]) {
        assert.deepEqual([statSync(folder).uid, statSync(folder).mode & 0o777], [0, 0o755]);
      }
      const joiner = await start(t, setting);
      assert.equal(joiner.joined, true);
      await joiner.stop();
      await first.stop();
      assert.equal(await startOnce(t, setting), first.cluster);
      assert.equal((await query((await start(t, setting)).connection, 'select number from kept')).length, 1);
    });

    test('two such DATA_DIRs have two databases', async (t) => {
      const setting = behindRoot(t);
      const other = { ...setting, dataDir: `${setting.dataDir}-2` };
      assert.notEqual(await startOnce(t, setting), await startOnce(t, other));
    });

    test('the folder of a test in the system folder is removed, and no other folder', async (t) => {
      const setting = behindRoot(t);
      const other = { ...setting, dataDir: `${setting.dataDir}-2` };
      const kept = await startOnce(t, other);
      const removed = await startOnce(t, setting);
      await removeSystemHome(setting.dataDir, setting.systemDir);
      assert.deepEqual([existsSync(dirname(removed)), existsSync(kept)], [false, true]);
      writeFileSync(join(dirname(kept), 'data-dir'), '/another/data\n');
      await removeSystemHome(other.dataDir, setting.systemDir);
      assert.ok(existsSync(kept), 'a folder that names another DATA_DIR stays');
    });

    test('a moved DATA_DIR keeps its database; a copied one is refused instead of sharing it', async (t) => {
      const setting = behindRoot(t);
      const cluster = await startOnce(t, setting);
      const moved = { ...setting, dataDir: `${setting.dataDir}-moved` };
      renameSync(setting.dataDir, moved.dataDir);
      assert.equal(await startOnce(t, moved), cluster);
      const copied = { ...setting, dataDir: `${setting.dataDir}-copied` };
      cpSync(moved.dataDir, copied.dataDir, { recursive: true });
      await refuses(
        copied,
        /-copied is a copy of .*-moved .*remove .*postgres\.location, or set DATABASE_URL$/,
      );
    });

    test('a database missing from the system folder is an error, and not replaced by an empty one', async (t) => {
      const setting = behindRoot(t);
      const cluster = await startOnce(t, setting);
      rmSync(cluster, { recursive: true });
      await refuses(
        setting,
        /is gone from .*restore it there, or remove .*postgres\.location to start with an empty one$/,
      );
      rmSync(setting.systemDir, { recursive: true });
      await refuses(setting, /is gone from/);
    });

    test('a new DATA_DIR does not silently use the database of a removed one', async (t) => {
      const setting = behindRoot(t);
      await startOnce(t, setting);
      rmSync(setting.dataDir, { recursive: true });
      await refuses(setting, /holds the database of an earlier DATA_DIR/);
    });

    test('a pointer to a path outside the system folder is refused', async (t) => {
      const setting = behindRoot(t);
      const cluster = await startOnce(t, setting);
      const { systemDir } = behindRoot(t);
      await refuses({ ...setting, systemDir }, /does not name a folder in/);
      assert.ok(existsSync(cluster));
    });

    test('a system folder that others can write, or that root does not own, is not used', async (t) => {
      const setting = behindRoot(t);
      mkdirSync(setting.systemDir);
      chmodSync(setting.systemDir, 0o777);
      await refuses(setting, /must be owned by root and writable only by root/);
      chmodSync(setting.systemDir, 0o755);
      chownSync(setting.systemDir, 65534, 65534);
      await refuses(setting, /must be owned by root/);
      rmSync(setting.systemDir, { recursive: true });
      symlinkSync(temporaryFolder(t), setting.systemDir);
      await refuses(setting, /must be owned by root/);
    });

    test('binaries inside a folder that only root can enter run from a copy that only root can write', async (t) => {
      const closed = join(temporaryFolder(t), 'closed');
      mkdirSync(closed, { mode: 0o700 });
      const nativeDir = copyBinaries(closed, 'with links');
      const dataDir = join(temporaryFolder(t), 'data');
      const server = await start(t, { dataDir, nativeDir });
      const copies = (): string[] => readdirSync(dataDir).filter((name) => name.startsWith('postgres-bin-'));
      const [copy = ''] = copies();
      const command = readFileSync(`/proc/${postmasterPid(server.cluster)}/cmdline`, 'utf8').split('\0');
      assert.equal(command[0], join(dataDir, copy, 'bin', 'postgres'));
      const { uid, mode } = statSync(join(dataDir, copy, 'bin'));
      assert.deepEqual([uid, mode & 0o777], [0, 0o755]);
      await server.stop();
      const { birthtimeMs } = statSync(join(dataDir, copy));
      await (await start(t, { dataDir, nativeDir })).stop();
      assert.deepEqual(copies(), [copy]);
      assert.equal(statSync(join(dataDir, copy)).birthtimeMs, birthtimeMs);
    });

    test('a copy that is incomplete, or that another user could have made, is replaced', async (t) => {
      const closed = join(temporaryFolder(t), 'closed');
      mkdirSync(closed, { mode: 0o700 });
      const nativeDir = copyBinaries(closed, 'without links');
      const dataDir = join(temporaryFolder(t), 'data');
      const restart = async (): Promise<void> => (await start(t, { dataDir, nativeDir })).stop();
      await restart();
      const copy = join(dataDir, readdirSync(dataDir).find((name) => name.startsWith('postgres-bin-')) ?? '');
      const spoils = [
        () => rmSync(join(copy, 'share'), { recursive: true }),
        () => chmodSync(copy, 0o777),
        () => chownSync(copy, 65534, 65534),
      ];
      for (const spoil of spoils) {
        const { birthtimeMs } = statSync(copy);
        spoil();
        await restart();
        const made = statSync(copy);
        assert.ok(made.birthtimeMs > birthtimeMs);
        assert.deepEqual([made.uid, made.mode & 0o777], [0, 0o755]);
        assert.ok(existsSync(join(copy, 'share')));
      }
    });

    test('root does not run programs from a DATA_DIR of another user', async (t) => {
      const setting = behindRoot(t);
      const closed = dirname(setting.dataDir);
      const nativeDir = copyBinaries(closed, 'with links');
      const dataDir = join(temporaryFolder(t), 'data');
      mkdirSync(dataDir);
      chownSync(dataDir, 65534, 65534);
      const server = await start(t, { dataDir, nativeDir, systemDir: setting.systemDir });
      assert.equal(dirname(server.cluster), dataDir);
      const command = readFileSync(`/proc/${postmasterPid(server.cluster)}/cmdline`, 'utf8').split('\0');
      assert.ok(command[0]?.startsWith(`${setting.systemDir}/`), command[0]);
    });
  });
}
