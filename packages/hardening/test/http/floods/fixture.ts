// Shared by the floods: builds raw messages, and locks a table so that requests wait.
// It must not judge answers.
import pg from 'pg';

/** Returns one message. Each of the `fields` ends with CRLF. */
export const ask = (method: string, path: string, fields = '', body = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;
/** Returns a sign-in without CSRF token, which is refused. */
export const forged = (fields = ''): string => ask('POST', '/api/v1/auth/login', fields);

/** Locks the table on its own connection. `release` may be called more than once. */
export async function lock(databaseUrl: string, table: string): Promise<{ release(): Promise<void> }> {
  const locker = new pg.Client(databaseUrl);
  await locker.connect();
  await locker.query(`begin; lock table ${table} in access exclusive mode`);
  let released: Promise<void> | undefined;
  return { release: () => (released ??= locker.end()) };
}
