// The types of events as a tree, and the patterns that a choice in it leaves: `*`, `role_*`, `role_created`.
// It must not know what an event means.

/** `prefix` is what all its types begin with, such as `role_`; null for those that share it with no other. */
export type EventGroup = { prefix: string | null; types: readonly string[] };

/** Everything up to the first underscore, so that `role_*` is exactly one group. */
const prefixOf = (type: string): string | null => /^[a-z0-9]+_/.exec(type)?.[0] ?? null;

/** Returns the groups by name. Types that are alone with their beginning share the last one. */
export function groupsOf(types: readonly string[]): EventGroup[] {
  const byPrefix = Map.groupBy(types, prefixOf);
  const isGroup = (type: string): boolean => {
    const prefix = prefixOf(type);
    return prefix !== null && (byPrefix.get(prefix)?.length ?? 0) > 1;
  };
  const groups = [...byPrefix].flatMap(([prefix, members]) =>
    prefix !== null && members.length > 1 ? [{ prefix, types: members }] : [],
  );
  const alone = types.filter((type) => !isGroup(type));
  return [
    ...groups.sort((one, other) => one.prefix.localeCompare(other.prefix)),
    ...(alone.length > 0 ? [{ prefix: null, types: alone }] : []),
  ];
}

const fits = (type: string, pattern: string): boolean =>
  pattern.endsWith('*') ? type.startsWith(pattern.slice(0, -1)) : type === pattern;

/** Returns the types that fit one of the patterns. */
export const typesOf = (patterns: readonly string[], types: readonly string[]): string[] =>
  types.filter((type) => patterns.some((pattern) => fits(type, pattern)));

const patternsFor = ({ prefix, types }: EventGroup): readonly string[] =>
  prefix === null ? types : [`${prefix}*`];

/** Returns the patterns with all of these types, and not more. `added` are patterns that match exactly them. */
function plus(patterns: readonly string[], added: readonly string[]): string[] {
  const isWithin = (pattern: string): boolean =>
    added.some((one) => one.endsWith('*') && pattern.startsWith(one.slice(0, -1)));
  return [...patterns.filter((pattern) => !isWithin(pattern) && !added.includes(pattern)), ...added];
}

/** Returns the patterns without these types. What matched more than them is written out, as whole groups where possible. */
function minus(
  patterns: readonly string[],
  removed: readonly string[],
  groups: readonly EventGroup[],
): string[] {
  const isRemoved = (type: string): boolean => removed.includes(type);
  const rest = patterns.flatMap((pattern) => {
    const within = groups.map((group) => ({
      group,
      matched: group.types.filter((type) => fits(type, pattern)),
    }));
    if (!within.some(({ matched }) => matched.some(isRemoved))) return [pattern];
    return within.flatMap(({ group, matched }) =>
      matched.length === group.types.length && !matched.some(isRemoved)
        ? patternsFor(group)
        : matched.filter((type) => !isRemoved(type)),
    );
  });
  return [...new Set(rest)];
}

/** Returns the patterns with the type, or without it. */
export const withType = (
  patterns: readonly string[],
  type: string,
  { isOn, groups }: { isOn: boolean; groups: readonly EventGroup[] },
): string[] => (isOn ? plus(patterns, [type]) : minus(patterns, [type], groups));

/** Returns the patterns with the whole group, or without any of it. */
export const withGroup = (
  patterns: readonly string[],
  group: EventGroup,
  { isOn, groups }: { isOn: boolean; groups: readonly EventGroup[] },
): string[] => (isOn ? plus(patterns, patternsFor(group)) : minus(patterns, group.types, groups));
