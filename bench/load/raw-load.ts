// Sends one request after another on each of several connections and counts the answers. It costs a fraction of an HTTP
// client, so that a load on one core can keep a server on another one busy.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');
const LAST_CHUNK = Buffer.from('\r\n0\r\n\r\n');

/** Returns the bytes of a complete answer; undefined while its head is incomplete. Throws unless it is a 200. */
function lengthOf(bytes: Buffer): number | undefined {
  const head = bytes.indexOf(HEAD_END);
  if (head < 0) return undefined;
  const text = bytes.toString('latin1', 0, head);
  const length = /^content-length: (\d+)$/im.exec(text)?.[1];
  const isChunked = /^transfer-encoding: chunked$/im.test(text);
  if (!text.startsWith('HTTP/1.1 200') || (length === undefined && !isChunked))
    throw new Error(`unexpected answer: ${text}`);
  if (isChunked) return bytes.subarray(-LAST_CHUNK.length).equals(LAST_CHUNK) ? bytes.length : undefined;
  return head + HEAD_END.length + Number(length);
}

/** Sends GET requests for about `seconds`; each connection has the headers of one of `callers`. */
export async function closedLoop(
  url: string,
  path: string,
  callers: readonly Record<string, string>[],
  connections: number,
  seconds: number,
): Promise<{ answers: number; seconds: number }> {
  const { hostname, port, host } = new URL(url);
  let answers = 0;
  let running = true;
  const open = async (number: number): Promise<Socket> => {
    const headers = Object.entries(callers[number % callers.length] ?? {}).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    const request = Buffer.from(`GET ${path} HTTP/1.1\r\nhost: ${host}\r\n${headers.join('')}\r\n`);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    await once(socket, 'connect');
    // All answers of a connection have the same length: only the first one is parsed.
    let length: number | undefined;
    let received = Buffer.alloc(0);
    let missing = 0;
    socket.on('data', (chunk) => {
      if (length === undefined) {
        received = Buffer.concat([received, chunk]);
        length = lengthOf(received);
        missing = (length ?? 0) - received.length;
      } else {
        if (missing === length && chunk.toString('latin1', 9, 12) !== '200')
          throw new Error(`unexpected answer: ${chunk.toString('latin1', 0, 200)}`);
        missing -= chunk.length;
      }
      if (length === undefined || missing > 0) return;
      if (missing < 0) throw new Error('the answers of a connection differ in length');
      missing = length;
      answers += 1;
      if (running) socket.write(request);
      else socket.end();
    });
    socket.write(request);
    return socket;
  };
  const begin = performance.now();
  const sockets = await Promise.all(Array.from({ length: connections }, (_, number) => open(number)));
  const timer = setTimeout(() => {
    running = false;
  }, seconds * 1_000);
  await Promise.all(sockets.map((socket) => once(socket, 'close')));
  clearTimeout(timer);
  return { answers, seconds: (performance.now() - begin) / 1_000 };
}
