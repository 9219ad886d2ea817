// The file of profiles: the URL and the API key of each Castellan that this person administers.
// It must be readable by its owner only, and a key leaves it only for the URL that it was stored with.
import { randomBytes } from 'node:crypto';
import { chmod, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Call } from '../command.ts';

export type Profile = { url: string; api_key: string; allow_http?: boolean };
export type Profiles = { current: string | null; profiles: Readonly<Record<string, Profile>> };

type Environment = Call['environment'];

/** Returns the path of the file, which may not exist. */
function profilesFile({ CASTELLAN_CONFIG, XDG_CONFIG_HOME, HOME }: Environment): string {
  if (CASTELLAN_CONFIG) return CASTELLAN_CONFIG;
  return join(XDG_CONFIG_HOME || join(HOME || homedir(), '.config'), 'castellan', 'config.json');
}

/** Returns no profiles if there is no file. Rejects if others can read it, or if it is not what `login` writes. */
export async function readProfiles(environment: Environment): Promise<Profiles> {
  const file = profilesFile(environment);
  const found = await stat(file).catch(absent);
  if (!found) return { current: null, profiles: {} };
  if ((found.mode & 0o077) !== 0)
    throw new Error(
      `other users can read the API keys in ${file}. Run \`chmod 600 ${file}\`; if others may have read it, rotate the keys.`,
    );
  const content = parse(await readFile(file, 'utf8'));
  if (!content) throw new Error(`${file} is not a file of profiles. Remove it, and run \`castellan login\`.`);
  return content;
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}

/** The error does not quote the file, which has keys. */
function parse(text: string): Profiles | null {
  try {
    const { current, profiles } = JSON.parse(text);
    const isProfile = (one: unknown) =>
      one instanceof Object &&
      'url' in one &&
      'api_key' in one &&
      typeof one.url === 'string' &&
      typeof one.api_key === 'string';
    const isValid = profiles instanceof Object && Object.values(profiles).every(isProfile);
    return isValid ? { current: typeof current === 'string' ? current : null, profiles } : null;
  } catch {
    return null;
  }
}

/** Replaces the file in one step. A new file and a new folder belong to this user alone. */
export async function writeProfiles(environment: Environment, content: Profiles): Promise<string> {
  const file = profilesFile(environment);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${randomBytes(6).toString('hex')}`;
  try {
    const handle = await open(fresh, 'wx', 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(content, null, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await chmod(fresh, 0o600);
    await rename(fresh, file);
  } finally {
    await rm(fresh, { force: true });
  }
  return file;
}
