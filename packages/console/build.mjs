// Builds the console into dist/: at installation, at a start that finds it missing or older than its sources, and with
// `npm run build`. It must work on the Node.js that npm runs, which may be older than the service's.
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const folder = fileURLToPath(new URL('.', import.meta.url));
const output = join(folder, 'dist');
/** In dist/: the hash of the sources that it was built from. */
const STAMP = '.sources';
/** Smaller files are sent as they are. */
const MIN_COMPRESSED_BYTES = 1_024;

/** Every file that the build depends on, besides Node.js. */
const sources = ['src', 'public', 'app.html', 'auth.html', 'vite.config.ts', 'package.json', '../sdk/src'];
const lockFile = join(folder, '../../package-lock.json');

function filesIn(path) {
  if (!existsSync(path)) return [];
  try {
    return readdirSync(path, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if (error.code === 'ENOTDIR') return [path];
    throw error;
  }
}

function hashOfSources() {
  const hash = createHash('sha256');
  for (const file of [...sources.flatMap((one) => filesIn(join(folder, one))).sort(), lockFile])
    if (existsSync(file)) hash.update(`${file.slice(folder.length)}\n`).update(readFileSync(file));
  return hash.digest('hex');
}

/** Returns what dist/ is: `current`, `stale` or `missing`. Without sources, as in an image, what is there is current. */
export function stateOfBuild() {
  const stamp = join(output, STAMP);
  if (!existsSync(stamp)) return 'missing';
  if (!existsSync(join(folder, 'src/app'))) return 'current';
  return readFileSync(stamp, 'utf8') === hashOfSources() ? 'current' : 'stale';
}

/** Returns whether the tools of the build are installed. `npm ci --omit=dev` leaves them out. */
export function canBuild() {
  try {
    import.meta.resolve('vite');
    import.meta.resolve('@vitejs/plugin-react');
    return true;
  } catch {
    return false;
  }
}

/** Builds the console. The old one is replaced only by a complete new one. Rejects if the build fails. */
export async function buildConsole() {
  const hash = hashOfSources();
  const fresh = `${output}.${process.pid}`;
  const { build } = await import('vite');
  // Vite takes over a value that is set, and React would be that of developers.
  const { NODE_ENV: before } = process.env;
  process.env.NODE_ENV = 'production';
  try {
    await build({ root: folder, logLevel: 'error', build: { outDir: fresh, emptyOutDir: true } });
    for (const file of filesIn(fresh)) compress(file);
    writeFileSync(join(fresh, STAMP), hash);
    // Two processes may build at once; the results are the same.
    rmSync(output, { recursive: true, force: true });
    renameSync(fresh, output);
  } catch (error) {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
  } finally {
    if (before === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = before;
    rmSync(fresh, { recursive: true, force: true });
  }
}

function compress(file) {
  const content = readFileSync(file);
  if (!/\.(js|css|svg)$/.test(file) || content.length < MIN_COMPRESSED_BYTES) return;
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: content.length };
  writeFileSync(`${file}.br`, brotliCompressSync(content, { params }));
  writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const isInstalling = process.argv.includes('--install');
  const say = (text) => process.stdout.write(`${text}\n`);
  if (stateOfBuild() === 'current') say('The console is built.');
  else if (!canBuild()) {
    say(
      'The console is not built: its tools are development dependencies. Run npm ci without --omit=dev, then build.',
    );
    if (!isInstalling) process.exitCode = 1;
  } else {
    try {
      await buildConsole();
      say('The console is built.');
    } catch (error) {
      say(`The console could not be built: ${error.message}`);
      // The service starts without it and says so, so the installation goes on.
      if (!isInstalling) process.exitCode = 1;
    }
  }
}
