// What a stream says when the log begins anew: readers must not go on as before for a moment.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Hub } from './hub.ts';
import { Ring } from './ring.ts';
import { FeedStream } from './stream.ts';

const head = (seq: number) => ({ seq, stamp: `00000000-0000-4000-8000-00000000000${seq}` });

function opened(isLive = true) {
  const hub = { ring: new Ring(head(1)), isLive, completeAt: performance.now() };
  const stream = new FeedStream(
    hub as unknown as Hub,
    { arrivedAt: performance.now(), from: head(1), backlog: [], refused: null, onCaughtUp() {} },
    () => {},
  );
  /** Returns what it has to say now, as the names of the messages. */
  const said = (): string[] => {
    const texts: string[] = [];
    for (let text = stream.read(); text !== null; text = stream.read()) texts.push(String(text));
    return [...texts.join('').matchAll(/^event: (\w+)$/gm)].map(([, name = '']) => name);
  };
  const restart = (): void => {
    hub.ring = new Ring(head(2));
    hub.isLive = false;
    stream.restart('off');
  };
  return { said, restart };
}

test('a reader learns that the feed is not live before it begins anew', () => {
  const { said, restart } = opened();
  assert.deepEqual(said(), ['hello']);
  restart();
  assert.deepEqual(said(), ['beat', 'reset']);
});

test('hello comes first, also if the log begins anew before anything was sent', () => {
  const { said, restart } = opened();
  restart();
  restart();
  assert.deepEqual(said(), ['hello', 'beat', 'reset']);
});
