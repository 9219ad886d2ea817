/**
 * The error of the embedded PostgreSQL, and the explanation of causes for the operator.
 * It must not contain a secret: only paths, users and messages of PostgreSQL.
 */

/** Its message is one line that says what is wrong and what to do. */
export class EmbeddedPostgresError extends Error {
  override name = 'EmbeddedPostgresError';

  constructor(message: string, options?: ErrorOptions) {
    super(message.replace(/\s+/g, ' ').trim(), options);
  }
}

/** Returns the code of an error, such as `ENOENT` or a SQLSTATE; undefined when there is none. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** Returns the explanation of a failure in `folder`. Returns an EmbeddedPostgresError unchanged. */
export function explainError(error: unknown, folder: string): EmbeddedPostgresError {
  if (error instanceof EmbeddedPostgresError) return error;
  const told = explainCode(errorCode(error), folder);
  const detail = error instanceof Error ? error.message : String(error);
  return new EmbeddedPostgresError(told ?? `the database in ${folder} failed: ${detail}`, { cause: error });
}

function explainCode(code: string | undefined, folder: string): string | undefined {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `the disk that holds ${folder} is full: free some space there, or point DATA_DIR at another disk`;
    case 'EACCES':
    case 'EPERM':
      return `${folder} cannot be written by this user: give it write access, or set DATA_DIR to another folder`;
    case 'EROFS':
      return `${folder} is on a read-only file system: set DATA_DIR to a folder that can be written, or set DATABASE_URL`;
    case 'ENOTDIR':
    case 'EEXIST':
      return `${folder} is not a folder, or a part of its path is a file: move that file away, or set DATA_DIR to another folder`;
    default:
      return undefined;
  }
}

/** Returns the explanation for a PostgreSQL program that failed in `folder`, from its output. */
export function explainOutput(what: string, output: string, folder: string): EmbeddedPostgresError {
  if (/No space left on device|Disk quota exceeded/.test(output))
    return explainError(withCode('ENOSPC'), folder);
  if (/could not map anonymous shared memory|Cannot allocate memory|out of memory/i.test(output)) {
    return new EmbeddedPostgresError(
      `${what} did not get enough memory: add memory to this machine, or set DATABASE_URL`,
    );
  }
  const lines = output.split('\n').filter((line) => line.trim() !== '');
  const telling = lines.find((line) => /\b(PANIC|FATAL|error):/.test(line)) ?? lines.at(-1) ?? 'no output';
  const reason = telling.replace(/^.*?\b(?=(PANIC|FATAL|error):)/, '').trim();
  return new EmbeddedPostgresError(`${what} failed in ${folder} (${reason}): fix that, or set DATABASE_URL`);
}

function withCode(code: string): Error {
  return Object.assign(new Error(code), { code });
}
