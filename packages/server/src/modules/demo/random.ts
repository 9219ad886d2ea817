// A generator of numbers that look random and are the same for the same seed.
// It must never make a secret: anyone who knows the seed knows every number.
import { createHash } from 'node:crypto';

export type Random = {
  /** Returns a number from 0 up to, but not including, 1. */
  next(): number;
  /** Returns a whole number from `min` to `max`. */
  between(min: number, max: number): number;
  chance(probability: number): boolean;
  /** Returns one of the items. Throws if there is none. */
  pick<T>(items: readonly T[]): T;
  /** Returns one of the items, each as often as its weight says. Throws if there is none. */
  pickWeighted<T extends { weight: number }>(items: readonly T[]): T;
  /** Returns a UUID of version 7 whose time is `at`, in milliseconds, and whose other bits follow from the seed. */
  id(at: number): string;
};

export function createRandom(seed: string): Random {
  const digest = createHash('sha256').update(seed).digest();
  let [a, b, c, counter] = [0, 4, 8, 12].map((offset) => digest.readInt32LE(offset));

  /** Returns 32 bits: sfc32 of PractRand. */
  const bits = (): number => {
    const sum = ((a ?? 0) + (b ?? 0) + (counter ?? 0)) | 0;
    counter = ((counter ?? 0) + 1) | 0;
    a = (b ?? 0) ^ ((b ?? 0) >>> 9);
    b = ((c ?? 0) + ((c ?? 0) << 3)) | 0;
    c = ((((c ?? 0) << 21) | ((c ?? 0) >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  const next = (): number => bits() / 2 ** 32;
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
  return {
    next,
    between: (min, max) => min + Math.floor(next() * (max - min + 1)),
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[Math.floor(next() * items.length)];
      if (item === undefined) throw new RangeError('there is nothing to pick from');
      return item;
    },
    pickWeighted: (items) => {
      let left = next() * items.reduce((sum, { weight }) => sum + weight, 0);
      for (const item of items) {
        left -= item.weight;
        if (left < 0) return item;
      }
      throw new RangeError('there is nothing to pick from');
    },
    id: (at) => {
      const time = hex(at, 12);
      const version = hex(0x7000 | (bits() & 0xfff), 4);
      const variant = hex(0x8000 | (bits() & 0x3fff), 4);
      return `${time.slice(0, 8)}-${time.slice(8)}-${version}-${variant}-${hex(bits(), 8)}${hex(bits() & 0xffff, 4)}`;
    },
  };
}
