// The way through all operations: for each caller and operation some requests, and after each round what must hold.
// It must not judge an answer: target.ts does.
import type { Answer } from '../../client.ts';
import type { Entry, Kind } from '../../conformance/requests.ts';
import { rounds, type Tally } from '../scenario.ts';
import type { Shot, Target, Who } from './target.ts';

/** As many requests are under way at once. */
export const AT_ONCE = 12;

// Operations whose requests are looked back on together.
const ROUND = rounds(12, 1);

type Records = Record<Kind, string[]>;
type Run = (who: Who, entry: Entry, records: Records) => Promise<void>;

export async function throughOperations(
  target: Target,
  tally: Tally,
  callers: readonly Who[],
  run: Run,
): Promise<void> {
  for (const who of callers)
    for (let from = 0; from < target.entries.length; from += ROUND) {
      const records = await target.records();
      const before = await target.rights(who);
      for (const entry of target.entries.slice(from, from + ROUND)) await run(who, entry, records);
      tally.held(await target.settle(who, before));
    }
}

export type Aimed = {
  shot: Shot;
  refused?: string | undefined;
  /** What must hold of this answer beside what holds of all. */
  check?(answer: Answer): void;
};

/** Sends them, a dozen at a time; each answer that is judged counts as one statement. */
export async function sendAll(
  target: Target,
  tally: Tally,
  who: Who,
  entry: Entry,
  aimed: readonly Aimed[],
): Promise<void> {
  for (let from = 0; from < aimed.length; from += AT_ONCE) {
    const some = aimed.slice(from, from + AT_ONCE);
    await Promise.all(
      some.map(async ({ shot, refused, check }) => {
        const answer = await target.send(who, entry, shot, refused);
        check?.(answer);
      }),
    );
    tally.tried(some.length);
    tally.held(some.length);
  }
}
