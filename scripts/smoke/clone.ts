// Does what a new user does: clones the project, installs it without scripts or development packages, starts it, stops it
// with Ctrl-C, starts it again and finds its data. The name of the folder has a space and a non-ASCII letter. The service
// must use nothing of the checkout but its commits.
import { execFileSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referencePages, startTwice } from './start-twice.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = await mkdtemp(join(tmpdir(), 'castellan-smoke-'));
const clone = join(folder, 'my Castéllan');
try {
  execFileSync('git', ['clone', '--quiet', '--no-hardlinks', root, clone], { stdio: 'inherit' });
  execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: clone,
    stdio: 'inherit',
  });
  // Without its development packages, the console cannot be built.
  await startTwice(clone, ['npm', 'start'], referencePages);
} finally {
  await rm(folder, { recursive: true, force: true });
}
