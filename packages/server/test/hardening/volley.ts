// Requests that arrive at the same moment: each is sent but for its last byte, and the last bytes go out in one tick.
// It must not judge answers. Cookies that come back are not kept: what a volley brings is in its answers.
import { connect, type Socket } from 'node:net';
import type { Answer, RequestOptions, TestClient } from '../client.ts';
import { watchAnswer } from '../secret-watch.ts';

export type Shot = {
  /** Whose cookies and tokens, and which instance (`client.at(url)` for another one). */
  client: TestClient;
  method: string;
  path: string;
  json?: unknown;
  headers?: RequestOptions['headers'];
  /**
   * Up to where it is sent beforehand: to the last byte of the body (the service has looked at the caller by then,
   * which is the default), or to the last byte of the headers (the service has seen nothing).
   */
  hold?: 'body' | 'head';
};

// The service's own time-outs end every request before.
const ANSWER_TIMEOUT_MS = 45_000;
// Enough for the service to have read what came; a race does not need it to be exact.
const SETTLE_MS = 20;

type Loaded = { release(): void; answer: Promise<Answer> };

/** Answers in the order of the shots. Rejects when a connection breaks without an answer, or none comes in 45 s. */
export async function volley(shots: readonly Shot[]): Promise<Answer[]> {
  const loaded = await Promise.all(shots.map(load));
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  for (const { release } of loaded) release();
  return Promise.all(loaded.map(({ answer }) => answer));
}

async function load({ client, method, path, json, headers, hold = 'body' }: Shot): Promise<Loaded> {
  const options = { ...(json === undefined ? {} : { json }), ...(headers === undefined ? {} : { headers }) };
  const prepared = await client.prepare(method, options);
  const { hostname, port, host } = new URL(client.url);
  const body = Buffer.from(prepared.body ?? '');
  const head = [
    `${method} ${path} HTTP/1.1`,
    `host: ${host}`,
    'connection: close',
    ...(body.length > 0 ? [`content-length: ${body.length}`] : []),
    ...prepared.headers.map(([name, value]) => `${name}: ${value}`),
    '\r\n',
  ].join('\r\n');
  const message = Buffer.concat([Buffer.from(head), body]);
  const held = hold === 'head' ? head.length - 1 : message.length - 1;
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const answer = read(socket);
  // It is awaited only after all are loaded.
  answer.catch(() => {});
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => socket.write(message.subarray(0, held), () => resolve()));
  });
  return { release: () => void socket.write(message.subarray(held)), answer };
}

function read(socket: Socket): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  socket.on('error', reject);
  socket.setTimeout(ANSWER_TIMEOUT_MS, () => socket.destroy(new Error('no answer in time')));
  // `connection: close` ends it. A connection that closes in any other way must not leave the volley waiting.
  socket.on('close', () => reject(new Error('the connection closed without an end')));
  socket.on('end', () => {
    socket.end();
    try {
      resolve(parse(Buffer.concat(chunks)));
    } catch (error) {
      reject(error);
    }
  });
  return promise;
}

/** One whole HTTP/1.1 answer whose end is the connection's; the service sends no chunked ones. */
export function parse(message: Buffer): Answer {
  const end = message.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`the connection ended after ${message.length} bytes, amid the headers`);
  const [start = '', ...lines] = message.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const text = message.subarray(end + 4).toString('utf8');
  const length = headers.get('content-length');
  if (length !== null && Number(length) !== Buffer.byteLength(text))
    throw new Error(`${Buffer.byteLength(text)} bytes came of ${length}`);
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    body = undefined;
  }
  const answer = { status: Number(start.split(' ')[1]), headers, text, body };
  watchAnswer(answer);
  return answer;
}
