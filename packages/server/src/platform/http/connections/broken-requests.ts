// Answers messages that never became a request: malformed HTTP, oversized headers, slow senders.
// It must not answer before the earlier requests of the same connection are answered.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '@castellan/contract/errors';
import { AppError } from '../../errors.ts';
import { newId } from '../../ids.ts';
import { errorBody } from '../answers/error-answers.ts';
import { securityHeaders } from '../security-headers.ts';
import { exchangesOf } from './pipelining.ts';

const codes: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

/** Time for the client to read the last response and to close. Destroying at once could discard that response. */
const LINGER_MS = 2_000;

/** Broken connections with responses still to be sent. */
const waiting = new WeakSet<Socket>();
/** Broken connections whose last response is written. */
const leaving = new WeakSet<Socket>();

/** Answers a message that the parser refused, after the earlier requests, and closes the connection. */
export function answerBrokenRequest(failure: NodeJS.ErrnoException, socket: Socket): void {
  if (failure.code === 'ECONNRESET' || socket.destroyed) return;
  const exchanges = exchangesOf(socket);
  const earlier = exchanges.findLast(({ request, response }) => request.complete && !response.closed);
  // Responses must be sent in the order of the requests.
  if (earlier) {
    // Everything after a broken request fails to parse as well and gets no response of its own.
    if (waiting.has(socket)) return;
    waiting.add(socket);
    earlier.response.once('close', () => {
      waiting.delete(socket);
      answerBrokenRequest(failure, socket);
    });
    return;
  }
  // A request whose body was cut off may already have a response, based on its headers.
  const answered = exchanges.some(({ request, response }) => !request.complete && response.headersSent);
  leave(socket, answered ? '' : answerTo(failure));
}

/** Refuses a CONNECT request. Node sends no response to it and handles no event of its socket. */
export function refuseTunnel(socket: Socket): void {
  socket.on('error', () => socket.destroy());
  socket.resume();
  answerBrokenRequest(new Error('no tunnel'), socket);
}

/** Closes the connection after everything that was written to it. */
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
