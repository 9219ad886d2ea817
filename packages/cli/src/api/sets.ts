// Adds to and removes from the sets that the API replaces as a whole: roles of a user, permissions of a role.

const MAX_ATTEMPTS = 5;

/**
 * Reads a set, and replaces it by what `wanted` returns, unless somebody else has changed the record meanwhile: then it
 * reads again. Returns null if there is nothing to change.
 */
export async function replaceSet<T>(
  read: () => Promise<{ ids: string[]; etag: string | null }>,
  wanted: (ids: readonly string[]) => string[],
  write: (ids: string[], headers: Record<string, string>) => Promise<T>,
): Promise<T | null> {
  for (let attempt = 1; ; attempt += 1) {
    const { ids, etag } = await read();
    const next = [...new Set(wanted(ids))];
    if (next.length === ids.length && next.every((id) => ids.includes(id))) return null;
    try {
      return await write(next, etag === null ? {} : { 'if-match': etag });
    } catch (error) {
      if (Object(error).status !== 412 || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
