// Starts things at the same moment and lets one of two go first by a little, differently in each round.
// It must not decide who wins: a test holds whichever way a race goes.

/** Runs `count` of them without waiting in between. */
export const atOnce = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));

/** Both under way together; `round` moves the second's start through the first's duration by turns of the event loop. */
export async function race<A, B>(
  round: number,
  first: () => Promise<A>,
  second: () => Promise<B>,
): Promise<[A, B]> {
  if (round % 2 === 1) {
    const b = second();
    await turns(round);
    return [await first(), await b];
  }
  const a = first();
  await turns(round);
  const b = await second();
  return [await a, b];
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
