// Tests that pass, nest and fail in every way in which node:test has to find the running test: for scope.test.ts.
import { EventEmitter } from 'node:events';
import { connect, createServer } from 'node:net';
import { after, before, beforeEach, describe, suite, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';

const fail = (how: string): never => {
  throw new Error(`thrown by ${how}`);
};
/** Keeps a test running for longer than its error needs. */
const meanwhile = (): Promise<void> => pause(200);

suite('concurrent', { concurrency: 3 }, () => {
  beforeEach(() => pause(1));
  test('nests by its context and by the function', async (t) => {
    await pause(1);
    await t.test('by its context', async () => {
      await pause(1);
      await test('below that', () => {});
    });
  });
  describe('deeper', () => {
    before(() => pause(1));
    after(() => {});
    test('deepest', () => pause(1));
  });
  test('a timer', async () => {
    setTimeout(() => fail('a timer'), 5);
    await meanwhile();
  });
  test('beside it', meanwhile);
});

test('a rejection', async () => {
  await pause(1);
  void Promise.reject(new Error('thrown by a rejection'));
  await meanwhile();
});

test('a later rejection', async () => {
  setTimeout(() => void pause(1).then(() => fail('a later rejection')), 1);
  await meanwhile();
});

test('an immediate', async () => {
  setImmediate(() => fail('an immediate'));
  await meanwhile();
});

test('a tick', async () => {
  process.nextTick(() => fail('a tick'));
  await meanwhile();
});

test('a socket', async (t) => {
  const server = createServer((socket) => socket.end('data')).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (address === null || typeof address === 'string') return;
    connect(address.port, '127.0.0.1').on('data', () => fail('a socket'));
  });
  t.after(() => void server.close());
  await meanwhile();
});

test('an event', async () => {
  setTimeout(() => new EventEmitter().emit('error', new Error('thrown by an event')), 1);
  await meanwhile();
});

test('a timer of a test that has ended', () => void setTimeout(() => fail('a late timer'), 20));
test('after it', meanwhile);

test('a hook', (t) => {
  t.after(() => {
    setTimeout(() => fail('a hook'), 1);
    return meanwhile();
  });
});
