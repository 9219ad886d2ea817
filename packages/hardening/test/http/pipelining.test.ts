// Several messages on one connection: answers come in the order of the requests, one each, and a broken message does
// not affect the answers before it. It must not use an HTTP client: it sends bytes.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after } from 'node:test';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, createVerifiedUser, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { answersIn, canary, exchange, newRequestId } from '@castellan/testing/http/raw';
import { rounds, scenariosOf } from '@castellan/testing/scenario';
import { assertError, assertProper } from './answers.ts';
import { BODY, change, rawCaller, takeChange } from './caller.ts';

const scenario = scenariosOf('http');
const service = await startTestService({ after });
const admin = await signIn(service, ADMIN);
const caller = await rawCaller(admin);
const user = await signIn(service, await createVerifiedUser(service));
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const get = (path: string, id: string, fields = ''): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Request-ID: ${id}\r\n${fields}\r\n`;
const idsOf = (answers: Answer[]) => answers.map(({ headers }) => headers.get('x-request-id'));

scenario('pipelined requests are answered in their order, each judged by its own rights', async (tally) => {
  const callers = [
    { fields: caller.fields, status: 200 },
    { fields: '', status: 401 },
    { fields: (await rawCaller(user)).fields, status: 403 },
  ];
  // The first ones wait for the database. The last does not, and must not overtake them.
  const steps = Array.from({ length: rounds(24, 240) }, (_, index) => ({
    id: newRequestId('pipelined'),
    ...(callers[index % 3] as (typeof callers)[number]),
  }));
  const last = newRequestId('last');
  const bytes = steps.map(({ id, fields }) => get('/api/v1/users/list', id, fields)).join('');
  const answers = await exchange(service.url, bytes + canary(last));
  tally.tried(steps.length + 1);
  assert.deepEqual(idsOf(answers), [...steps.map(({ id }) => id), last]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [...steps.map(({ status }) => status), 200],
  );
  tally.held(2);
  for (const answer of answers) tally.held(assertProper(answer, 'pipelined'));
});

scenario(
  'bytes after a complete message do not suppress its answer: first the answer, then one refusal, then the end',
  async (tally) => {
    const behind = {
      garbage: 'garbage\r\n\r\n',
      'a second body': `${BODY}\r\n\r\n`,
      'a message in two framings': change(`${caller.fields}${LENGTH}Transfer-Encoding: chunked\r\n`, BODY),
      'a method that nobody knows': `SMUGGLE / HTTP/1.1\r\nHost: a\r\n\r\n`,
      'a flood': 'x'.repeat(100_000),
    };
    for (const [what, bytes] of Object.entries(behind)) {
      const before = Array.from({ length: 3 }, () => newRequestId('before'));
      const messages = before.map((id) => change(`X-Request-ID: ${id}\r\n${caller.fields}${LENGTH}`, BODY));
      const answers = await exchange(service.url, messages.join('') + bytes);
      tally.tried(before.length + 1);
      assert.deepEqual(
        answers.map(({ status }) => status),
        [200, 200, 200, 400],
        what,
      );
      assert.deepEqual(idsOf(answers).slice(0, 3), before, what);
      assert.equal(await takeChange(service, ADMIN.email), true, what);
      tally.held(3 + assertError(answers[3] as Answer, 400, 'malformed_request', what));
    }
  },
);

scenario(
  'a message after the last one of a connection is not read: a body cannot hide a request',
  async (tally) => {
    for (const path of ['/health/live', '/api/v1/users/me']) {
      const id = newRequestId('closing');
      const smuggled = change(caller.fields + LENGTH, BODY);
      const answers = await exchange(
        service.url,
        get(path, id, `${caller.bearer}Connection: close\r\n`) + smuggled,
      );
      tally.tried(2);
      assert.deepEqual(idsOf(answers), [id]);
      assert.equal(await takeChange(service, ADMIN.email), false);
      // A GET may have a body, whose content is not a request.
      const inside = await exchange(
        service.url,
        get(path, id, `${caller.bearer}Content-Length: ${smuggled.length}\r\n`) +
          smuggled +
          canary(newRequestId('behind')),
      );
      tally.tried(2);
      assert.deepEqual(
        inside.map(({ status }) => status),
        [200, 200],
      );
      assert.equal(await takeChange(service, ADMIN.email), false);
      tally.held(4);
    }
  },
);

scenario(
  'a request refused for its headers gets one answer, whatever its body turns out to be',
  async (tally) => {
    const head = `PUT /api/v1/users/me HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n`;
    for (const body of ['zz\r\n', `-5\r\n${BODY}`, `5\r\n${BODY}\r\n0\r\n\r\n`]) {
      const id = newRequestId('refused');
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(service.url).port) });
      const chunks: Buffer[] = [];
      const { promise: closed, resolve } = Promise.withResolvers<void>();
      socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
      socket.on('error', () => {});
      socket.on('close', () => resolve());
      socket.write(`${head}X-Request-ID: ${id}\r\n\r\n`);
      await eventually(
        () => (Buffer.concat(chunks).includes('csrf_invalid') ? true : undefined),
        'the refusal',
      );
      socket.write(body);
      await closed;
      const answers = answersIn(Buffer.concat(chunks));
      tally.tried();
      assert.equal(answers.length, 1, body);
      tally.held(1 + assertError(answers[0] as Answer, 403, 'csrf_invalid', body));
      assert.equal(answers[0]?.headers.get('x-request-id'), id);
      tally.held();
    }
  },
);

scenario('a peer that never closes after a refusal does not keep the connection', async (tally) => {
  for (const bytes of [
    'garbage\r\n\r\n',
    'CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n',
  ]) {
    const socket = connect({
      host: '127.0.0.1',
      port: Number(new URL(service.url).port),
      allowHalfOpen: true,
    });
    const chunks: Buffer[] = [];
    let gone = false;
    const leave = (): void => {
      gone = true;
    };
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    socket.on('error', leave);
    socket.on('close', leave);
    socket.write(bytes);
    tally.tried();
    await eventually(
      () => (Buffer.concat(chunks).includes('malformed_request') ? true : undefined),
      'the refusal',
    );
    // A write fails once the other side has closed the socket, and never before.
    const poke = setInterval(() => void socket.write('x'), 50);
    try {
      await eventually(() => gone || undefined, 'the end of the connection');
    } finally {
      clearInterval(poke);
      socket.destroy();
    }
    assert.equal(answersIn(Buffer.concat(chunks)).length, 1);
    tally.held(2);
  }
});

scenario(
  'an Upgrade is ignored: the request is guarded and answered as usual, and the connection ends',
  async (tally) => {
    for (const [protocol, more] of [
      ['websocket', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n'],
      ['h2c', 'HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n'],
      ['TLS/1.0', ''],
    ])
      for (const [path, fields, status] of [
        ['/health/live', '', 200],
        ['/api/v1/users/me', '', 401],
        ['/api/v1/users/me', caller.bearer, 200],
      ] as const) {
        const upgrade = `Connection: Upgrade, HTTP2-Settings\r\nUpgrade: ${protocol}\r\n${more}`;
        const answers = await exchange(
          service.url,
          get(path, newRequestId('upgrade'), fields + upgrade) + canary(newRequestId('behind')),
        );
        tally.tried();
        assert.equal(answers.length, 1, protocol);
        assert.equal(answers[0]?.status, status);
        assert.equal(answers[0]?.headers.get('connection'), 'close');
        assert.equal(answers[0]?.headers.get('upgrade'), null);
        tally.held(4 + assertProper(answers[0] as Answer, `${protocol}`));
      }
  },
);
