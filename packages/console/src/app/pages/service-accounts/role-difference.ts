// What a person adds to a set of roles and takes from it, apart from what others change in it.

/** Ids of roles. */
export type RoleDifference = { added: readonly string[]; removed: readonly string[] };

export const differenceOf = (stored: readonly string[], chosen: readonly string[]): RoleDifference => ({
  added: chosen.filter((id) => !stored.includes(id)),
  removed: stored.filter((id) => !chosen.includes(id)),
});

export const withDifference = (stored: readonly string[], { added, removed }: RoleDifference): string[] =>
  [...new Set([...stored, ...added])].filter((id) => !removed.includes(id));
