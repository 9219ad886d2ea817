// The service starts from any folder: its own files are found by path, not by the percent-encoded path of a URL.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { atEnd, temporaryFolder, until } from '@castellan/embedded-postgres/testing';
import { TEST_SECRET_KEY } from '@castellan/testing/harness';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

test('the service starts from a folder whose name has a space and a non-ASCII letter', async (t) => {
  const folder = join(temporaryFolder(t), 'my Castéllan');
  const server = join(folder, 'packages/server');
  for (const part of [
    'src',
    'migrations',
    'package.json',
    'check-node.mjs',
    'no-debugger.mjs',
    'node-version.mjs',
    'bundles.mjs',
    'program.mjs',
    'thread-pool.mjs',
    'start.mjs',
  ])
    await cp(join(root, 'packages/server', part), join(server, part), { recursive: true });
  await cp(join(root, 'package.json'), join(folder, 'package.json'));
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  const child = spawn(process.execPath, [join(server, 'start.mjs')], {
    env: {
      PORT: '0',
      WORKERS: '1',
      // Nothing listens there: the service listens before it reaches its database.
      DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
      SECRET_KEY: TEST_SECRET_KEY,
      DATA_DIR: join(folder, 'data'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  atEnd(t, () => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  await until('it listens or ends', () => output.includes('"msg":"listening"') || child.exitCode !== null);
  assert.equal(child.exitCode, null, output);
});
