// Classifies errors of PostgreSQL and its driver: database unavailable, connection lost, statement refused, constraint.

import { errorCode, errorField } from '../unknown-values.ts';

// SQLSTATE: 08 connection, 57P0x shutdown and startup, 53 out of resources, 25006 a server that became a standby,
// 57014 statement timeout, 55P03 lock timeout, 25P03 and 25P04 a connection that was ended because its transaction took
// too long, 40001 and 40P01 a transaction that conflicted with others at every attempt.
const UNAVAILABLE_STATE = /^(08|57P0|53)|^(25006|25P03|25P04|57014|55P03|40001|40P01)$/;
// 55000 means that the database accepts no connections for now, but many failed statements have it as well. The name of
// the C function distinguishes them in every language (src/backend/utils/init/postinit.c, PostgreSQL 15 to 18).
const isClosedDatabase = (code: string, routine: string | undefined): boolean =>
  code === '55000' && routine === 'CheckMyDatabase';
const unavailableSystem = new Set([
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
// Errors of node-postgres that have no code. The last one is thrown by limits/rate-limit.ts.
const UNAVAILABLE_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|^timeout expired$|Query read timeout|Client has encountered a connection error|Cannot use a pool after calling end|no answer from the rate limit store/;

/**
 * The statement committed on the primary, but somebody cancelled its wait for the synchronous standby, so a failover may
 * lose it. PostgreSQL reports success with a warning.
 */
export class NotReplicatedError extends Error {
  override name = 'NotReplicatedError';
  constructor() {
    super('the commit was not replicated, so a failover may lose it');
  }
}

/** Whether the database is unavailable, so that the same request may succeed later. */
export function isDatabaseUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof NotReplicatedError) return true;
  if (error instanceof AggregateError) return error.errors.some(isDatabaseUnavailable);
  const code = errorCode(error);
  if (code !== undefined) {
    if (/^[0-9A-Z]{5}$/.test(code) && 'severity' in error)
      return UNAVAILABLE_STATE.test(code) || isClosedDatabase(code, errorField(error, 'routine'));
    if (unavailableSystem.has(code))
      return ['connect', 'read', 'write', 'getaddrinfo'].includes(errorField(error, 'syscall') ?? '');
  }
  return UNAVAILABLE_TEXT.test(error.message);
}

/** Whether the connection ended during the statement, which may have run or not. Another connection may work. */
export function isConnectionLost(error: unknown): boolean {
  const code = errorCode(error);
  if (code === 'ECONNRESET' || code === 'EPIPE')
    return ['read', 'write'].includes(errorField(error, 'syscall') ?? '');
  if (code !== undefined) return /^(08|57P01|57P02|25P03|25P04)/.test(code);
  return error instanceof Error && /Connection terminated/.test(error.message);
}

/**
 * Whether the server refused the statement, so that it had no effect. False without a response, and for errors of a
 * pooler or a damaged server (57P, 58, XX): the commit may have succeeded.
 */
export const isRefused = (error: unknown): boolean =>
  error instanceof Error &&
  'severity' in error &&
  !isConnectionLost(error) &&
  !/^(57P|58|XX)/.test(errorCode(error) ?? '');

/** Returns the name of the constraint that the statement violated (unique, foreign key or CHECK), else undefined. */
export function brokenConstraint(error: unknown): string | undefined {
  const isBroken = ['23505', '23503', '23514', '23001'].includes(errorCode(error) ?? '');
  return isBroken ? errorField(error, 'constraint') : undefined;
}
