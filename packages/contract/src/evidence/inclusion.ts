// How a path leads from a leaf to the root of a hash tree (RFC 9162, 2.1.3.2), for those who hash at once and for browsers, which wait.
// It must not hash.

/** Returns half, rounded down. Not a shift: sizes may exceed 32 bits. */
export const half = (value: number): number => Math.floor(value / 2);

/**
 * Returns on which side of the hash below it each of `length` hashes of a path stands, from the leaf with this index up; null if no tree
 * of `size` leaves has a path of this length.
 */
export function sidesOfPath(index: number, size: number, length: number): ('left' | 'right')[] | null {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return null;
  let [node, last] = [index, size - 1];
  const sides: ('left' | 'right')[] = [];
  while (sides.length < length) {
    if (last === 0) return null;
    if (node % 2 === 1 || node === last) {
      sides.push('left');
      while (node % 2 === 0 && node !== 0) [node, last] = [half(node), half(last)];
    } else {
      sides.push('right');
    }
    [node, last] = [half(node), half(last)];
  }
  return last === 0 ? sides : null;
}
