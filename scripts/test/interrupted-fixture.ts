// A test that never ends and leaves a database, a folder, a process and, as root, a mounted disk behind: for the test that
// interrupts a run.
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createScratchDatabase } from '@castellan/testing/scratch-database';

test('never ends', async () => {
  const { url } = await createScratchDatabase({ migrated: true });
  const cwd = mkdtempSync(join(tmpdir(), 'left-behind-'));
  const disk = mkdtempSync(join(tmpdir(), 'left-disk-'));
  // Only root may.
  spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'tmpfs', disk]);
  // Like a service that a test started: in a separate process group, without the environment of the run.
  const child = spawn('sleep', ['600'], {
    cwd,
    env: { PATH: process.env.PATH },
    detached: true,
    stdio: 'ignore',
  });
  process.stderr.write(`under way ${JSON.stringify({ url, pid: child.pid })}\n`);
  await new Promise((resolve) => setTimeout(resolve, 600_000));
});
