// Answers what never became a request: malformed HTTP, oversized headers, senders that were too slow.
// It must not answer in the place of a request that came before on the same connection.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '@castellan/contract/errors';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import { errorBody } from './error-answers.ts';
import { exchangesOf } from './pipelining.ts';
import { securityHeaders } from './security-headers.ts';

const codes: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** How long a peer may take to read the last answer and to close: destroying at once could take it from him. */
const LINGER_MS = 2_000;

/** Broken connections with answers to come. */
const waiting = new WeakSet<Socket>();
/** Broken connections whose last answer is written. */
const leaving = new WeakSet<Socket>();

export function answerBrokenRequest(failure: NodeJS.ErrnoException, socket: Socket): void {
  if (failure.code === 'ECONNRESET' || socket.destroyed) return;
  const exchanges = exchangesOf(socket);
  const earlier = exchanges.findLast(({ request, response }) => request.complete && !response.closed);
  // Answers come in the order of the requests.
  if (earlier) {
    // What comes behind a broken request breaks as well, and is part of it.
    if (waiting.has(socket)) return;
    waiting.add(socket);
    earlier.response.once('close', () => {
      waiting.delete(socket);
      answerBrokenRequest(failure, socket);
    });
    return;
  }
  // A request whose body broke off may have been answered already, for its headers alone.
  const answered = exchanges.some(({ request, response }) => !request.complete && response.headersSent);
  leave(socket, answered ? '' : answerTo(failure));
}

/** Whoever asked for a tunnel gets no answer from Node, and a socket that nobody looks after. */
export function refuseTunnel(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  answerBrokenRequest(new Error('no tunnel'), socket);
}

/** Ends the connection behind whatever was written to it. */
function leave(socket: Socket, last: string): void {
  if (leaving.has(socket)) return;
  leaving.add(socket);
  if (socket.writable) socket.end(last);
  const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
  socket.once('close', () => clearTimeout(timer));
}

function answerTo(failure: NodeJS.ErrnoException): string {
  const error = new AppError(codes[failure.code ?? ''] ?? 'malformed_request');
  const requestId = newId();
  const body = JSON.stringify(errorBody(error, requestId));
  const headers = {
    ...securityHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    'cache-control': 'no-store',
    'x-request-id': requestId,
    connection: 'close',
  };
  const head = Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('');
  return `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${head}\r\n${body}`;
}
