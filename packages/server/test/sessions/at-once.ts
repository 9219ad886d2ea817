// Starts several things at the same moment. A test must hold whichever of them wins.

/** Runs `count` of them without waiting in between. */
export const atOnce = <T>(count: number, run: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => run(index)));
