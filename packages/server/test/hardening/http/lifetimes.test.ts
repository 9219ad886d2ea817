// Answers at the ends of a connection's life: while the service stops, and to senders who are too slow.
// It must not judge how long anything takes, but for the bound that only the time-out of headers keeps.
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import type { Answer } from '../../client.ts';
import { ADMIN, eventually, signIn, startTestService } from '../../harness.ts';
import { scenariosOf } from '../scenario.ts';
import { assertError, assertProper } from './answers.ts';
import { BODY, change, rawCaller } from './caller.ts';
import { answersIn, exchange } from './raw.ts';

const scenario = scenariosOf('http');
// Headers have 15 s, and whole requests 30 s.
const HEADERS_ENDED_MS = 25_000;

scenario(
  'an answer given while the service stops is whole, proper, and ends its connection',
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
    // It is said when the headers are read: the request is under way.
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

scenario(
  'headers that come too slowly end in a proper 408 and the end of the connection',
  async (tally, t) => {
    const service = await startTestService(t);
    const begun = performance.now();
    const answers = await Promise.all(
      [
        'GET /health/live HTTP/1.1\r\nHost: a\r\n',
        'GET /health',
        'POST /api/v1/auth/login HTTP/1.1\r\nX: ',
      ].map((bytes) => exchange(service.url, bytes)),
    );
    assert.ok(performance.now() - begun < HEADERS_ENDED_MS, `${performance.now() - begun} ms`);
    tally.held();
    for (const found of answers) {
      tally.tried();
      assert.equal(found.length, 1);
      tally.held(1 + assertError(found[0] as Answer, 408, 'request_timeout', '408'));
      assert.equal(found[0]?.headers.get('connection'), 'close');
      tally.held();
    }
  },
);
