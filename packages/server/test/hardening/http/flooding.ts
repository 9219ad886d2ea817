// What the floods share: messages by the hundred, and a lock that holds up whatever needs a table.
// It must not judge answers.
import pg from 'pg';

/** One message; `fields` end with CRLF each. */
export const ask = (method: string, path: string, fields = '', body = ''): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n${fields}Content-Length: ${body.length}\r\n\r\n${body}`;
/** Refused for want of a CSRF token. */
export const forged = (fields = ''): string => ask('POST', '/api/v1/auth/login', fields);

/** `lock table` from a connection of its own; `release` may come again. */
export async function lock(databaseUrl: string, table: string): Promise<{ release(): Promise<void> }> {
  const locker = new pg.Client(databaseUrl);
  await locker.connect();
  await locker.query(`begin; lock table ${table} in access exclusive mode`);
  let released: Promise<void> | undefined;
  return { release: () => (released ??= locker.end()) };
}
