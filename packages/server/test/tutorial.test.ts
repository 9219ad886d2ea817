// The tutorial does what it says: its blocks run as they stand, in one shell, against a real service.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ADMIN, startTestService } from './harness.ts';

test('every block of the tutorial runs, and every status is the one it names', async (t) => {
  const service = await startTestService(t);
  const text = await readFile(new URL('../../../docs/tutorial.md', import.meta.url), 'utf8');
  const blocks = [...text.matchAll(/```sh\n(.*?)```/gs)].map((match) => match[1] as string);
  assert.ok(blocks.length > 10, 'the tutorial has lost its blocks');

  // Its cookie jars go with this folder.
  const folder = await mkdtemp(join(tmpdir(), 'castellan-tutorial-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const { code, output } = await runShell(blocks.join('\n'), {
    TMPDIR: folder,
    BASE: service.url,
    ADMIN_EMAIL: ADMIN.email,
    ADMIN_PASSWORD: ADMIN.password,
  });
  assert.equal(code, 0, output);
  assert.match(output, /the same Ernest/);
  assert.match(output, /now she may: .*articles\.publish/);
  assert.match(output, /late; it says: Writes what happened/);
  assert.match(output, /by admin@example\.com: /);
  assert.match(output, /groups deleted: 4/);
});

function runShell(
  script: string,
  environment: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const shell = spawn('bash', ['-euo', 'pipefail'], {
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '/', ...environment },
    });
    let output = '';
    shell.stdout.on('data', (data) => {
      output += data;
    });
    shell.stderr.on('data', (data) => {
      output += data;
    });
    shell.on('close', (code) => resolve({ code, output }));
    shell.stdin.end(script);
  });
}
