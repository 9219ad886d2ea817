// Reads secret settings from files: `<NAME>_FILE`, or a systemd credential named like the setting.
// It must not show a byte of a file, nor read the environment itself.
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../unknown-values.ts';
import type { Setting } from './config.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export type SecretFiles = {
  /** The environment, with what the files contain in the variables that they stand for. */
  environment: Environment;
  /** Setting → path of the file that it comes from. */
  files: ReadonlyMap<string, string>;
  /** Setting → why its file cannot be used, with what to do. */
  problems: ReadonlyMap<string, string>;
  /** Sentences for the operator. */
  warnings: readonly string[];
};

/** Far beyond any key or URL: a larger file is another one. */
const MAX_BYTES = 65_536;
const OTHERS_MAY_READ = 0o004;
/** The group, or every user: anyone who may write the file chooses the secret. */
const OTHERS_MAY_WRITE = 0o022;

/** Returns the variable with the path of a secret setting's file. */
export const fileVariable = (name: string): string => `${name}_FILE`;

/** Reads the file of each secret setting that has one. Never throws. */
export function readSecretFiles(
  definitions: readonly Setting<unknown>[],
  environment: Environment,
): SecretFiles {
  const filled: Record<string, string | undefined> = { ...environment };
  const files = new Map<string, string>();
  const problems = new Map<string, string>();
  const warnings: string[] = [];
  for (const { name } of definitions.filter(({ secret }) => secret !== null)) {
    const [source, another] = sourcesOf(name, environment);
    if (another !== undefined) {
      problems.set(name, `${name} has two values: ${source?.shown} and ${another.shown}. Keep one of them.`);
      continue;
    }
    if (source?.path === undefined) continue;
    const { shown, path } = source;
    const read = readSecret(path);
    if ('problem' in read) problems.set(name, `${shown} ${read.problem}`);
    else {
      filled[name] = read.text;
      files.set(name, path);
      if (source.isPrivate) continue;
      if ((read.mode & OTHERS_MAY_READ) !== 0)
        warnings.push(`${shown} (${path}) can be read by every user of the machine. Run: chmod o= ${path}`);
      if ((read.mode & OTHERS_MAY_WRITE) !== 0)
        warnings.push(`${shown} (${path}) can be written by others. Run: chmod go-w ${path}`);
    }
  }
  return { environment: filled, files, problems, warnings };
}

/** `isPrivate`: only this service sees the file, whatever its mode says. */
type Source = { shown: string; path?: string; isPrivate?: boolean };

/** Docker and Podman mount secrets here, for the container alone, and readable by all of its users. */
const CONTAINER_SECRETS = '/run/secrets/';

function sourcesOf(name: string, environment: Environment): Source[] {
  const sources: Source[] = [];
  if (environment[name]?.trim()) sources.push({ shown: `the variable ${name}` });
  const path = environment[fileVariable(name)]?.trim();
  if (path) {
    const isPrivate = path.startsWith(CONTAINER_SECRETS);
    sources.push({ shown: fileVariable(name), path, isPrivate });
  }
  const folder = environment.CREDENTIALS_DIRECTORY;
  if (folder && existsSync(join(folder, name)))
    sources.push({ shown: `the systemd credential ${name}`, path: join(folder, name), isPrivate: true });
  return sources;
}

/** Returns the text without the line end that editors and `echo` add. The problem continues a sentence. */
function readSecret(path: string): { text: string; mode: number } | { problem: string } {
  try {
    const { mode, size } = requireRegular(path);
    if (size > MAX_BYTES) return { problem: `names ${path}, which is larger than ${MAX_BYTES / 1_024} KiB` };
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
    if (text.trim() === '') return { problem: `names ${path}, which is empty` };
    return { text, mode };
  } catch (error) {
    return { problem: `names ${path}, ${explain(errorCode(error))}` };
  }
}

/** A pipe would hold up the start until somebody writes to it. */
function requireRegular(path: string): { mode: number; size: number } {
  const found = statSync(path);
  if (found.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' });
  if (!found.isFile()) throw Object.assign(new Error(), { code: 'ENOTSUP' });
  return found;
}

const reasons: Readonly<Record<string, string>> = {
  ENOENT: 'which does not exist',
  ENOTDIR: 'which does not exist',
  EACCES: 'which this user may not read; make it theirs with: chown, and chmod 400',
  EISDIR: 'which is a folder; name the file in it',
  ENOTSUP: 'which is not a regular file',
};

const explain = (code: string | undefined): string =>
  reasons[code ?? ''] ?? `which cannot be read (${code ?? 'unknown error'})`;
