// Reads what PostgreSQL and its driver throw: which failures mean "not reachable now", and which constraint broke.

// SQLSTATE classes: 08 connection, 57P0x shutdown and start-up, 53 out of resources; 25006 is a standby
// that was promoted away; 57014 a statement cut by its time-out, 55P03 a lock not had in time.
// 40001 and 40P01 are transactions that lost against others at every attempt.
const UNAVAILABLE_STATE = /^(08|57P0|53)|^(25006|57014|55P03|40001|40P01)$/;
// 55000 is a database that lets nobody in for now, but many a broken statement as well: the function of PostgreSQL that
// says so tells them apart (src/backend/utils/init/postinit.c, 15 to 18), in every language of the server.
const isClosedDatabase = (code: string, routine: unknown): boolean =>
  code === '55000' && routine === 'CheckMyDatabase';
const UNAVAILABLE_SYSTEM = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EACCES',
]);
// node-postgres speaks of these without a code; the last is our own, for an answer that takes too long.
const UNAVAILABLE_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|^timeout expired$|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end|no answer from the rate limit store/;

/** The database cannot answer now; the same request may succeed in a moment. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  const { code, syscall, routine } = error as { code?: unknown; syscall?: unknown; routine?: unknown };
  if (typeof code === 'string') {
    if (/^[0-9A-Z]{5}$/.test(code) && 'severity' in error)
      return UNAVAILABLE_STATE.test(code) || isClosedDatabase(code, routine);
    if (UNAVAILABLE_SYSTEM.has(code))
      return syscall === 'connect' || syscall === 'read' || syscall === 'write' || syscall === 'getaddrinfo';
  }
  return UNAVAILABLE_TEXT.test(error.message);
}

/** The connection ended under the statement, which may or may not have been done; another connection may be good. */
export function isConnectionLost(error: unknown): boolean {
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (code === 'ECONNRESET' || code === 'EPIPE') return syscall === 'read' || syscall === 'write';
  if (typeof code === 'string') return /^(08|57P01|57P02)/.test(code);
  return error instanceof Error && /Connection terminated/.test(error.message);
}

/** Name of the unique or foreign-key constraint that refused the statement. */
export function brokenConstraint(error: unknown): string | undefined {
  const { code, constraint } = (error ?? {}) as { code?: string; constraint?: string };
  return code === '23505' || code === '23503' || code === '23514' || code === '23001'
    ? constraint
    : undefined;
}
