// Limits of request bodies, in bytes and in values. The access of a route decides, unless the route declares its own.
// It must not know an operation.

export type BodyLimits = {
  /** Bytes as they arrive. */
  bytes: number;
  /** Array items and object members at every depth. */
  values: number;
};

/** Limits of public routes. Anyone can send such a body, so parsing it must be cheap. */
export const publicBody: BodyLimits = { bytes: 16_384, values: 200 };

/**
 * Limits of routes that require a sign-in. They read the body after authorizing the caller. Enough for 1,000 ids and
 * the longest texts (69 KiB if each character is decomposed and escaped), or for a record with every field of a
 * response.
 */
export const signedInBody: BodyLimits = { bytes: 131_072, values: 2_000 };

/** Limits of routes that take 1,000 records in one request: 50 values for each, or as many ids as the bytes allow. */
export const bulkBody: BodyLimits = { bytes: 1_048_576, values: 50_000 };

/** Returns a number of bytes for people: `64 KiB`, `1 MiB`. */
export const inUnits = (bytes: number): string =>
  bytes % 1_048_576 === 0 ? `${bytes / 1_048_576} MiB` : `${bytes / 1_024} KiB`;
