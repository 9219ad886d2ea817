// Shows people what they have just changed, also where the service reads from a standby, which may not have it yet.
// It must not make reads wait, or load the primary, when nothing was changed here.

/**
 * Returns a `fetch` that repeats a read on the primary if the response may be older than the last change that was sent with
 * it: a response from a standby says in `Age` how many seconds old it is at most.
 */
export function seeingOwnWrites(
  fetch: typeof globalThis.fetch,
  now: () => number = () => performance.now(),
): typeof globalThis.fetch {
  let changedAt = Number.NEGATIVE_INFINITY;
  return async (input, init) => {
    if (init?.method !== undefined && init.method !== 'GET') {
      try {
        return await fetch(input, init);
      } finally {
        // A failed request may have changed something, too.
        changedAt = now();
      }
    }
    const askedAt = now();
    const response = await fetch(input, init);
    const age = response.headers.get('age');
    if (age === null || askedAt - Number(age) * 1_000 > changedAt) return response;
    await response.body?.cancel();
    const headers = new Headers(init?.headers);
    headers.set('cache-control', 'no-cache');
    return fetch(input, { ...init, headers });
  };
}
