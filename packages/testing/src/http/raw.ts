// Sends bytes that no well-behaved client sends, and reads every answer until the service closes the connection.
// It must not be lenient: an answer that is not well-formed HTTP fails every test.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Answer } from '../client.ts';
import { parse } from '../volley.ts';

// The service's own timeouts end every request earlier.
const CLOSE_TIMEOUT_MS = 60_000;

/** One header field of an answer: a token, then visible ASCII characters with single spaces between them. */
const FIELD = /^[a-z0-9-]+: [\x21-\x7e]+( [\x21-\x7e]+)*$/i;

/** `heads`: the indexes of the answers to HEAD, which have a Content-Length but no body. */
export type RawOptions = { heads?: readonly number[] };

/** Sends these bytes. Resolves with the answers in order once the service has closed the connection. */
export function exchange(url: string, bytes: string | Buffer, options: RawOptions = {}): Promise<Answer[]> {
  const { hostname, port } = new URL(url);
  const { promise, resolve, reject } = Promise.withResolvers<Answer[]>();
  const chunks: Buffer[] = [];
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  socket.setTimeout(CLOSE_TIMEOUT_MS, () => socket.destroy(new Error('the connection stayed open')));
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  // The service may close while bytes are still being sent; the answers before that count.
  socket.on('error', (error: NodeJS.ErrnoException) => {
    if (!['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) reject(error);
  });
  socket.on('close', () => {
    try {
      resolve(answersIn(Buffer.concat(chunks), options));
    } catch (error) {
      reject(error);
    }
  });
  socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  return promise;
}

/** Splits a stream into its answers. Throws for bytes before, between or after them. */
export function answersIn(stream: Buffer, { heads = [] }: RawOptions = {}): Answer[] {
  const answers: Answer[] = [];
  for (let start = 0; start < stream.length; ) {
    const end = stream.indexOf('\r\n\r\n', start);
    assert.ok(end >= 0, `no whole answer: ${stream.subarray(start).toString('latin1')}`);
    const head = stream.subarray(start, end).toString('latin1');
    assertWellFormed(head);
    const status = Number(head.slice(9, 12));
    const bodiless = status < 200 || status === 204 || status === 304 || heads.includes(answers.length);
    const length = /^content-length: (\d+)$/im.exec(head)?.[1];
    assert.ok(bodiless || length !== undefined, `no length: ${head}`);
    const next = end + 4 + (bodiless ? 0 : Number(length));
    assert.ok(next <= stream.length, `cut short: ${head}`);
    const message = stream.subarray(start, next);
    answers.push(parse(bodiless ? Buffer.from(`${withoutLength(head)}\r\n\r\n`, 'latin1') : message));
    start = next;
  }
  return answers;
}

const withoutLength = (head: string): string => head.replace(/\r\ncontent-length: \d+/i, '');

function assertWellFormed(head: string): void {
  const [start = '', ...fields] = head.split('\r\n');
  assert.match(start, /^HTTP\/1\.1 \d{3} [A-Za-z' -]+$/);
  const names = fields.map((field) => field.slice(0, field.indexOf(':')).toLowerCase());
  for (const field of fields) assert.match(field, FIELD, head);
  const twice = names.filter((name, index) => name !== 'set-cookie' && names.indexOf(name) !== index);
  assert.deepEqual(twice, [], head);
}

let counter = 0;
/** Returns an X-Request-ID that no other request has, to find the request in the log. */
export function newRequestId(what = 'raw'): string {
  counter += 1;
  return `${what}-${process.pid}-${counter}`;
}

/** A request to pipeline after a test case: it is answered only if the service still trusts the connection's framing. */
export const canary = (id: string): string =>
  `GET /health/live HTTP/1.1\r\nHost: a\r\nX-Request-ID: ${id}\r\nConnection: close\r\n\r\n`;
