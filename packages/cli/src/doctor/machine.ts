// Looks at this machine: the disk, the console, and whether the service answers where people look for it.
import { constants } from 'node:fs';
import { access, readFile, statfs } from 'node:fs/promises';
import { get } from 'node:http';
import { get as getSecurely } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { stateOfBuild } from '@castellan/console/build';
import type { Settings } from '@castellan/server/settings';
import { bad, ok, type Report, warn } from './finding.ts';

const MIB = 2 ** 20;
const LOW_MIB = 1_024;
const TOO_LOW_MIB = 100;

export async function lookAtDisk({ dataDir, databaseUrl }: Settings): Promise<Report[]> {
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    const { code } = Object(error);
    const isNeeded = databaseUrl === undefined || code !== 'ENOENT';
    const text = `DATA_DIR (${dataDir}) ${code === 'ENOENT' ? 'does not exist' : `cannot be used (${code})`}`;
    return [
      isNeeded
        ? bad(text, 'Set DATA_DIR to the folder of the service, and run this as its user.')
        : ok(`${text}; the service makes it when it needs it`),
    ];
  }
  const { bavail, bsize } = await statfs(dataDir);
  const free = Math.floor((bavail * bsize) / MIB);
  const text = `DATA_DIR (${dataDir}) is writable, with ${free} MiB free`;
  const advice = 'Free space, or move DATA_DIR: a full disk stops the embedded database and the mails.';
  return [
    free >= LOW_MIB ? ok(text) : free >= TOO_LOW_MIB ? warn(text, advice) : bad(text, advice),
    ...(databaseUrl === undefined ? [await versionOfCluster(dataDir)] : []),
  ];
}

async function versionOfCluster(dataDir: string): Promise<Report> {
  const pointer = await readFile(join(dataDir, 'postgres.location'), 'utf8').catch(() => null);
  const cluster = pointer?.trim() || join(dataDir, 'postgres');
  const version = await readFile(join(cluster, 'PG_VERSION'), 'utf8').catch((error) => Object(error).code);
  return /^\d+\s*$/.test(version)
    ? ok(`the embedded database in ${cluster} is of PostgreSQL ${version.trim()}`)
    : warn(
        `the version of the embedded database in ${cluster} cannot be read (${version})`,
        'Run this as the user of the service, or as root.',
      );
}

export async function lookAtConsole(): Promise<Report[]> {
  const state = stateOfBuild();
  return [
    state === 'current'
      ? ok('the console is built')
      : warn(`the build of the console is ${state}`, 'Run `npm run build`.'),
  ];
}

const FETCH_MS = 5_000;

const read = async (url: string): Promise<{ status: number; body: Record<string, unknown> }> => {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_MS) });
  const body = await response.json().catch(() => ({}));
  return { status: response.status, body: Object(body) };
};

/** Whether the service answers at its own address. Its certificate is that of PUBLIC_URL, so it is not checked here. */
const isLive = (local: string): Promise<boolean> =>
  new Promise((resolve) => {
    const url = `${local}/health/live`;
    const options = { timeout: FETCH_MS, rejectUnauthorized: false };
    const sent = local.startsWith('https:') ? getSecurely(url, options) : get(url, options);
    sent.on('response', async (response) => {
      const found = await json(response).catch(() => null);
      resolve(Object(found).status === 'live');
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(false));
  });

const reasonOf = (error: unknown): string => {
  const { cause, message } = Object(error);
  return String(Object(cause).code ?? message);
};

/** `keyIds`: the signing keys of the database, by which the service at PUBLIC_URL is recognised; null if unknown. */
export async function lookAtAddress(
  { publicUrl, host, port, tls, inForce }: Settings,
  keyIds: readonly string[] | null,
): Promise<Report[]> {
  const local = `${tls ? 'https' : 'http'}://${['0.0.0.0', '::', ''].includes(host) ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
  const isRunning = await isLive(local);
  const areTrusted = inForce.some(
    ({ name, source, value }) => name === 'TRUSTED_PROXIES' && source === 'environment' && value !== '',
  );
  const proxies = proxyReports(publicUrl, { areTrusted, hasTls: tls !== null });
  if (!isRunning) return [ok(`the service does not run here (no answer at ${local})`), ...proxies];
  return [ok(`the service answers at ${local}`), ...(await publicReports(publicUrl, keyIds)), ...proxies];
}

async function publicReports(publicUrl: string, keyIds: readonly string[] | null): Promise<Report[]> {
  const report = await publicReport(publicUrl, keyIds);
  return report.level === 'ok' ? [report, await issuerReport(publicUrl)] : [report];
}

/** Clients read this document first, and refuse an issuer other than the address that they read it at (OIDC Discovery, 4.3). */
async function issuerReport(publicUrl: string): Promise<Report> {
  const address = `${publicUrl}/.well-known/openid-configuration`;
  try {
    const { status, body } = await read(address);
    if (status !== 200)
      return warn(
        `${address} answers with status ${status}, so applications cannot find this service`,
        'Let the proxy pass everything below PUBLIC_URL on: docs/operate/openid.md.',
      );
    return body.issuer === publicUrl
      ? ok(`applications find this service as ${publicUrl}`)
      : warn(
          `the service at PUBLIC_URL calls itself ${body.issuer}, so applications refuse it`,
          'Start the service with the PUBLIC_URL that applications use, and run this with the same.',
        );
  } catch (error) {
    return warn(`${address} cannot be read (${reasonOf(error)})`, 'Check the proxy: docs/operate/openid.md.');
  }
}

async function publicReport(publicUrl: string, keyIds: readonly string[] | null): Promise<Report> {
  const advice = 'Correct PUBLIC_URL or the proxy: mailed links and cookies depend on it.';
  try {
    const { status, body } = await read(`${publicUrl}/.well-known/jwks.json`);
    if (status !== 200 || !Array.isArray(body.keys))
      return bad(`PUBLIC_URL (${publicUrl}) answers with status ${status}, and not as Castellan`, advice);
    const found: unknown[] = body.keys.map((key) => Object(key).kid);
    return keyIds === null || found.some((kid) => keyIds.includes(String(kid)))
      ? ok(`PUBLIC_URL (${publicUrl}) leads to this service`)
      : bad(`PUBLIC_URL (${publicUrl}) leads to a Castellan with another database`, advice);
  } catch (error) {
    return warn(
      `PUBLIC_URL (${publicUrl}) cannot be reached from here (${reasonOf(error)})`,
      'Try it from where people are. If it fails there too, correct PUBLIC_URL, DNS or the proxy.',
    );
  }
}

/** Without TLS_CERT_FILE, the service speaks HTTP only, so https means that there is a proxy. */
function proxyReports(
  publicUrl: string,
  { areTrusted: isTrusted, hasTls }: { areTrusted: boolean; hasTls: boolean },
): Report[] {
  const isHttps = publicUrl.startsWith('https:');
  if (isHttps && !isTrusted && !hasTls)
    return [
      warn(
        'PUBLIC_URL is https and TRUSTED_PROXIES is empty: every client seems to have the address of the proxy, and shares its limits',
        'Set TRUSTED_PROXIES to the addresses of the proxy.',
      ),
    ];
  if (!isHttps && isTrusted)
    return [
      warn(
        'TRUSTED_PROXIES is set and PUBLIC_URL is not https',
        'Set PUBLIC_URL to the https URL that people use, or unset TRUSTED_PROXIES.',
      ),
    ];
  return [ok(isTrusted ? 'TRUSTED_PROXIES is set, and PUBLIC_URL is https' : 'no proxy is expected')];
}
