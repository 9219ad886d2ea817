// Asserts that the cost of pure code grows linearly with its input. It must not judge time: it compares the processor
// time of this process with that for a smaller input, so that other load on the machine does not matter.
import assert from 'node:assert/strict';

const GROWTH = 8;
/** Linear growth gives 8, quadratic growth 64; the room between them allows for garbage collection. */
const MAX_RATIO = 24;
/** Below this, clock resolution and garbage collection dominate. */
const NOISE_MS = 5;
const ATTEMPTS = 3;

function leastProcessorMs(work: () => void): number {
  const attempts = Array.from({ length: ATTEMPTS }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...attempts);
}

/** Asserts that input of 8 times the size costs at most 24 times as much. Quadratic work costs 64 times as much. */
export function assertLinear(what: string, work: (size: number) => void, size: number): void {
  const small = leastProcessorMs(() => work(size));
  const large = leastProcessorMs(() => work(GROWTH * size));
  const ratio = large / Math.max(small, NOISE_MS);
  assert.ok(ratio < MAX_RATIO, `${what}: ${small} ms for ${size}, ${large} ms for ${GROWTH * size}`);
}
