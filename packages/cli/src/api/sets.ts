// Adds to, removes from and replaces the sets that the API replaces as a whole: roles of a user, permissions of a role.

const MAX_ATTEMPTS = 5;

type Member = { id: string; name: string };

/**
 * Reads a set, and replaces it by what `wanted` returns, unless somebody else changes the record in between: then it
 * reads again. `write` gets the names of the members that are removed. Returns null if there is nothing to change.
 */
export async function replaceSet<T>(
  read: () => Promise<{ members: readonly Member[]; etag: string | null }>,
  wanted: (ids: readonly string[]) => string[],
  write: (ids: string[], headers: Record<string, string>, removed: string[]) => Promise<T>,
): Promise<T | null> {
  for (let attempt = 1; ; attempt += 1) {
    const { members, etag } = await read();
    const ids = members.map(({ id }) => id);
    const next = [...new Set(wanted(ids))];
    if (next.length === ids.length && next.every((id) => ids.includes(id))) return null;
    try {
      return await write(next, etag === null ? {} : { 'if-match': etag }, removedNames(members, next));
    } catch (error) {
      if (Object(error).status !== 412 || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

/** Returns the names of the members that `next` does not have. */
export const removedNames = (members: readonly Member[], next: readonly string[]): string[] =>
  members.filter(({ id }) => !next.includes(id)).map(({ name }) => name);

/** Returns what `change` shows and asks before it removes members. */
export const lossOf = (whom: string, removed: readonly string[]): { consequences: string[] } => ({
  consequences: removed.length === 0 ? [] : [`${whom} loses ${removed.join(', ')}.`],
});
