// The lease with which an instance keeps others from what it delivers: a column `locked_until`. It holds no statement.

/**
 * Returns the condition in SQL that nobody holds the lease. `until` is its column, `seconds` an expression for how long
 * leases are. A lease that ends too far in the future was given while the clock was ahead, and is ignored.
 */
export const isLeaseFree = (until: string, seconds: string | number): string =>
  `(${until} is null or ${until} <= now() or ${until} > now() + 2 * ${seconds} * interval '1 second')`;
