// Finds the browser for the page tests. It must not download anything: npm installs the packed Chromium.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, globSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGE = '@sparticuz/chromium';

const usualPlaces = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
  '/Applications/Chromium.app/Contents/MacOS/Chromium',
];

export type Places = { chromium?: string; usual?: readonly string[]; packed?: boolean };

/**
 * Returns the path of a Chromium: `CHROMIUM` if set, else the packed one (Linux x64), else an installed one. The packed
 * one is a headless shell: a page takes a third of the CPU time that it takes in a complete browser. Returns null when
 * there is none. Throws when `CHROMIUM` cannot be run.
 */
export async function findBrowser({
  chromium = process.env.CHROMIUM ?? '',
  usual = usualPlaces,
  packed = process.platform === 'linux' && process.arch === 'x64',
}: Places = {}): Promise<string | null> {
  if (chromium) {
    if (!isExecutable(chromium)) throw new Error(`CHROMIUM names ${chromium}, which cannot be run.`);
    return chromium;
  }
  const unpacked = packed ? await unpackChromium() : null;
  return unpacked ?? usual.find((path) => isExecutable(path) && starts(path)) ?? null;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// An executable of a distribution may only print how to install the browser.
const starts = (path: string): boolean => spawnSync(path, ['--version'], { stdio: 'ignore' }).status === 0;

/** Returns a program that starts the packed Chromium, unpacked once per version; null if it does not run. */
async function unpackChromium(): Promise<string | null> {
  const home = join(root, 'node_modules', PACKAGE);
  if (!existsSync(home)) return null;
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8'));
  const cache = join(root, 'node_modules/.cache');
  const folder = join(cache, `chromium-${version}`);
  const program = join(folder, 'start');
  if (!existsSync(program)) {
    await mkdir(cache, { recursive: true });
    const unfinished = await mkdtemp(join(cache, 'chromium-unfinished-'));
    try {
      await unpackInto(unfinished);
      await writeFile(join(unfinished, 'start'), launcher(folder));
      await chmod(join(unfinished, 'start'), 0o755);
      await rename(unfinished, folder);
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      // Another run was faster.
      if (!existsSync(program)) {
        process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
        return null;
      }
    }
  }
  return starts(program) ? program : null;
}

/** The package unpacks into TMPDIR. It adds libraries only if it believes that it runs on Amazon Linux. */
async function unpackInto(folder: string): Promise<void> {
  const code = `await (await import('${PACKAGE}')).default.executablePath()`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', code], {
    cwd: root,
    env: { ...process.env, TMPDIR: folder, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' },
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the packed Chromium could not be unpacked: ${stderr}`);
}

/** The packed libraries, mainly NSS, are used only where the system has none. */
function launcher(folder: string): string {
  const system = globSync('/{usr/,}lib/x86_64-linux-gnu')[0] ?? '/usr/lib64';
  return `#!/bin/sh
export LD_LIBRARY_PATH="${system}:${folder}/al2023/lib"
[ -d /etc/fonts ] || export FONTCONFIG_PATH="${folder}/fonts"
exec "${folder}/chromium" "$@"
`;
}
