import { withTimeout } from '../calls/waiting.ts';
import { CastellanError } from '../errors.ts';
import { GuardError } from './errors.ts';
import { isRecord, type Json } from './json.ts';

export type TransportOptions = {
  /** URL of Castellan, with the path that it is mounted below, without a slash at the end. */
  baseUrl: string;
  apiKey: string;
  /** Limit for the whole exchange, body included, in ms. */
  timeoutMs: number;
  /** How far the clock of Castellan and this one may differ, in ms. */
  clockToleranceMs: number;
  fetch: typeof fetch;
};

export type Transport = {
  get(path: string): Promise<Json>;
  post(path: string, body: URLSearchParams | Json, headers?: Readonly<Record<string, string>>): Promise<Json>;
};

/** The answer 400 or 413: a part of the question, or its size, is at fault. */
export class RefusedQuestion extends GuardError {}

/** The longest answer that is read; a list of every permission of a superuser is far below. */
const MOST_BYTES = 8 * 1024 * 1024;

const unavailable = (message: string, cause?: unknown): GuardError =>
  new GuardError('unavailable', message, { cause });

/**
 * Returns functions that ask Castellan and return the parsed JSON object of a 200. Everything else is a `GuardError` with
 * `unavailable`: another status, a redirect, another content type, a body that is cut or no JSON object, a timeout.
 */
export function createTransport(options: TransportOptions): Transport {
  const { baseUrl, apiKey, timeoutMs } = options;

  async function exchange(path: string, init: RequestInit): Promise<Json> {
    try {
      return await withTimeout({ timeoutMs, signal: undefined, isStream: false }, async (signal) => {
        const send = (): Promise<Response> =>
          // A redirect could carry the key to another host, or the answer from one.
          options.fetch(baseUrl + path, { ...init, redirect: 'manual', signal });
        // A kept connection may end just when it is used again. A question changes nothing, so it can be asked twice.
        const response = await send().catch(send);
        // Only the key set may come from a cache, with an earlier date.
        if (init.method === 'POST') checkClock(response.headers.get('date'), options.clockToleranceMs);
        return read(response, path);
      });
    } catch (error) {
      if (error instanceof GuardError) throw error;
      throw error instanceof CastellanError
        ? unavailable(`No answer of ${path} within ${timeoutMs} ms.`)
        : unavailable(`${path} could not be asked, or its answer could not be read.`, error);
    }
  }

  const authorization = `Bearer ${apiKey}`;
  return {
    get: (path) => exchange(path, { headers: { accept: 'application/json' } }),
    post: (path, body, more) =>
      exchange(
        path,
        body instanceof URLSearchParams
          ? { method: 'POST', headers: { authorization, accept: 'application/json' }, body }
          : {
              method: 'POST',
              headers: {
                authorization,
                accept: 'application/json',
                'content-type': 'application/json',
                ...more,
              },
              body: JSON.stringify(body),
            },
      ),
  };
}

async function read(response: Response, path: string): Promise<Json> {
  const { status, headers } = response;
  if (status !== 200) {
    await response.body?.cancel();
    throw refusedAnswer(status, headers, path);
  }
  if (!/^application\/(?:json|jwk-set\+json)(?:\s*;|$)/i.test(headers.get('content-type') ?? ''))
    throw unavailable(`The answer of ${path} is no JSON. Check baseUrl.`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(await textOf(response, path));
  } catch (error) {
    if (error instanceof SyntaxError) throw unavailable(`The answer of ${path} is no valid JSON.`, error);
    throw error;
  }
  if (!isRecord(parsed)) throw unavailable(`The answer of ${path} is no JSON object.`);
  return parsed;
}

function refusedAnswer(status: number, headers: Headers, path: string): GuardError {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  const hint =
    status === 401 || status === 403
      ? ' The API key must be live and have the role Service (token.introspect, access.check).'
      : '';
  const Refusal = status === 400 || status === 413 ? RefusedQuestion : GuardError;
  return new Refusal('unavailable', `${path} answered ${status || 'with a redirect'}.${hint}`, {
    ...(Number.isInteger(seconds) && seconds >= 0 ? { retryAfterSeconds: seconds } : {}),
  });
}

/** Throws if the clocks differ so much that the times in a token mean nothing. The header has whole seconds. */
function checkClock(date: string | null, toleranceMs: number): void {
  if (date === null) return;
  const difference = Math.abs(Date.parse(date) - Date.now());
  if (Number.isNaN(difference) || difference > toleranceMs + 1_000)
    throw unavailable('The clocks of this machine and of Castellan differ too much. Synchronize them.');
}

async function textOf(response: Response, path: string): Promise<string> {
  if (response.body === null) return '';
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = response.body.getReader();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > MOST_BYTES) {
      await reader.cancel();
      throw unavailable(`The answer of ${path} is too long.`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
