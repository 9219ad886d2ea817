// Says in one line why a start failed or waits, and what the operator can do. Pure.
// It must not show a value of DATABASE_URL or another secret: only codes, paths and the causes' own words.
import { resolve } from 'node:path';
import { SettingsError } from './platform/config.ts';

type Cause = { code?: string | undefined; syscall?: string | undefined; path?: string | undefined };

const causeOf = (error: unknown): Cause => (error ?? {}) as Cause;

/** Never empty: a connection attempt to several addresses fails with an error that has no message of its own. */
function wordsOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(wordsOf).join('; ');
  const words = error instanceof Error ? error.message : String(error);
  return words.trim() === '' ? 'unknown cause' : words;
}

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'The port is in use already. Set PORT to a free one, or stop what listens there.',
  EADDRNOTAVAIL:
    'HOST is no address of this machine. Set it to 127.0.0.1, to 0.0.0.0 for every interface, or to one of its own.',
  EACCES:
    'This user may not listen on that port. Set PORT to 1024 or higher, and let a proxy listen on the lower one.',
};

/** What is wrong with the folder, to be followed by the remedy. */
const folderFaults: Record<string, string> = {
  EEXIST: 'is a file, not a folder',
  ENOTDIR: 'has a file where a folder of its path should be',
  EACCES: 'cannot be written by this user',
  EPERM: 'cannot be written by this user',
  EROFS: 'is on a read-only file system',
  ENOENT: 'cannot be made there',
  ENOSPC: 'is on a disk that is full',
  EDQUOT: 'is on a disk whose quota is used up',
  ENAMETOOLONG: 'is too long a path',
};

/** SQLSTATE of what PostgreSQL refuses → the remedy. */
const databaseRemedies: Record<string, string> = {
  '28P01': 'Correct user and password in DATABASE_URL.',
  '28000': "Correct user and password in DATABASE_URL, or let this host in (PostgreSQL's pg_hba.conf).",
  '3D000': 'Create that database, or correct its name in DATABASE_URL.',
  '42501':
    'The service makes its own tables: let the user of DATABASE_URL own the database, or grant it CREATE on schema public.',
};

// OpenSSL's names for a chain that leads to no trusted root, and Node's for a certificate of another host.
const isCertificateFault = (code: string | undefined): boolean =>
  /CERT|UNABLE_TO_(GET|VERIFY)/.test(code ?? '') && !/^[0-9A-Z]{5}$/.test(code ?? '');

/** One sentence of cause and one of remedy; several lines only where several settings are wrong. */
export function explainStartFailure(error: unknown, dataDir: string): string {
  const { code = '', syscall, path } = causeOf(error);
  const words = wordsOf(error);
  if (error instanceof SettingsError) return words;
  if (syscall === 'listen' && listenFaults[code]) return `${listenFaults[code]} (${words})`;
  if (path !== undefined && folderFaults[code])
    return `DATA_DIR (${resolve(dataDir)}) ${folderFaults[code]}. Set DATA_DIR to a folder that this user can write. (${words})`;
  return explainDatabase(error) ?? words;
}

/** For a database that is not there yet: what is wrong with it and what the operator may have to do. */
export function explainWait(error: unknown): string {
  return (
    explainDatabase(error) ??
    `${wordsOf(error)}. Start PostgreSQL, or correct host and port in DATABASE_URL.`.replace('..', '.')
  );
}

function explainDatabase(error: unknown): string | undefined {
  const { code = '' } = causeOf(error);
  const words = wordsOf(error);
  if (databaseRemedies[code]) return `PostgreSQL refuses: ${words}. ${databaseRemedies[code]}`;
  if (/does not support SSL/.test(words))
    return 'DATABASE_URL asks for TLS (sslmode), and that PostgreSQL offers none. Turn TLS on there, or take sslmode out of DATABASE_URL if the way to it is safe.';
  if (isCertificateFault(code))
    return `The certificate of PostgreSQL is not trusted: ${words}. Name its authority with sslrootcert=/path/ca.pem in DATABASE_URL, and the host as the certificate does.`;
  return undefined;
}
