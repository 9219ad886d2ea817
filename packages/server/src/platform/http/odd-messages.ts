// Refuses messages that are whole, but that two readers could take for two different ones.
// It must not look at what a message asks for.
import type { IncomingMessage } from 'node:http';
import { AppError } from '../errors.ts';

// RFC 3986, 3.2.2 and 3.2.3, without user information: a name or address, and a port. Empty is allowed (RFC 9110, 7.2).
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-fA-F:.]+\])(?::\d{0,5})?$/;

/** Throws 400. The service itself uses no Host: what is in front of it may. */
export function refuseOddMessage(message: IncomingMessage): void {
  // The parser also takes 0.9 and 2.0 for versions of this syntax.
  if (message.httpVersionMajor !== 1)
    throw new AppError('malformed_request', { detail: 'Speak HTTP/1.1.', headers: { connection: 'close' } });
  const { host, 'transfer-encoding': coding } = message.headers;
  // RFC 9112, 3.2.
  if (host === undefined ? message.httpVersion === '1.1' : !HOST.test(host) || countHosts(message) > 1)
    throw new AppError('malformed_request', {
      detail: host === undefined ? 'The Host header is missing.' : 'The Host header is not one host.',
    });
  // Node takes the chunks off and leaves every other coding on. HTTP/1.0 knows no coding at all (RFC 9112, 6.1).
  if (coding !== undefined && (coding.toLowerCase() !== 'chunked' || message.httpVersion === '1.0'))
    throw new AppError('malformed_request', {
      detail: 'Send the body without any Transfer-Encoding but chunked.',
      headers: { connection: 'close' },
    });
}

/** Node keeps the first and says nothing of the others. */
function countHosts({ rawHeaders }: IncomingMessage): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
