// The client of the pages of people who are not signed in, and its failures in words.
import { CastellanError, createClient } from '@castellan/sdk';
import { formatIn } from '../common/format.ts';
import { pageSettings } from '../common/page-settings.ts';
import { noticing } from '../common/second-factor-notice.ts';
import { t } from './text.ts';

/** After this time, a page says that the service does not respond. */
const TIMEOUT_MS = 15_000;

const baseUrl = `${location.origin}${pageSettings.basePath}`;

export const client = createClient({
  baseUrl,
  timeoutMs: TIMEOUT_MS,
  fetch: noticing((input, init) => fetch(input, init)),
  // The pages say how long to wait, and let people decide.
  retry: { attempts: 1 },
});

/** The note of the SDK that this browser may have a session, and from which sign-in. */
const NOTE = `castellan:${baseUrl}:session`;

/** Returns whether this browser may have a session, without asking. */
export function mayHaveSession(): boolean {
  try {
    return localStorage.getItem(NOTE) !== null;
  } catch {
    return false;
  }
}

/** Notes a session that began without `client.auth`, so that the next page continues it with its cookie. */
export function noteSession(): void {
  try {
    localStorage.setItem(NOTE, crypto.getRandomValues(new Uint32Array(4)).join('-'));
  } catch {
    // Without storage, the SDK has none either.
  }
}

/** Forgets the session that the service has ended, so that the next page does not ask for it. */
export function forgetSession(): void {
  try {
    localStorage.removeItem(NOTE);
  } catch {
    // Without storage, nothing was noted.
  }
}

export const isCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof CastellanError && codes.includes(error.code);

/** Returns the time until the service accepts another attempt; null if it did not say. */
export const waitOf = (error: unknown): number | null =>
  error instanceof CastellanError && error.status === 429 ? error.retryAfterMs : null;

/** Returns what to say about a failure. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof CastellanError)) return t.unexpected;
  const { code, message, retryAfterMs } = error;
  if (code === 'network_error') return t.offline;
  if (code === 'timeout') return t.timeout;
  if (code === 'csrf_invalid') return t.cookies;
  const wait = retryAfterMs === null ? null : formatIn(retryAfterMs / 1_000);
  if (code === 'rate_limited' && wait) return t.limited(wait);
  if (code === 'account_locked' && wait) return t.login.locked(wait);
  return t.byCode[code] ?? message;
}

/** Returns every rule that a refused password breaks, as the service says it. */
export const reasonsOf = (error: unknown): readonly string[] =>
  error instanceof CastellanError ? error.reasons : [];

/** Returns the message for a field; null without one. */
export function fieldMessage(error: unknown, field: string): string | null {
  if (!(error instanceof CastellanError)) return null;
  const found = error.fields.find((one) => one.field === field);
  return found ? (t.byField[found.code] ?? t.byCode[found.code] ?? found.message) : null;
}
