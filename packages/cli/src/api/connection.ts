// Decides which Castellan a command talks to, and with which API key, personal token or access token. A credential is never printed, never taken from the
// command line, and never sent to another URL than the one that it was stored with.
import { readFile } from 'node:fs/promises';
import type { Client } from '@castellan/sdk';
import { type Call, Failure, type Option, UsageError } from '../command.ts';
import { fetchWithCsrf, isAccessToken } from '../input/session-credential.ts';
import { failureOf } from './failures.ts';
import { type Profile, readProfiles } from './profiles.ts';
import { loadSdk } from './sdk.ts';

/** What a command over the API works with. */
export type Api = { client: Client; call: Call; url: string };

/** Options of every command over the API. */
export const apiOptions: readonly Option[] = [
  { flags: '--profile <name>', help: 'The profile to use instead of the current one (CASTELLAN_PROFILE).' },
  {
    flags: '--url <url>',
    help: 'The URL of Castellan (CASTELLAN_URL). The key then comes from CASTELLAN_API_KEY_FILE or CASTELLAN_API_KEY.',
  },
  { flags: '--json', help: 'Print what the API answered, as JSON.' },
];

/** Returns the `run` of a command over the API. Its errors say what happened, what was not done and how to go on. */
export const overApi =
  (work: (api: Api) => Promise<void>) =>
  async (call: Call): Promise<void> => {
    const { url, key } = await connectionOf(call);
    const { client, CastellanError } = await openClient(url, key);
    try {
      await work({ client, call, url });
    } catch (error) {
      throw error instanceof CastellanError ? failureOf(error, url) : error;
    }
  };

/** Returns a client, and the class of its errors. Throws a UsageError if the URL or the key cannot be used. */
export async function openClient(url: string, key: string) {
  const { createClient, CastellanError } = await loadSdk();
  try {
    const client = isAccessToken(key)
      ? createClient({ baseUrl: url, accessToken: key, timeoutMs: 30_000, fetch: fetchWithCsrf(url) })
      : createClient({ baseUrl: url, apiKey: key, timeoutMs: 30_000 });
    return { client, CastellanError };
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

type Connection = { url: string; key: string };

/** Throws a Failure (4) without a key, and a UsageError for a profile or a URL that cannot be used. */
async function connectionOf(call: Call): Promise<Connection> {
  const { environment } = call;
  const profile = await profileOf(call);
  const url = textOf(call.values.url) ?? (environment.CASTELLAN_URL || undefined);
  const ownKey = await keyOfEnvironment(environment);
  const target = url ?? profile?.url;
  if (target === undefined)
    throw new Failure(
      4,
      'no Castellan is known. Run `castellan login --url <url>`, or set CASTELLAN_URL and CASTELLAN_API_KEY_FILE.',
    );
  // What the profile allows, and its key, are for its own URL only.
  const own = profile && sameUrl(target, profile.url) ? profile : undefined;
  requireSecrecy(target, own?.allow_http === true || environment.CASTELLAN_ALLOW_HTTP === 'true');
  if (ownKey !== undefined) return { url: target, key: ownKey };
  if (own) return { url: target, key: own.api_key };
  throw new Failure(
    4,
    `there is no API key for ${target}. Set CASTELLAN_API_KEY_FILE, or run \`castellan login --url ${target}\`.`,
  );
}

async function profileOf({ values, environment }: Call): Promise<Profile | undefined> {
  const { current, profiles } = await readProfiles(environment);
  const named = textOf(values.profile) ?? (environment.CASTELLAN_PROFILE || undefined);
  const name = named ?? current;
  const profile = name !== null && Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (named !== undefined && !profile)
    throw new UsageError(`there is no profile "${named}". \`castellan profile list\` lists them.`);
  return profile;
}

async function keyOfEnvironment({ CASTELLAN_API_KEY, CASTELLAN_API_KEY_FILE }: Call['environment']) {
  if (CASTELLAN_API_KEY_FILE && CASTELLAN_API_KEY)
    throw new UsageError('set CASTELLAN_API_KEY_FILE or CASTELLAN_API_KEY, not both.');
  if (!CASTELLAN_API_KEY_FILE) return CASTELLAN_API_KEY || undefined;
  try {
    return (await readFile(CASTELLAN_API_KEY_FILE, 'utf8')).trim();
  } catch (error) {
    throw new UsageError(`CASTELLAN_API_KEY_FILE cannot be read: ${Object(error).code}.`);
  }
}

/** Throws a UsageError if the key would cross a network without encryption. */
export function requireSecrecy(url: string, isAllowed: boolean): void {
  const { protocol, hostname } = parsed(url);
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
  if (protocol === 'http:' && !isLocal && !isAllowed)
    throw new UsageError(
      `${url} is not encrypted, and everyone on the way could read the API key. Use https, or allow it: \`castellan login --allow-http\`, or CASTELLAN_ALLOW_HTTP=true.`,
    );
}

function parsed(url: string): URL {
  try {
    return new URL(url);
  } catch {
    throw new UsageError(`"${url}" is not a URL.`);
  }
}

const sameUrl = (one: string, other: string): boolean => {
  const [first, second] = [parsed(one), parsed(other)].map(
    ({ origin, pathname }) => origin + pathname.replace(/\/+$/, ''),
  );
  return first === second;
};

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
