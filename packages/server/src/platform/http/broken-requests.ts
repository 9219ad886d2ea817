// Answers what never became a request: malformed HTTP, oversized headers, senders that were too slow.

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { ErrorCode } from '@castellan/contract/errors';
import { AppError } from '../errors.ts';
import { newId } from '../ids.ts';
import { errorBody } from './error-answers.ts';
import { securityHeaders } from './security-headers.ts';

const codes: Record<string, ErrorCode> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};

export function answerBrokenRequest(failure: NodeJS.ErrnoException, socket: Socket): void {
  if (failure.code === 'ECONNRESET' || socket.destroyed) return;
  if (!socket.writable) {
    socket.destroy();
    return;
  }
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
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\n${head}\r\n${body}`);
}
