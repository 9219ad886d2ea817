/**
 * Tests that every failure gives one line that says what to do. They must not leave mounts behind.
 */
import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { copyBinaries, settings, startService } from '../test/fixture.ts';
import { type EmbeddedOptions, EmbeddedPostgresError, startEmbeddedPostgres } from './index.ts';
import { atEnd, query, root, smallDisk, temporaryFolder } from './testing.ts';

async function refuses(options: EmbeddedOptions, message: RegExp): Promise<void> {
  await assert.rejects(startEmbeddedPostgres({ settings, ...options }), (error) => {
    assert.ok(error instanceof EmbeddedPostgresError, String(error));
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });
}

/** Creates a folder with a bin/postgres of this content. */
function fakeBinaries(t: TestContext, content: string): string {
  const folder = join(temporaryFolder(t), 'native');
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'bin', 'postgres'), content);
  chmodSync(join(folder, 'bin', 'postgres'), 0o755);
  return folder;
}

const dataDirOf = (t: TestContext): string => join(temporaryFolder(t), 'data');

describe('binaries', () => {
  test('that are not installed', async (t) => {
    await refuses(
      { dataDir: dataDirOf(t), nativeDir: '/does/not/exist' },
      /no PostgreSQL in \/does\/not\/exist: install again, or set DATABASE_URL$/,
    );
  });

  test('whose loader is missing, such as glibc on Alpine', async (t) => {
    const nativeDir = fakeBinaries(t, '#!/lib/ld-of-another-libc.so.1\n');
    await refuses(
      { dataDir: dataDirOf(t), nativeDir },
      /does not run on this system \(its loader is missing.*Alpine\): set DATABASE_URL$/,
    );
  });

  test('for another kind of processor', async (t) => {
    const nativeDir = fakeBinaries(t, `\x7fELF\x02\x01\x01${'\0'.repeat(9)}\x02\0\xf3\0${'\0'.repeat(60)}`);
    await refuses({ dataDir: dataDirOf(t), nativeDir }, /does not run on this system .*set DATABASE_URL$/);
  });

  test('for a newer glibc', async (t) => {
    const nativeDir = fakeBinaries(
      t,
      '#!/bin/sh\necho "postgres: version \\`GLIBC_9.9\' not found" >&2\nexit 1\n',
    );
    await refuses({ dataDir: dataDirOf(t), nativeDir }, /GLIBC_9\.9' not found.*set DATABASE_URL$/);
  });

  test('that fail do not keep the service alive', async (t) => {
    const nativeDir = fakeBinaries(t, '#!/lib/ld-of-another-libc.so.1\n');
    const service = startService(t, { dataDir: dataDirOf(t), nativeDir });
    await service.heard('failed');
    await service.ended();
  });

  test('leave no incomplete cluster behind', async (t) => {
    const dataDir = dataDirOf(t);
    await refuses({ dataDir, nativeDir: fakeBinaries(t, '#!/bin/sh\nexit 1\n') }, /does not run/);
    assert.deepEqual(readdirSync(dataDir), []);
  });
});

describe('an install without scripts, which omits the links of the libraries', () => {
  test('is completed in place', async (t) => {
    const nativeDir = copyBinaries(temporaryFolder(t), 'without links');
    const dataDir = dataDirOf(t);
    const server = await startEmbeddedPostgres({ dataDir, nativeDir, settings });
    atEnd(t, () => server.stop());
    assert.ok(existsSync(join(nativeDir, 'lib', 'libicui18n.so.60')));
    assert.deepEqual(
      readdirSync(dataDir).filter((name) => name.startsWith('postgres-bin-')),
      [],
    );
  });

  test('is completed in a copy if its folder is not writable', async (t) => {
    const nativeDir = copyBinaries(temporaryFolder(t), 'without links');
    chmodSync(join(nativeDir, 'lib'), 0o555);
    atEnd(t, () => chmodSync(join(nativeDir, 'lib'), 0o755));
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o777);
    const dataDir = join(folder, 'data');
    // As an ordinary user, because root can write everywhere.
    const service = startService(t, { dataDir, nativeDir, settings }, root ? { uid: 65534 } : {});
    const { connection } = await service.ready();
    assert.equal((await query(connection, 'select 1 as one')).length, 1);
    assert.ok(!existsSync(join(nativeDir, 'lib', 'libicui18n.so.60')));
    assert.equal(readdirSync(dataDir).filter((name) => name.startsWith('postgres-bin-')).length, 1);
    await service.stop();
  });
});

describe('a folder', () => {
  test('that is a file', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'data'), '');
    await refuses({ dataDir: join(folder, 'data') }, /data is not a folder.*set DATA_DIR to another folder$/);
    await refuses(
      { dataDir: join(folder, 'data', 'below') },
      /is not a folder, or a part of its path is a file/,
    );
  });

  test('in which the cluster would be a file', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'postgres'), '');
    await refuses({ dataDir: folder }, /postgres is not a folder/);
  });

  test('in which another folder has the name of the cluster, which stays unchanged', async (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'postgres'));
    writeFileSync(join(folder, 'postgres', 'mine'), '');
    await refuses({ dataDir: folder }, /postgres exists and is not a PostgreSQL cluster: move it/);
    assert.deepEqual(readdirSync(folder), ['postgres']);
    rmSync(join(folder, 'postgres', 'mine'));
    const server = await startEmbeddedPostgres({ dataDir: folder, settings });
    atEnd(t, () => server.stop());
  });

  test('that cannot be written', async (t) => {
    const folder = temporaryFolder(t);
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir, { mode: 0o555 });
    const how = root ? { uid: 65534 } : {};
    for (const refused of [dataDir, join(dataDir, 'below')]) {
      const { name, message } = await startService(t, { dataDir: refused, settings }, how).heard('failed');
      assert.equal(name, 'EmbeddedPostgresError');
      assert.match(
        message ?? '',
        /cannot be written by this user: give it write access, or set DATA_DIR to another folder$/,
      );
    }
  });

  test('with a cluster of another major version', async (t) => {
    const dataDir = dataDirOf(t);
    const server = await startEmbeddedPostgres({ dataDir, settings });
    await server.stop();
    writeFileSync(join(server.cluster, 'PG_VERSION'), '17\n');
    await refuses(
      { dataDir },
      /was created by PostgreSQL 17, but this is 18\.\d+: .*dump and restore, or set DATABASE_URL$/,
    );
  });

  test('whose cluster is damaged', async (t) => {
    const dataDir = dataDirOf(t);
    const server = await startEmbeddedPostgres({ dataDir, settings });
    await server.stop();
    rmSync(join(server.cluster, 'global', 'pg_control'));
    await refuses({ dataDir }, /PostgreSQL failed in .*pg_control.*or set DATABASE_URL$/);
  });
});

test('an unknown PostgreSQL setting is named in the error', async (t) => {
  await refuses(
    { dataDir: dataDirOf(t), settings: { ...settings, no_such_thing: '1' } },
    /unrecognized configuration parameter "no_such_thing"/,
  );
});

if (root) {
  describe('a full disk', () => {
    const full = /the disk that holds .* is full: free some space there, or point DATA_DIR at another disk$/;

    test('at the first start, which works once there is room', async (t) => {
      const folder = temporaryFolder(t);
      smallDisk(t, folder, '10m');
      await refuses({ dataDir: join(folder, 'data') }, full);
      assert.deepEqual(readdirSync(join(folder, 'data')), []);
    });

    test('at a later start', async (t) => {
      const folder = temporaryFolder(t);
      smallDisk(t, folder, '120m');
      const dataDir = join(folder, 'data');
      const server = await startEmbeddedPostgres({ dataDir, settings });
      await query(server.connection, 'create table kept as select 7 as number');
      await server.stop();
      const filler = join(folder, 'filler');
      assert.throws(() => {
        for (let size = 0; size < 200; size += 1)
          writeFileSync(filler, Buffer.alloc(1024 * 1024), { flag: 'a' });
      }, /ENOSPC/);
      assert.throws(() => {
        for (;;) writeFileSync(filler, Buffer.alloc(4096), { flag: 'a' });
      }, /ENOSPC/);
      await refuses({ dataDir }, full);
      rmSync(filler);
      const again = await startEmbeddedPostgres({ dataDir, settings });
      atEnd(t, () => again.stop());
      assert.equal((await query(again.connection, 'select number from kept')).length, 1);
    });
  });
}
