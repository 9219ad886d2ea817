// A reader of the change feed, over HTTP: the messages of its stream, in order.
// It must not interpret them: tests do.
import assert from 'node:assert/strict';
import { type IncomingMessage, request as requestHttp } from 'node:http';

type FeedMessage = {
  event: string;
  id?: string;
  data: {
    at?: number;
    live?: boolean;
    resumed?: boolean;
    beat_ms?: number;
    reason?: string;
    retry_ms?: number;
    changes?: { type: string; id: string; role_ids?: string[] | null; permission_ids?: string[] | null }[];
  };
};

export type FeedReader = {
  /** Every message so far. */
  readonly messages: FeedMessage[];
  readonly response: IncomingMessage;
  /** Every change so far. */
  changes(): { type: string; id: string }[];
  /** Waits for a message that meets the condition, among all from the beginning. */
  until(met: (message: FeedMessage) => boolean, what: string): Promise<FeedMessage>;
  /** Waits for a change. */
  change(type: string, id?: string): Promise<void>;
  /** The id of the last message that has one. */
  cursor(): string;
  /** Resolves when the service has ended the stream, or cut it off. */
  ended: Promise<void>;
  close(): void;
};

/** Ends a test that hangs; not a limit on speed. */
const HANG_MS = 60_000;

/** Opens a stream. Rejects with the status and the body if it is refused. */
export async function openFeed(
  url: string,
  credential: string,
  { cursor, paused = false }: { cursor?: string; paused?: boolean } = {},
): Promise<FeedReader> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = requestHttp(`${url}/api/v1/access/feed`, {
      agent: false,
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${credential}`,
        ...(cursor === undefined ? {} : { 'last-event-id': cursor }),
      },
    });
    request.once('error', reject).once('response', resolve).end();
  });
  if (response.statusCode !== 200) {
    let body = '';
    for await (const part of response.setEncoding('utf8')) body += part;
    throw Object.assign(new Error(`${response.statusCode} ${body}`), { status: response.statusCode, body });
  }
  const messages: FeedMessage[] = [];
  const looks = new Set<() => void>();
  let rest = '';
  response.setEncoding('utf8').on('data', (part: string) => {
    const texts = (rest + part).split('\n\n');
    rest = texts.pop() ?? '';
    messages.push(...texts.map(messageIn));
    for (const look of looks) look();
  });
  if (paused) response.pause();
  const ended = new Promise<void>((resolve) => {
    response.once('error', () => resolve()).once('close', () => resolve());
  });
  const reader: FeedReader = {
    messages,
    response,
    ended,
    changes: () => messages.flatMap(({ data }) => data.changes ?? []),
    until: (met, what) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          looks.delete(look);
          reject(new Error(`no message of the feed within ${HANG_MS} ms: ${what}`));
        }, HANG_MS);
        const look = (): void => {
          const found = messages.find(met);
          if (!found) return;
          clearTimeout(late);
          looks.delete(look);
          resolve(found);
        };
        looks.add(look);
        look();
      }),
    async change(type, id) {
      await reader.until(
        ({ data }) =>
          data.changes?.some((one) => one.type === type && (id === undefined || one.id === id)) ?? false,
        `${type} ${id ?? ''}`,
      );
    },
    cursor: () => {
      const id = messages.findLast((one) => one.id !== undefined)?.id;
      assert.ok(id);
      return id;
    },
    close: () => void response.destroy(),
  };
  return reader;
}

/** Opens a stream and waits until no change can be missing. */
export async function openLiveFeed(url: string, credential: string, cursor?: string): Promise<FeedReader> {
  const reader = await openFeed(url, credential, cursor === undefined ? {} : { cursor });
  await reader.until(({ data }) => data.live === true, 'live');
  return reader;
}

function messageIn(text: string): FeedMessage {
  const lines = text
    .split('\n')
    .map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2)]);
  const fields = Object.fromEntries(lines);
  return {
    event: fields.event,
    ...(fields.id === undefined ? {} : { id: fields.id }),
    data: JSON.parse(fields.data),
  };
}
