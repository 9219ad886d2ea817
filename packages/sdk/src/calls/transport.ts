// Sends a call, reads its response and repeats it where that is safe. It must not know sessions or tokens.
import type { FieldError } from '../api.ts';
import type { Environment } from '../environment.ts';
import { CastellanError, type CastellanErrorDetails } from '../errors.ts';
import type { Call } from './call.ts';
import { withTimeout } from './waiting.ts';

export type RetryOptions = {
  /** How often a call is sent at most. Default: 3. */
  attempts?: number | undefined;
  /** How long a call waits between attempts, in total. Default: 30,000 ms. */
  maxWaitMs?: number | undefined;
};

/** The options of a client, with their defaults. */
export type Settings = { baseUrl: string; timeoutMs: number; attempts: number; maxWaitMs: number };

/** What a call may still spend on retries. */
export type Budget = { attempts: number; waitMs: number };

export const budgetOf = ({ attempts, maxWaitMs }: Settings): Budget => ({ attempts, waitMs: maxWaitMs });

/** A response: the result of the operation, and its headers. */
export type Answer<T = unknown> = { result: T; status: number; headers: Headers };

/** Sends a call with credentials. */
export type Send = (call: Call) => Promise<Answer>;

type Host = Pick<Environment, 'fetch' | 'now' | 'random' | 'sleep'>;

const FIRST_PAUSE_MS = 250; // after a network error; it doubles each time
const JITTER = 0.25; // of a pause, so that clients that were refused together do not return together

/** Rejects with a CastellanError, or with the reason of the call's signal. Spends the budget. */
export async function send(host: Host, call: Call, budget: Budget, init: RequestInit): Promise<Answer> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs *= 2) {
    try {
      return await attempt(host, call, init);
    } catch (error) {
      const wait = waitBefore(error, call, pauseMs);
      if (wait === undefined || budget.attempts <= 1 || wait > budget.waitMs) throw error;
      budget.attempts -= 1;
      const waitMs = Math.min(wait * (1 + JITTER * host.random()), budget.waitMs);
      budget.waitMs -= waitMs;
      await host.sleep(waitMs, call.signal);
    }
  }
}

/** Returns after how many milliseconds the call may be repeated; undefined if it must not be. */
function waitBefore(error: unknown, call: Call, pauseMs: number): number | undefined {
  if (!(error instanceof CastellanError)) return undefined;
  if (error.code === 'network_error') return call.isRepeatable ? pauseMs : undefined;
  // 429 and this conflict mean that the service did nothing.
  const isRefusedUnread = error.status === 429 || error.code === 'idempotency_in_progress';
  return isRefusedUnread || (error.status === 503 && call.isIdempotent)
    ? (error.retryAfterMs ?? undefined)
    : undefined;
}

async function attempt(host: Host, call: Call, init: RequestInit): Promise<Answer> {
  const { timeoutMs, signal } = call;
  return withTimeout({ timeoutMs, signal, isStream: call.result === 'stream' }, async (signal) => {
    const response = await fetchOnce(host, call, { ...init, signal });
    const { ok, status, headers } = response;
    if (status === 304)
      throw failure(response, 'not_modified', 'The response has not changed since the one with this ETag.');
    // Browsers hide what a redirect is. Following it could take a token to another host.
    if (response.type === 'opaqueredirect' || (status >= 300 && status < 400))
      throw malformed(response, 'is a redirect, which is not followed. Check baseUrl');
    if (ok && call.result === 'stream') return { result: checkStream(response), status, headers };
    const text = await textOf(response, signal);
    if (!ok) throw refusalOf(response, text, host.now());
    return { result: resultOf(response, text, call), status, headers };
  });
}

async function fetchOnce({ fetch }: Host, call: Call, init: RequestInit): Promise<Response> {
  const { method, headers, body } = call;
  try {
    return await fetch(call.url, { ...init, method, headers, body, redirect: 'manual' });
  } catch (cause) {
    init.signal?.throwIfAborted();
    throw new CastellanError('network_error', 'The service could not be reached.', { cause });
  }
}

async function textOf(response: Response, signal: AbortSignal): Promise<string> {
  try {
    return await response.text();
  } catch (cause) {
    signal.throwIfAborted();
    throw malformed(response, 'ended too early', { cause });
  }
}

function resultOf(response: Response, text: string, call: Call): unknown {
  const mayBeEmpty = response.status === 204 || call.result === 'json or nothing';
  if (mayBeEmpty && text === '') return undefined;
  const body = objectOf(response, text);
  if (!body) throw malformed(response, 'is not a JSON object');
  return body;
}

function checkStream(response: Response): Response {
  if (typeOf(response, /^\w+\/(x-ndjson|csv|plain)\b/)) return response;
  throw malformed(response, 'is not a text');
}

const typeOf = (response: Response, type: RegExp): boolean =>
  type.test(response.headers.get('content-type') ?? '');

/** Returns null if the response is not a JSON object. */
function objectOf(response: Response, text: string): Record<string, unknown> | null {
  if (!typeOf(response, /^application\/([\w.-]+\+)?json\b/)) return null;
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null;

const failure = (
  { status, headers }: Response,
  code: string,
  message: string,
  details?: CastellanErrorDetails,
): CastellanError =>
  new CastellanError(code, message, { ...details, status, requestId: headers.get('x-request-id') });

const malformed = (response: Response, problem: string, details?: CastellanErrorDetails): CastellanError =>
  failure(response, 'malformed_response', `The response with status ${response.status} ${problem}.`, details);

/** Reads the errors of the service: `{detail, code, …}`, and `{error, error_description}` of the token services. */
function refusalOf(response: Response, text: string, nowMs: number): CastellanError {
  const body = objectOf(response, text);
  const retryAfterMs = readRetryAfter(response.headers.get('retry-after'), nowMs);
  const code = body?.code ?? body?.error;
  if (typeof code !== 'string') return malformed(response, 'has no error code', { retryAfterMs });
  return failure(response, code, messageOf(body) ?? code, {
    fields: fieldsOf(body?.errors),
    reasons: reasonsOf(body?.detail),
    retryAfterMs,
    body,
  });
}

function messageOf(body: Record<string, unknown> | null): string | undefined {
  const detail = isRecord(body?.detail) ? body.detail.message : (body?.detail ?? body?.error_description);
  return typeof detail === 'string' ? detail : undefined;
}

const reasonsOf = (detail: unknown): string[] =>
  isRecord(detail) && Array.isArray(detail.errors)
    ? detail.errors.filter((one) => typeof one === 'string')
    : [];

const isFieldError = (value: unknown): value is FieldError =>
  isRecord(value) && [value.field, value.code, value.message].every((one) => typeof one === 'string');

const fieldsOf = (errors: unknown): FieldError[] =>
  Array.isArray(errors) ? errors.filter(isFieldError) : [];

/** Returns milliseconds for seconds or a date (RFC 9110, 10.2.3); null if it is neither. */
function readRetryAfter(text: string | null, nowMs: number): number | null {
  if (text === null) return null;
  if (/^\d+$/.test(text)) return Number(text) * 1_000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - nowMs);
}
