import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { test } from 'node:test';
import { answerBrokenRequest } from './broken-requests.ts';

/** A socket that collects what is written to it. */
function newSocket(): { socket: Socket; written: () => string } {
  const chunks: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      chunks.push(chunk);
      done();
    },
  });
  return { socket: socket as Socket, written: () => Buffer.concat(chunks).toString() };
}

const failure = (code: string): NodeJS.ErrnoException => Object.assign(new Error('planted'), { code });

for (const [code, status, name] of [
  ['HPE_INVALID_METHOD', '400 Bad Request', 'malformed_request'],
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large', 'headers_too_large'],
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', 'request_timeout'],
] as const)
  test(`${code} is answered with a complete ${status}, and the connection closes`, () => {
    const { socket, written } = newSocket();
    answerBrokenRequest(failure(code), socket);
    const [head = '', body = ''] = written().split('\r\n\r\n');
    assert.ok(head.startsWith(`HTTP/1.1 ${status}\r\n`), head);
    assert.match(head, /\r\nconnection: close(\r\n|$)/);
    assert.match(head, /\r\nx-content-type-options: nosniff\r\n/);
    assert.equal(/content-length: (\d+)/.exec(head)?.[1], String(Buffer.byteLength(body)));
    const parsed = JSON.parse(body);
    assert.equal(parsed.code, name);
    assert.equal(parsed.request_id, /x-request-id: (\S+)/.exec(head)?.[1]);
    assert.ok(!body.includes('planted'));
    assert.equal(socket.writableEnded, true);
  });

test('a disconnected client gets nothing', () => {
  const { socket, written } = newSocket();
  answerBrokenRequest(failure('ECONNRESET'), socket);
  assert.equal(written(), '');
  socket.destroy();
  answerBrokenRequest(failure('HPE_INVALID_METHOD'), socket);
  assert.equal(written(), '');
});

test('a socket that is not writable is destroyed, and so is one whose client never closes', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const ended of [true, false]) {
    const { socket } = newSocket();
    if (ended) socket.end();
    answerBrokenRequest(failure('HPE_INVALID_METHOD'), socket);
    assert.equal(socket.destroyed, false, 'what was written may still be on its way');
    t.mock.timers.tick(2_000);
    assert.equal(socket.destroyed, true);
  }
});
