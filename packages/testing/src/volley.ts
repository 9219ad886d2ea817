// Sends requests that arrive at the same moment: all but the last byte of each beforehand, then all last bytes in one tick.
// It must not judge answers. It does not keep cookies; they are in the answers.
import { connect, type Socket } from 'node:net';
import type { Answer, RequestOptions, TestClient } from './client.ts';
import { watchAnswer } from './secret-watch.ts';

export type Shot = {
  /** The client whose cookies and tokens are sent, at its instance (`client.at(url)` for another one). */
  client: TestClient;
  method: string;
  path: string;
  json?: unknown;
  /** Sent unchanged, such as a form; `headers` name its type. */
  raw?: string;
  headers?: RequestOptions['headers'];
  /**
   * What is sent beforehand: everything but the last byte of the body (the default; the service has authenticated the
   * caller by then), or everything but the last byte of the headers (the service has seen nothing).
   */
  hold?: 'body' | 'head';
};

// The service's own timeouts end every request earlier.
const ANSWER_TIMEOUT_MS = 60_000;
// Long enough for the service to read what was sent; a race does not need it to be exact.
const SETTLE_MS = 20;

type Loaded = { release(): void; answer: Promise<Answer> };

/** Returns the answers in the order of the shots. Rejects when a connection ends without an answer, or after 60 s. */
export async function volley(shots: readonly Shot[]): Promise<Answer[]> {
  const loaded = await Promise.all(shots.map(load));
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  for (const { release } of loaded) release();
  return Promise.all(loaded.map(({ answer }) => answer));
}

async function load({ client, method, path, json, raw, headers, hold = 'body' }: Shot): Promise<Loaded> {
  const options = {
    ...(json === undefined ? {} : { json }),
    ...(raw === undefined ? {} : { raw }),
    ...(headers === undefined ? {} : { headers }),
  };
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
  // Awaited only after all requests are loaded; until then a rejection must not be unhandled.
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
  // `connection: close` ends it with `end`. Any other close must not leave the volley waiting.
  socket.on('close', () => reject(new Error('the connection closed before an answer')));
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

/** Parses one whole HTTP/1.1 answer that ends with its connection. The service sends no chunked answers. */
export function parse(message: Buffer): Answer {
  const end = message.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`the connection ended after ${message.length} bytes, inside the headers`);
  const [start = '', ...lines] = message.subarray(0, end).toString('latin1').split('\r\n');
  const headers = new Headers();
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers.append(line.slice(0, colon), line.slice(colon + 1).trim());
  }
  const text = message.subarray(end + 4).toString('utf8');
  const length = headers.get('content-length');
  if (length !== null && Number(length) !== Buffer.byteLength(text))
    throw new Error(`${Buffer.byteLength(text)} of ${length} bytes came`);
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
