// Answers at the end of a connection's life: during shutdown, and to senders that are too slow.
// It must not judge durations, only the order of events.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Answer } from '@castellan/testing/client';
import { ADMIN, eventually, signIn, startTestService } from '@castellan/testing/harness';
import { answersIn, exchange } from '@castellan/testing/http/raw';
import { scenariosOf } from '@castellan/testing/scenario';
import { assertError, assertProper } from './answers.ts';
import { BODY, change, rawCaller } from './caller.ts';

const scenario = scenariosOf('http');
scenario(
  'an answer during shutdown is complete, has all headers, and ends its connection',
  async (tally, t) => {
    const leaving = await startTestService(t);
    const caller = await rawCaller(await signIn(leaving, ADMIN));
    const message = change(
      `${caller.fields}Expect: 100-continue\r\nContent-Length: ${BODY.length}\r\n`,
      BODY,
    );
    const socket = connect({ host: '127.0.0.1', port: Number(new URL(leaving.url).port) });
    const chunks: Buffer[] = [];
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
    socket.write(message.slice(0, -1));
    // The interim answer means that the headers were read, so the request is running.
    await eventually(
      () => (Buffer.concat(chunks).includes('100 Continue') ? true : undefined),
      'the interim answer',
    );
    const stopped = leaving.stop();
    socket.write(message.slice(-1));
    await Promise.all([closed, stopped]);
    const answers = answersIn(Buffer.concat(chunks)).filter(({ status }) => status !== 100);
    tally.tried();
    assert.equal(answers.length, 1);
    assert.equal(answers[0]?.status, 200, answers[0]?.text);
    assert.equal(answers[0]?.headers.get('connection'), 'close');
    tally.held(3 + assertProper(answers[0] as Answer, 'during the stop'));
  },
);

scenario('headers that arrive too slowly get a complete 408, and the connection ends', async (tally, t) => {
  const service = await startTestService(t);
  // The timeout of headers is 15 s and that of requests 30 s: this one, without its body, ends last.
  let isBodyCut = false;
  const late = exchange(
    service.url,
    'POST /api/v1/auth/login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n',
  ).finally(() => {
    isBodyCut = true;
  });
  const answers = await Promise.all(
    [
      'GET /health/live HTTP/1.1\r\nHost: a\r\n',
      'GET /health',
      'POST /api/v1/auth/login HTTP/1.1\r\nX: ',
    ].map((bytes) => exchange(service.url, bytes)),
  );
  assert.ok(!isBodyCut, 'a body was cut before a header was');
  tally.held();
  await late;
  for (const found of answers) {
    tally.tried();
    assert.equal(found.length, 1);
    tally.held(1 + assertError(found[0] as Answer, 408, 'request_timeout', '408'));
    assert.equal(found[0]?.headers.get('connection'), 'close');
    tally.held();
  }
});
