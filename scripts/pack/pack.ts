// Makes dist/castellan-<version>.tgz, the package that `npx castellan` and the container image install.
//   npm run pack                    # or: node scripts/pack/pack.ts --to=<folder>
// It must contain nothing but what runs: no tests, no sources, no tools.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildConsole, canBuild, stateOfBuild } from '@castellan/console/build';
import { packCode } from './packed-code.ts';
import { directDependencies, type Lock, shrinkwrap } from './shrinkwrap.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const program = 'packages/cli/castellan.mjs';

/** What is read at run time and is not code. The docs are those that messages and `help` name. */
const assets = [
  'LICENSE',
  'README.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'docs/*.md',
  'docs/{get-started,integrate,administer,operate}/*.md',
  'deploy/{gateways,systemd}/*',
  'packages/console/dist/**',
  'packages/server/migrations/*',
  'packages/{cli,contract,embedded-postgres,openapi,server}/src/**/*.{css,html,js,svg,txt}',
];

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`;

/** Writes the contents of the package into `folder`. */
function stage(folder: string): void {
  const { name, version, description, license, type } = JSON.parse(read('package.json'));
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  const code = packCode(root, program);
  for (const [path, text] of code) write(path, text);
  chmodSync(join(folder, program), 0o755);
  for (const path of globSync(assets, { cwd: root }))
    cpSync(join(root, path), join(folder, path), { recursive: true });

  const workspaces = [
    ...new Set([...code.keys()].map((path) => path.split('/').slice(0, 2).join('/'))),
  ].sort();
  for (const path of workspaces) write(`${path}/package.json`, json({ name: nameOf(path), version, type }));
  const manifest = {
    name,
    version,
    description,
    license,
    type,
    engines: { node: '>=20' },
    bin: { castellan: program },
  };
  const lock: Lock = JSON.parse(read('package-lock.json')).packages;
  const direct = directDependencies(lock, workspaces);
  write('package.json', json({ ...manifest, ...direct }));
  const { type: _, description: __, ...locked } = manifest;
  const packages = shrinkwrap(lock, locked, direct);
  write('npm-shrinkwrap.json', json({ name, version, lockfileVersion: 3, requires: true, packages }));
}

const nameOf = (workspace: string): string => JSON.parse(read(`${workspace}/package.json`)).name;

/** Packs the project. Returns the path of the file. Rejects if the console cannot be built. */
async function pack(to: string): Promise<string> {
  if (stateOfBuild() !== 'current') {
    if (!canBuild()) throw new Error('The console is not built. Run npm ci, which brings its tools.');
    await buildConsole();
  }
  const folder = mkdtempSync(join(tmpdir(), 'castellan-pack-'));
  try {
    stage(folder);
    mkdirSync(to, { recursive: true });
    const made = execFileSync('npm', ['pack', '--json', `--pack-destination=${to}`], {
      cwd: folder,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return join(to, JSON.parse(made)[0].filename);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const option = process.argv.find((one) => one.startsWith('--to='))?.slice('--to='.length);
process.stdout.write(`${await pack(option ?? join(root, 'dist'))}\n`);
