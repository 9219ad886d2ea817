import assert from 'node:assert/strict';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { findCluster } from '../../server/src/platform/db/embedded/location.ts';
import { createClient } from '../../server/test/client.ts';
import { eventually, PASSWORD } from '../../server/test/harness.ts';
import { castellan, launch } from './castellan.ts';

let folder: string;
let dataDir: string;
let environment: Record<string, string>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'castellan-cli-'));
  // The user that runs PostgreSQL for root has to get in.
  await chmod(folder, 0o755);
  dataDir = join(folder, 'data');
  environment = { DATA_DIR: dataDir, PORT: '0', LOG_LEVEL: 'warn' };
});
after(() => rm(folder, { recursive: true, force: true }));

const isAtRest = async (): Promise<boolean> => {
  const cluster = findCluster({ dataDir, systemDir: '/var/lib/castellan', log: () => undefined });
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

test('the embedded database: made by migrate alone, joined while the service runs, left as it was found', async () => {
  const early = await castellan(['rotate-keys'], environment);
  assert.equal(early.code, 1);
  assert.match(early.err, /^castellan: There is no database in .+ yet\. .+\n$/);
  assert.deepEqual(await readdir(folder), [], 'a command that needs a database makes none');

  const migrated = await castellan(['migrate'], environment);
  assert.deepEqual([migrated.code, migrated.err], [0, '']);
  assert.ok(await isAtRest(), 'migrate stops what it started');

  assert.equal((await castellan(superuser('one@example.com'), environment, PASSWORD)).code, 0);
  assert.ok(await isAtRest(), 'so does a command after it');

  const service = launch(['serve'], environment);
  try {
    const url = await eventually(
      () => (/Ready\./.test(service.out()) ? /listens on (\S+)/.exec(service.out())?.[1] : undefined),
      'the service',
    );
    assert.equal((await castellan(superuser('two@example.com'), environment, PASSWORD)).code, 0);
    assert.equal((await castellan(['rotate-keys'], environment)).code, 0);
    assert.ok(!(await isAtRest()), 'a command leaves a database that others use');
    for (const email of ['one@example.com', 'two@example.com'])
      assert.equal((await createClient(url).login({ email, password: PASSWORD })).status, 200);
  } finally {
    // A Ctrl-C under npm reaches the process twice: from the terminal, and handed on.
    service.child.kill('SIGINT');
    service.child.kill('SIGINT');
  }
  assert.equal((await service.ended).code, 0);
  assert.ok(await isAtRest());
});
