// Asserts that the cost of pure code grows linearly with its input. It must not judge time: it compares the processor
// time of this process with that for a smaller input, so that other load on the machine does not matter.
import assert from 'node:assert/strict';

const GROWTH = 8;
/** Linear growth gives 8, quadratic growth 64; the room between them allows for garbage collection. */
const MAX_RATIO = 24;
/** Below this, clock resolution and garbage collection dominate. */
const NOISE_MS = 5;
/** Compilation and garbage collection make rounds dearer, never cheaper, so quadratic work passes in none of them. */
const MAX_ROUNDS = 8;

function processorMs(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/**
 * Asserts that input of 8 times the size costs at most 24 times as much; quadratic work costs 64 times as much. Compares the
 * cheapest measurement of each size, and measures again until they suffice or 8 rounds have failed.
 */
export function assertLinear(what: string, work: (size: number) => void, size: number): void {
  let [small, large] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 1; round <= MAX_ROUNDS; round += 1) {
    small = Math.min(
      small,
      processorMs(() => work(size)),
    );
    large = Math.min(
      large,
      processorMs(() => work(GROWTH * size)),
    );
    if (large / Math.max(small, NOISE_MS) < MAX_RATIO) return;
  }
  assert.fail(`${what}: ${small} ms for ${size}, ${large} ms for ${GROWTH * size}`);
}
