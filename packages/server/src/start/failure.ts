// Explains in one line why a start failed or waits, and what the operator can do.
// It must not show a value of DATABASE_URL or another secret: only codes, paths and the messages of errors.
import { relative, resolve } from 'node:path';
import { SettingsError } from '../platform/config/config.ts';
import { errorCode, errorField, errorMessage } from '../platform/unknown-values.ts';
import { StartLockHeldError } from './lock.ts';

/** Returns the message of an error, never empty: a failed connection to several addresses has no message of its own. */
function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  const message = errorMessage(error);
  return message.trim() === '' ? 'unknown cause' : message;
}

const listenFaults: Record<string, string> = {
  EADDRINUSE: 'The port is already in use. Set PORT to a free one, or stop the program that listens there.',
  EADDRNOTAVAIL:
    'HOST is not an address of this machine. Set it to 127.0.0.1, to 0.0.0.0 for every interface, or to an address of this machine.',
  EACCES:
    'This user is not allowed to listen on that port. Set PORT to 1024 or higher, and let a proxy listen on the lower one.',
};

/** Error code → what is wrong with the folder. */
const folderFaults: Record<string, string> = {
  EEXIST: 'is a file, not a folder',
  ENOTDIR: 'contains a file in its path where a folder is expected',
  EACCES: 'cannot be written by this user',
  EPERM: 'cannot be written by this user',
  EROFS: 'is on a read-only file system',
  ENOENT: 'cannot be created there',
  ENOSPC: 'is on a disk that is full',
  EDQUOT: 'is on a disk whose quota is used up',
  ENAMETOOLONG: 'is a path that is too long',
};

/** SQLSTATE → what to do. */
const databaseRemedies: Record<string, string> = {
  '28P01': 'Correct the user and password in DATABASE_URL.',
  '28000': "Correct the user and password in DATABASE_URL, or allow this host in PostgreSQL's pg_hba.conf.",
  '3D000': 'Create that database, or correct its name in DATABASE_URL.',
  '42501':
    'The service creates its own tables: make the user of DATABASE_URL the owner of the database, or grant it CREATE on schema public.',
};

// Codes of OpenSSL for an untrusted certificate chain, and of Node for a certificate of another host.
const isCertificateFault = (code: string | undefined): boolean =>
  /CERT|UNABLE_TO_(GET|VERIFY)/.test(code ?? '') && !/^[0-9A-Z]{5}$/.test(code ?? '');

/** Whether `path` is the folder, is below it, or is one of its parents, which are created with it. */
function isOnPathOf(folder: string, path: string): boolean {
  const isWithin = (outer: string, inner: string): boolean => !/^\.\.(\/|$)/.test(relative(outer, inner));
  return isWithin(folder, path) || isWithin(path, folder);
}

/** Returns the cause and the remedy of a failed start. Has several lines only if several settings are wrong. */
export function explainStartFailure(error: unknown, dataDir: string): string {
  const code = errorCode(error) ?? '';
  const path = errorField(error, 'path');
  const message = messageOf(error);
  if (error instanceof SettingsError) return message;
  if (errorField(error, 'syscall') === 'listen' && listenFaults[code])
    return `${listenFaults[code]} (${message})`;
  if (path !== undefined && !isOnPathOf(dataDir, path))
    return `A file cannot be used: ${message}. Correct its path (sslrootcert, sslcert and sslkey are part of DATABASE_URL), or allow this user to read it.`;
  if (path !== undefined && folderFaults[code])
    return `DATA_DIR (${resolve(dataDir)}) ${folderFaults[code]}. Set DATA_DIR to a folder that this user can write. (${message})`;
  return explainDatabase(error) ?? message;
}

/** Returns why the database is not ready and what the operator may have to do. */
export function explainWait(error: unknown): string {
  return (
    explainDatabase(error) ??
    `${messageOf(error)}. Start PostgreSQL, or correct the host and port in DATABASE_URL.`.replace('..', '.')
  );
}

function explainDatabase(error: unknown): string | undefined {
  const code = errorCode(error) ?? '';
  const message = messageOf(error);
  if (error instanceof StartLockHeldError) return message;
  // lock_not_available: the timeout of a migration.
  if (code === '55P03')
    return "Another connection holds a lock on a table that must be migrated. Nothing was changed. End long transactions on this database: select pid, state, xact_start from pg_stat_activity where xact_start < now() - interval '1 minute';";
  if (databaseRemedies[code])
    return `PostgreSQL refused the connection or statement: ${message}. ${databaseRemedies[code]}`;
  // What PgBouncer answers to settings of a connection.
  if (/unsupported startup parameter/.test(message))
    return `A pooler between this service and PostgreSQL refused the connection: ${message}. Connect to PostgreSQL directly, or see "Use a pooler" in docs/operate/high-availability.md.`;
  if (/does not support SSL/.test(message))
    return 'DATABASE_URL requires TLS (sslmode), but the PostgreSQL server does not offer it. Enable TLS there, or remove sslmode from DATABASE_URL if the network is trusted.';
  if (isCertificateFault(code))
    return `The certificate of PostgreSQL is not trusted: ${message}. Set sslrootcert=/path/ca.pem in DATABASE_URL to its CA, and use the host name in the certificate.`;
  return undefined;
}
