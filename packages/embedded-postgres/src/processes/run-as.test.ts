/**
 * Tests under which user PostgreSQL runs on different systems. As root, they replace /etc/passwd and unshare in a mount
 * namespace of the service. They must not change files of this system.
 */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { type Service, settings, startService } from '../../test/fixture.ts';
import { isStopped, postmasterPid, query, root, temporaryFolder } from '../testing.ts';
import { nameOfOwner, run, waysToRun } from './run-as.ts';

const strangerUid = 54321;
const rootLine = 'root:x:0:0:root:/root:/bin/sh';
const overflowLine = 'nfsnobody:x:65534:65534::/:/bin/false';
const nobodyLine = 'nobody:x:65534:65534::/:/bin/false';

function statusOf(pid: number, field: string): string {
  return (
    new RegExp(`^${field}:[ \\t]*(.*)$`, 'm')
      .exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
      ?.trim() ?? ''
  );
}

/** Starts the service on a system with replaced files (path → content). Needs root. */
function startOn(t: TestContext, files: Record<string, string>, options: object, uid?: number): Service {
  const folder = temporaryFolder(t);
  const mounts = Object.entries(files).map(([path, content], index) => {
    const file = join(folder, String(index));
    writeFileSync(file, content);
    chmodSync(file, 0o644);
    return `mount --bind ${file} ${path}`;
  });
  const drop = uid === undefined ? '' : `setpriv --reuid ${uid} --regid ${uid} --clear-groups`;
  const script = [...mounts, `exec ${drop} "$@"`].join(' && ');
  return startService(t, options, { command: ['unshare', '--mount', 'sh', '-c', script, 'sh'] });
}

/** Creates a folder that belongs to a user without an entry in /etc/passwd. */
function folderOf(t: TestContext, uid: number): string {
  const dataDir = join(temporaryFolder(t), 'data');
  mkdirSync(dataDir, { mode: 0o700 });
  chownSync(dataDir, uid, uid);
  return dataDir;
}

test('a program gets a minimal environment, and its failure is returned, not thrown', async () => {
  const [as] = waysToRun(process.geteuid?.());
  assert.ok(as);
  const told = await run(as, '/bin/sh', ['-c', 'env; exit 3'], []);
  assert.equal(told.ok, false);
  assert.match(told.output, /LC_ALL=C/);
  assert.doesNotMatch(told.output, /npm_|NODE_/);
  assert.equal((await run(as, '/does/not/exist', [], [])).code, 'ENOENT');
});

if (root) {
  describe('as root', () => {
    test('the server runs as an unprivileged user without the groups of root', async (t) => {
      const dataDir = join(temporaryFolder(t), 'data');
      const service = startService(
        t,
        { dataDir, settings },
        { command: ['setpriv', '--groups', '0,4,24', '--'] },
      );
      const { cluster, description } = await service.ready();
      const uid = statSync(cluster).uid;
      assert.notEqual(uid, 0);
      assert.ok(description.includes(`as ${nameOfOwner(uid)}`));
      assert.equal(statusOf(postmasterPid(cluster), 'Uid'), Array(4).fill(uid).join('\t'));
      assert.equal(statusOf(postmasterPid(cluster), 'Groups'), '');
      assert.match(statusOf(postmasterPid(cluster), 'CapEff'), /^0+$/);
      await service.stop();
      assert.ok(isStopped(cluster));
    });

    test('a system without a user postgres uses nobody', async (t) => {
      const dataDir = join(temporaryFolder(t), 'data');
      const service = startOn(t, { '/etc/passwd': `${rootLine}\n${nobodyLine}\n` }, { dataDir, settings });
      const { cluster, description, connection } = await service.ready();
      assert.match(description, /as user nobody,/);
      assert.equal(statSync(cluster).uid, 65534);
      assert.equal((await query(connection, 'select 1 as one')).length, 1);
      await service.stop();
    });

    test('a system with neither uses a user namespace, logs it, and does so again at the next start', async (t) => {
      const dataDir = join(temporaryFolder(t), 'data');
      const files = { '/etc/passwd': `${rootLine}\n${overflowLine}\n` };
      const service = startOn(t, files, { dataDir, settings });
      const { cluster, description, connection } = await service.ready();
      assert.match(description, /as root in a user namespace/);
      assert.ok(service.told.some((entry) => entry.line?.includes('would be safer')));
      await query(connection, 'create table kept as select 7 as number');
      assert.notEqual(
        readlinkSync(`/proc/${postmasterPid(cluster)}/ns/user`),
        readlinkSync('/proc/self/ns/user'),
      );
      assert.match(statusOf(postmasterPid(cluster), 'CapEff'), /^0+$/);
      await service.kill();
      process.kill(postmasterPid(cluster), 'SIGKILL');
      const next = startService(t, { dataDir, settings });
      assert.deepEqual(await query((await next.ready()).connection, 'select number from kept'), [
        { number: 7 },
      ]);
      await next.stop();
      assert.ok(isStopped(cluster));
    });

    test('a system with neither and without user namespaces gets an error that says what to do', async (t) => {
      const dataDir = join(temporaryFolder(t), 'data');
      const files = { '/etc/passwd': `${rootLine}\n`, '/usr/bin/unshare': '' };
      const { name, message } = await startOn(t, files, {
        dataDir,
        settings,
        systemDir: join(dataDir, 'system'),
      }).heard('failed');
      assert.equal(name, 'EmbeddedPostgresError');
      assert.match(
        message ?? '',
        /refuses to run as root.*start the service as another user, or set DATABASE_URL$/,
      );
    });

    test('a cluster that an ordinary user created is run as that user', async (t) => {
      const dataDir = folderOf(t, 65534);
      const service = startService(t, { dataDir, settings }, { uid: 65534 });
      assert.match((await service.ready()).description, /as user nobody,/);
      await service.stop();
      const again = startService(t, { dataDir, settings });
      const { cluster } = await again.ready();
      assert.match(statusOf(postmasterPid(cluster), 'Uid'), /^65534\b/);
      await again.stop();
      const third = startService(t, { dataDir, settings }, { uid: 65534 });
      await third.ready();
      await third.stop();
    });

    test('a cluster of another user is refused with an error that names its owner', async (t) => {
      const dataDir = folderOf(t, 65534);
      chmodSync(dataDir, 0o777);
      const owner = startService(t, { dataDir, settings });
      await owner.ready();
      await owner.stop();
      const { message } = await startService(t, { dataDir, settings }, { uid: strangerUid }).heard('failed');
      assert.match(
        message ?? '',
        /\/postgres belongs to user \w+: start the service as its owner, or as root$/,
      );
    });
  });

  describe('as a user without an entry in /etc/passwd', () => {
    test('the cluster is created in a user namespace and runs as that user', async (t) => {
      const dataDir = folderOf(t, strangerUid);
      const service = startService(t, { dataDir, settings }, { uid: strangerUid });
      const { cluster, description, connection } = await service.ready();
      assert.match(description, /as user 54321,/);
      assert.match(statusOf(postmasterPid(cluster), 'Uid'), /^54321\b/);
      assert.equal((await query(connection, 'select 1 as one')).length, 1);
      await service.stop();
      assert.ok(isStopped(cluster));
    });

    test('without user namespaces, the error says what to do', async (t) => {
      const dataDir = folderOf(t, strangerUid);
      const service = startOn(t, { '/usr/bin/unshare': '' }, { dataDir, settings }, strangerUid);
      const { name, message } = await service.heard('failed');
      assert.equal(name, 'EmbeddedPostgresError');
      assert.match(message ?? '', /^user 54321 has no entry in \/etc\/passwd.*set DATABASE_URL$/);
    });
  });
} else {
  test('an ordinary user runs the server itself', async (t) => {
    const service = startService(t, { dataDir: join(temporaryFolder(t), 'data'), settings });
    const { cluster } = await service.ready();
    assert.equal(statSync(cluster).uid, process.geteuid?.());
    assert.equal(statusOf(postmasterPid(cluster), 'Uid').split('\t')[0], String(process.geteuid?.()));
    await service.stop();
  });

  test('an ordinary user can run it only as that user', () => {
    assert.deepEqual(
      waysToRun().map((as) => as.fileOwner),
      [process.geteuid?.()],
    );
    assert.deepEqual(waysToRun(strangerUid), []);
  });
}
