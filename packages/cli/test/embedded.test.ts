import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { clusterOf } from '@castellan/embedded-postgres/testing';
import { createClient } from '@castellan/testing/client';
import { eventually, PASSWORD } from '@castellan/testing/harness';
import { castellan, launch } from './castellan.ts';

let folder: string;
let dataDir: string;
let environment: Record<string, string>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-cli-'));
  // If the test runs as root, PostgreSQL runs as another user, which needs access.
  await chmod(folder, 0o755);
  dataDir = join(folder, 'data');
  environment = { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn', SHUTDOWN_GRACE_SECONDS: '0' };
});
after(() => rm(folder, { recursive: true, force: true }));

const isStopped = async (): Promise<boolean> => {
  const cluster = clusterOf(dataDir);
  return cluster !== undefined && !(await readdir(cluster)).includes('postmaster.pid');
};

const superuser = (email: string): string[] => [
  'create-superuser',
  '--email',
  email,
  '--first-name',
  'Ada',
  '--last-name',
  'Byron',
];

test('the embedded database: created only by migrate, shared while the service runs, left as it was found', async () => {
  const early = await castellan(['rotate-keys'], environment);
  assert.equal(early.code, 1);
  assert.match(early.err, /^castellan: There is no database in .+ yet\. .+\n$/);
  assert.deepEqual(await readdir(folder), [], 'a command that needs a database creates none');

  const migrated = await castellan(['migrate'], environment);
  assert.deepEqual([migrated.code, migrated.err], [0, '']);
  assert.ok(await isStopped(), 'migrate stops what it started');

  assert.equal((await castellan(superuser('one@example.com'), environment, PASSWORD)).code, 0);
  assert.ok(await isStopped(), 'so does a command after it');

  const service = launch(['serve'], environment);
  try {
    const url = await eventually(() => {
      if (!service.out().includes('"msg":"ready"}\n')) return undefined;
      return /"url":"([^"]+)","msg":"listening"/.exec(service.out())?.[1];
    }, 'the service');
    assert.equal((await castellan(superuser('two@example.com'), environment, PASSWORD)).code, 0);
    assert.equal((await castellan(['rotate-keys'], environment)).code, 0);
    assert.ok(!(await isStopped()), 'a command does not stop a database that others use');
    for (const email of ['one@example.com', 'two@example.com'])
      assert.equal((await createClient(url).login({ email, password: PASSWORD })).status, 200);
  } finally {
    // Ctrl-C under npm reaches the process twice: from the terminal and from npm.
    service.child.kill('SIGINT');
    service.child.kill('SIGINT');
  }
  assert.equal((await service.ended).code, 0);
  assert.ok(await isStopped());
});
