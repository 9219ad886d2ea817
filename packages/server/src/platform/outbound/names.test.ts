import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createIsAnswered, createNames, type IsAnswered } from './names.ts';

const found = [{ address: '127.0.0.1', family: 4 }];
/** The type of questions for IPv6 addresses (RFC 3596). */
const AAAA = 28;

function startNames(answers: IsAnswered) {
  const clock = { time: 0 };
  const asked: string[] = [];
  const ends = new Map<string, PromiseWithResolvers<LookupAddress[]>>();
  const names = createNames(
    (host) => {
      asked.push(host);
      const end = Promise.withResolvers<LookupAddress[]>();
      ends.set(host, end);
      return end.promise;
    },
    { answers, now: () => clock.time },
  );
  return { names, asked, ends, clock };
}

test('look-ups of a name are shared, two run at once, and a failure is kept for a minute', async () => {
  const { names, asked, ends, clock } = startNames(async () => true);
  const all = [names('a'), names('a'), names('b'), names('c')];
  await turn();
  assert.deepEqual(asked, ['a', 'b']);
  ends.get('a')?.resolve(found);
  assert.deepEqual(await Promise.all([all[0], all[1]]), [found, found]);
  await turn();
  assert.deepEqual(asked, ['a', 'b', 'c']);
  ends.get('c')?.resolve(found);
  ends.get('b')?.reject(new Error('ENOTFOUND'));
  await assert.rejects(all[2] ?? Promise.resolve(), /ENOTFOUND/);
  await assert.rejects(names('b'), /ENOTFOUND/);
  assert.equal(asked.length, 3);
  clock.time = 60_000;
  void names('b').catch(() => undefined);
  await turn();
  assert.deepEqual(asked, ['a', 'b', 'c', 'b']);
  ends.get('b')?.resolve(found);
});

test('names for which the name servers are silent wait for each other, and no other name waits for them', async () => {
  const { names, asked, ends } = startNames(async (host) => !host.startsWith('silent'));
  const silent = [names('silent-1'), names('silent-2'), names('silent-3')];
  const others = [names('a'), names('b')];
  await turn();
  assert.deepEqual(asked, ['silent-1', 'a', 'b']);
  for (const host of ['a', 'b']) ends.get(host)?.resolve(found);
  assert.deepEqual(await Promise.all(others), [found, found]);
  for (const host of ['silent-1', 'silent-2', 'silent-3']) {
    ends.get(host)?.resolve(found);
    await turn();
  }
  assert.deepEqual(await Promise.all(silent), [found, found, found]);
});

test('a name whose look-up took long waits with those of silent name servers for ten minutes', async () => {
  const { names, asked, ends, clock } = startNames(async (host) => !host.startsWith('silent'));
  const first = names('slow');
  await turn();
  clock.time = 1_001;
  ends.get('slow')?.resolve(found);
  await first;
  const silent = names('silent');
  await turn();
  const [again, other] = [names('slow'), names('a')];
  await turn();
  assert.deepEqual(asked, ['slow', 'silent', 'a']);
  for (const host of ['silent', 'a']) ends.get(host)?.resolve(found);
  await Promise.all([silent, other]);
  await turn();
  assert.deepEqual(asked, ['slow', 'silent', 'a', 'slow']);
  ends.get('slow')?.resolve(found);
  await again;
  clock.time += 600_000;
  const more = [names('silent'), names('slow')];
  await turn();
  assert.deepEqual(asked.slice(4), ['silent', 'slow']);
  for (const host of ['silent', 'slow']) ends.get(host)?.resolve(found);
  await Promise.all(more);
});

test('a name server that is silent is told from one that knows no such name', async (t) => {
  const server = createSocket('udp4');
  server.bind(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  server.on('message', (query, { port, address }) => {
    if (query.includes('silent')) return;
    // The type of the question follows its name, which ends with 0 (RFC 1035, 4.1.2).
    const type = query.readUInt16BE(query.indexOf(0, 12) + 1);
    if (query.includes('half') && type === AAAA) return;
    // The query as an answer: no such name (RFC 1035, 4.1.1).
    const answer = Buffer.from(query);
    answer[2] = 0x81;
    answer[3] = 0x83;
    server.send(answer, port, address);
  });
  const answers = createIsAnswered([`127.0.0.1:${server.address().port}`]);
  assert.deepEqual(
    await Promise.all([answers('silent.example'), answers('half.example'), answers('unknown.example')]),
    [false, false, true],
  );
});
