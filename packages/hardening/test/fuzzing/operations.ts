// Runs requests through all operations, for each caller, and checks the service after each round.
// It must not judge an answer: target.ts does.
import type { Answer } from '@castellan/testing/client';
import type { Entry, Kind } from '@castellan/testing/conformance/requests';
import { rounds, type Tally } from '@castellan/testing/scenario';
import type { Shot, Target, Who } from './target.ts';

/** The number of requests that run at once. */
export const AT_ONCE = 12;

// Operations in one round. The service is checked after each round.
const ROUND = rounds(40, 1);

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

export type HostileRequest = {
  shot: Shot;
  refused?: string | undefined;
  /** Checks this answer, in addition to the rules for all. */
  check?(answer: Answer): void;
};

/** The caller of an operation. */
type Call = { who: Who; entry: Entry };

/** Sends the requests, twelve at a time. Counts each answer as one statement. */
export async function sendAll(
  target: Target,
  tally: Tally,
  { who, entry }: Call,
  requests: readonly HostileRequest[],
): Promise<void> {
  for (let from = 0; from < requests.length; from += AT_ONCE) {
    const some = requests.slice(from, from + AT_ONCE);
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
