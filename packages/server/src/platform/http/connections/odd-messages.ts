// Refuses complete messages that a proxy and this server could read differently (request smuggling).
// It must not look at what a message requests.
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../errors.ts';

// RFC 3986, 3.2.2 and 3.2.3, without user information: a name or address, and a port. Empty is allowed (RFC 9110, 7.2).
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;

/** Throws `malformed_request` (400). The service does not use Host, but a proxy in front of it may. */
export function refuseOddMessage(message: IncomingMessage): void {
  // The parser also accepts 0.9 and 2.0 as versions of this syntax.
  if (message.httpVersionMajor !== 1)
    throw new AppError('malformed_request', {
      detail: 'The HTTP version is not supported. Use HTTP/1.1.',
      headers: { connection: 'close' },
    });
  const { host, authorization, 'transfer-encoding': coding } = message.headers;
  // RFC 9112, 3.2.
  if (host === undefined ? message.httpVersion === '1.1' : !HOST.test(host) || count(message, 'host') > 1)
    throw new AppError('malformed_request', {
      detail:
        host === undefined ? 'The Host header is missing.' : 'The Host header must name exactly one host.',
    });
  // A proxy that checks the last one would let the first one pass.
  if (authorization !== undefined && count(message, 'authorization') > 1)
    throw new AppError('malformed_request', { detail: 'Send one Authorization header.' });
  // Node decodes chunked and no other coding. HTTP/1.0 has no transfer codings (RFC 9112, 6.1).
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || message.httpVersion === '1.0'))
    throw new AppError('malformed_request', {
      detail:
        'The Transfer-Encoding is not supported. Send the body with chunked, or without Transfer-Encoding.',
      headers: { connection: 'close' },
    });
}

/** Returns the number of headers with this name, in lower case: `headers` has only the first. */
function count({ rawHeaders }: IncomingMessage, header: string): number {
  let found = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length === header.length && name.toLowerCase() === header) found += 1;
  }
  return found;
}
