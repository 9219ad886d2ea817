// Holds a stream of changes (server-sent events): connects, reads messages, and connects again.
// It must not know what a change means.
import { abortable, sleep } from '../../calls/waiting.ts';
import { ageOf, type Moment, momentNow } from '../cache.ts';
import { GuardError } from '../errors.ts';
import { isRecord, type Json } from '../json.ts';

const FEED = '/api/v1/access/feed';
/** Castellan ends streams after 15 minutes, so that the clocks of both sides do not drift apart. */
const LONGEST_STREAM_MS = 960_000;
const WATCH_MS = 250;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
const REFUSED_PAUSE_MS = 60_000;
/** The longest message that is read. */
const MOST_CHARACTERS = 4 * 1024 * 1024;

/** One connection. `at`: everything that was committed before is known, in ms since the request arrived. */
export type Stream = {
  /** When the request was sent: before it arrived, so `at` on this clock is never too late. */
  readonly askedAt: Moment;
  at: number;
  isLive: boolean;
  /** Whether it has said what it follows on. */
  hasBegun: boolean;
};

/** `data` is undefined for a message that cannot be read. Returns the pause after which to connect again, to end the stream. */
type OnMessage = (stream: Stream, name: string, data: Json | undefined) => number | undefined;

export type FeedOptions = {
  baseUrl: string;
  apiKey: string;
  maxSilenceMs: number;
  fetch: typeof fetch;
  onMessage: OnMessage;
  /** Is told why there is no stream. `isRefused`: Castellan has none for this key. */
  onFailure: (error: GuardError, isRefused: boolean) => void;
};

/** How old the state is that the stream has told, in ms, by the clock that says more. */
export const ageOfStream = ({ askedAt, at }: Stream): number => ageOf(askedAt) - at;

class Refused extends GuardError {}

/** Follows the feed until `signal` aborts. Never rejects. */
export async function followFeed(options: FeedOptions, signal: AbortSignal): Promise<void> {
  const { baseUrl, apiKey, maxSilenceMs, onMessage, onFailure } = options;
  let cursor = '';
  let failures = 0;

  /** Reads one stream to its end. Returns the pause that its end asks for. */
  async function readStream(stream: Stream, ending: AbortSignal): Promise<number | undefined> {
    const headers = {
      authorization: `Bearer ${apiKey}`,
      accept: 'text/event-stream',
      ...(cursor && { 'last-event-id': cursor }),
    };
    const init: RequestInit = { headers, redirect: 'manual', cache: 'no-store', signal: ending };
    const response = await abortable(options.fetch(baseUrl + FEED, init), ending);
    if (response.status !== 200) {
      // A cursor that Castellan cannot read is of no use, and without one it tells to begin anew.
      if (response.status === 400) cursor = '';
      await response.body?.cancel();
      throw refusalFor(response);
    }
    if (!response.body || !/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? ''))
      throw new Refused('unavailable', `The answer of ${FEED} is no stream of events. Check baseUrl.`);
    for await (const { name, id, data } of eventsIn(response.body, ending)) {
      const pause = onMessage(stream, name, jsonOf(data));
      if (id !== undefined) cursor = id;
      if (pause !== undefined) return pause;
      if (name === 'beat') failures = 0;
    }
    return undefined;
  }

  async function runStream(): Promise<number> {
    const stream: Stream = { askedAt: momentNow(), at: 0, isLive: false, hasBegun: false };
    const ending = new AbortController();
    const end = (): void => ending.abort(signal.reason);
    signal.addEventListener('abort', end);
    const silent = (): void =>
      ending.abort(new GuardError('unavailable', `${FEED} was silent for ${maxSilenceMs} ms.`));
    const watch = setInterval(() => {
      if (ageOf(stream.askedAt) > LONGEST_STREAM_MS) ending.abort();
      else if (ageOf(stream.askedAt) - Math.max(stream.at, 0) > maxSilenceMs) silent();
    }, WATCH_MS);
    try {
      const pause = await readStream(stream, ending.signal);
      if (pause !== undefined) return pause;
    } catch (error) {
      const reason: unknown = ending.signal.aborted ? ending.signal.reason : error;
      if (signal.aborted || (ending.signal.aborted && !(reason instanceof GuardError))) return 0;
      const refused = reason instanceof GuardError ? reason : unreadable(reason);
      onFailure(refused, reason instanceof Refused);
      if (reason instanceof Refused) return REFUSED_PAUSE_MS;
      const { retryAfterSeconds } = refused;
      if (retryAfterSeconds) return Math.min(retryAfterSeconds * 1_000, REFUSED_PAUSE_MS);
    } finally {
      clearInterval(watch);
      signal.removeEventListener('abort', end);
      ending.abort();
    }
    failures += 1;
    return Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS) * (0.5 + Math.random() / 2);
  }

  while (!signal.aborted) await sleep(await runStream(), signal).catch(() => undefined);
}

const unreadable = (cause: unknown): GuardError =>
  new GuardError('unavailable', `${FEED} could not be read.`, { cause });

function refusalFor({ status, headers }: Response): GuardError {
  const hint =
    status === 404
      ? ' This Castellan has no feed, or it is switched off (FEED).'
      : ' The API key must be live and have the role Service (access.watch).';
  const isRefused = status < 400 || [401, 403, 404, 406].includes(status);
  if (isRefused) return new Refused('unavailable', `${FEED} answered ${status || 'with a redirect'}.${hint}`);
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return new GuardError('unavailable', `${FEED} answered ${status}.`, {
    ...(Number.isInteger(seconds) && seconds > 0 ? { retryAfterSeconds: seconds } : {}),
  });
}

function jsonOf(text: string): Json | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

type Event = { name: string; id: string | undefined; data: string };

/** Returns the events of a stream. Throws for bytes that are no UTF-8, and for a line without an end. */
async function* eventsIn(body: ReadableStream<Uint8Array>, signal: AbortSignal): AsyncGenerator<Event> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const reader = body.getReader();
  let rest = '';
  let fields: Record<string, string> = {};
  try {
    for (;;) {
      const { done, value } = await abortable(reader.read(), signal);
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r?\n/);
      rest = lines.pop() ?? '';
      if (rest.length > MOST_CHARACTERS) throw new TypeError('a message is too long');
      for (const line of lines) {
        if (line !== '') {
          const [, name = '', text = ''] = /^(\w*)(?:: ?(.*))?$/s.exec(line) ?? [];
          fields[name] = name === 'data' && fields.data !== undefined ? `${fields.data}\n${text}` : text;
          continue;
        }
        const { event = 'message', id, data } = fields;
        fields = {};
        if (data !== undefined) yield { name: event, id, data };
      }
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
