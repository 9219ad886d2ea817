// Does what `npx castellan` does for a user with an empty folder: packs the project, installs the package there, starts it
// twice. The packages that it needs are taken from node_modules, at the versions of its npm-shrinkwrap.json, and no others.
import { execFileSync } from 'node:child_process';
import { copyFileSync, linkSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { referencePages, say, startTwice } from './start-twice.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Files that a package of a service must not hold, whatever it is built from. */
const strays =
  /(^|\/)(test|\.ci|\.git|\.github|\.env[^/]*|data|bench)\/|\.(test\.\w+|ts|tsx|map|log|pem|key|eml)$/;

/** Copies a folder without its node_modules. Links, where the file system allows it: nothing writes to the files. */
function place(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory() && entry.name !== 'node_modules') place(source, target);
    if (!entry.isFile()) continue;
    try {
      linkSync(source, target);
    } catch {
      copyFileSync(source, target);
    }
  }
}

const folder = await mkdtemp(join(tmpdir(), 'castellan-smoke-pack-'));
try {
  const pack = [join(root, 'scripts/pack/pack.ts'), `--to=${folder}`];
  const archive = execFileSync(process.execPath, ['--disable-warning=ExperimentalWarning', ...pack], {
    encoding: 'utf8',
  }).trim();
  const names = execFileSync('tar', ['-tzf', archive], { encoding: 'utf8' }).trim().split('\n');
  const found = names.filter((name) => strays.test(name));
  if (found.length > 0) throw new Error(`the package holds what it must not: ${found.join(', ')}`);
  say(`${names.length} files packed`);

  const installed = join(folder, 'empty/node_modules/castellan');
  mkdirSync(installed, { recursive: true });
  execFileSync('tar', ['-xzf', archive, '-C', installed, '--strip-components=1']);
  // npm refuses a lock that does not fit the manifest, as `npm ci` would.
  execFileSync('npm', ['ls', '--package-lock-only', '--all', '--silent'], { cwd: installed });
  const { packages } = JSON.parse(readFileSync(join(installed, 'npm-shrinkwrap.json'), 'utf8'));
  for (const [path, { optional, version }] of Object.entries<{ optional?: boolean; version: string }>(
    packages,
  )) {
    if (path === '') continue;
    const here = readManifest(join(root, path));
    if (here === null && optional) continue;
    if (here?.version !== version)
      throw new Error(`${path} is ${here?.version}, the package locks ${version}`);
    place(join(root, path), join(installed, path));
  }
  const bin = join(dirname(installed), '.bin');
  mkdirSync(bin);
  symlinkSync('../castellan/packages/cli/castellan.mjs', join(bin, 'castellan'));

  const empty = dirname(dirname(installed));
  const version = execFileSync('npx', ['castellan', '--version'], { cwd: empty, encoding: 'utf8' });
  if (version !== `castellan ${packages[''].version}\n`) throw new Error(`--version printed ${version}`);
  // Not by npx, whose shell ends with SIGINT instead of the program's exit code.
  await startTwice(empty, [join(bin, 'castellan')], ['/login', ...referencePages]);
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Null where the package is not installed, as those of other platforms. */
function readManifest(path: string): { version: string } | null {
  try {
    return JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  } catch {
    return null;
  }
}
